/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Matching a trace against expected edges, in order, nothing more and nothing less.
 *
 * Only optional edges leave a choice. A record that fits one is taken for it; should the rest
 * then not fit, the match goes back to where the same record also fits a later edge and tries
 * without. A trace is accepted only by a complete assignment, so going back too seldom could
 * reject a good trace among many identical optional edges, never accept a bad one.
 */
#include "harness/oracle/compare.h"

#define CHOICES    32   /* latest ones kept */
#define RETRIES    1024 /* bounds the work on a trace that does not fit */
#define LOOK_AHEAD 64   /* edges searched for another one that fits the same record */

struct matcher {
    const struct expected_edge *expected;
    size_t expected_count;
    const struct trace_record *records; /* one of records and seen */
    const struct expected_edge *seen;
    size_t record_count;
    const struct compare_options *options;
};

struct progress {
    size_t edge, record;
    struct compare_result so_far;
};

enum presence { PRESENCE_NEVER, PRESENCE_OPTIONAL, PRESENCE_REQUIRED };

static uint32_t kind_bit(const struct expected_edge *e)
{
    return 1u << e->kind;
}

/* --- what the filters leave of the expectation */

static enum presence crossing_presence(const struct compare_options *o, bool before_stored,
                                       bool after_stored)
{
    bool stored = false;

    switch (o->crossing) {
    case CROSSING_NEW:
        stored = after_stored;
        break;
    case CROSSING_OLD:
        stored = before_stored;
        break;
    case CROSSING_BOTH:
        stored = before_stored && after_stored;
        break;
    case CROSSING_EITHER:
        stored = before_stored || after_stored;
        break;
    case CROSSING_UNKNOWN:
        if (before_stored != after_stored)
            return PRESENCE_OPTIONAL;
        stored = before_stored;
        break;
    }
    return stored ? PRESENCE_REQUIRED : PRESENCE_NEVER;
}

/* Source: SDM Vol. 3, "CPL-Qualified Branch Trace Mechanism": CPL 1 to 3 count as user. */
static enum presence edge_presence(const struct compare_options *o,
                                   const struct expected_edge *e)
{
    bool before_stored = e->cpl_before ? !o->off_usr : !o->off_os;
    bool after_stored = e->cpl_after ? !o->off_usr : !o->off_os;
    enum presence presence = crossing_presence(o, before_stored, after_stored);

    if (presence == PRESENCE_NEVER || !(e->flags & EDGE_OPTIONAL))
        return presence;
    if (o->settled_absent & kind_bit(e))
        return PRESENCE_NEVER;
    return o->settled_present & kind_bit(e) ? presence : PRESENCE_OPTIONAL;
}

static bool in_guest(const struct compare_options *o, uint64_t address)
{
    return address >= o->guest_low && address < o->guest_high;
}

static bool passed_over(const struct matcher *m, size_t record)
{
    const struct compare_options *o = m->options;

    if (!m->records || o->keep_kernel || o->off_os)
        return false;
    return !in_guest(o, m->records[record].from) && !in_guest(o, m->records[record].to);
}

/* --- one edge against one record */

static struct trace_record record_at(const struct matcher *m, size_t record)
{
    if (m->records)
        return m->records[record];
    return (struct trace_record){m->seen[record].from, m->seen[record].to, 0};
}

static bool from_fits(const struct matcher *m, const struct expected_edge *e, uint64_t from)
{
    if (e->from_anywhere)
        return in_guest(m->options, from);
    return from == e->from || (e->flags & EDGE_FROM_ALT && from == e->from_alt);
}

static bool to_fits(const struct matcher *m, const struct expected_edge *e, uint64_t to)
{
    return e->to_anywhere ? in_guest(m->options, to) : to == e->to;
}

static bool fits(const struct matcher *m, size_t edge, size_t record)
{
    const struct expected_edge *e = &m->expected[edge];
    struct trace_record r = record_at(m, record);

    if (m->seen) {
        const struct expected_edge *s = &m->seen[record];

        if (s->kind != e->kind || s->cpl_before != e->cpl_before ||
            s->cpl_after != e->cpl_after)
            return false;
    }
    return from_fits(m, e, r.from) && to_fits(m, e, r.to);
}

/* Whether the record could stand for an edge after this one, had this one left no record. */
static bool fits_later(const struct matcher *m, size_t edge, size_t record)
{
    size_t end = m->expected_count - edge > LOOK_AHEAD ? edge + LOOK_AHEAD : m->expected_count;

    for (size_t later = edge + 1; later < end; later++) {
        enum presence presence = edge_presence(m->options, &m->expected[later]);

        if (presence != PRESENCE_NEVER && fits(m, later, record))
            return true;
        if (presence == PRESENCE_REQUIRED)
            return false;
    }
    return false;
}

static void note_match(const struct matcher *m, struct progress *p)
{
    const struct expected_edge *e = &m->expected[p->edge];

    p->so_far.matched++;
    if (e->flags & EDGE_OPTIONAL)
        p->so_far.optional_seen |= kind_bit(e);
    if (!(e->flags & EDGE_FROM_ALT) || e->from_anywhere)
        return;
    if (record_at(m, p->record).from == e->from)
        p->so_far.primary_seen |= kind_bit(e);
    else
        p->so_far.alternative_seen |= kind_bit(e);
}

static void note_absence(const struct matcher *m, struct progress *p)
{
    const struct expected_edge *e = &m->expected[p->edge];

    if (e->flags & EDGE_OPTIONAL)
        p->so_far.optional_absent |= kind_bit(e);
}

/* --- the walk along both lists */

static void settle(const struct matcher *m, struct progress *p)
{
    while (p->record < m->record_count && passed_over(m, p->record)) {
        p->record++;
        p->so_far.passed_over++;
    }
    while (p->edge < m->expected_count &&
           edge_presence(m->options, &m->expected[p->edge]) == PRESENCE_NEVER)
        p->edge++;
}

/* The next edge of which a record must be there, from p->edge on. */
static size_t next_required(const struct matcher *m, size_t edge)
{
    while (edge < m->expected_count &&
           edge_presence(m->options, &m->expected[edge]) != PRESENCE_REQUIRED)
        edge++;
    return edge;
}

static const char *name_difference(const struct matcher *m, size_t edge, size_t record)
{
    struct trace_record r = record_at(m, record);
    bool next_fits_here = fits_later(m, edge, record), fits_next;
    size_t next = record + 1;

    while (next < m->record_count && passed_over(m, next))
        next++;
    fits_next = next < m->record_count && fits(m, edge, next);
    if (next_fits_here != fits_next)
        return next_fits_here ? "missing record" : "unexpected record";
    if (to_fits(m, &m->expected[edge], r.to))
        return from_fits(m, &m->expected[edge], r.from) ? "kind or privilege" : "from";
    return from_fits(m, &m->expected[edge], r.from) ? "to" : "unexpected record";
}

static bool stuck(const struct matcher *m, struct progress *p)
{
    size_t required = next_required(m, p->edge);

    p->so_far.expected_index = required;
    p->so_far.record_index = p->record;
    if (required == m->expected_count)
        p->so_far.what = "unexpected record";
    else if (p->record == m->record_count)
        p->so_far.what = "missing record";
    else
        p->so_far.what = name_difference(m, required, p->record);
    return false;
}

/* Records are used up: what is left of the expectation must be allowed to be absent. */
static bool conclude(const struct matcher *m, struct progress *p)
{
    if (m->options->prefix)
        return true;
    if (next_required(m, p->edge) < m->expected_count)
        return stuck(m, p);
    for (; p->edge < m->expected_count; p->edge++) {
        if (edge_presence(m->options, &m->expected[p->edge]) == PRESENCE_OPTIONAL)
            note_absence(m, p);
    }
    return true;
}

struct choices {
    struct progress kept[CHOICES];
    size_t count; /* ever made minus taken back; the latest CHOICES are kept */
    size_t lost;  /* overwritten */
};

static void keep_choice(const struct matcher *m, struct choices *c, const struct progress *p)
{
    struct progress *slot = &c->kept[c->count++ % CHOICES];

    *slot = *p;
    note_absence(m, slot);
    slot->edge++;
    if (c->count - c->lost > CHOICES)
        c->lost++;
}

static bool walk(const struct matcher *m, struct progress *p, struct choices *c)
{
    for (;;) {
        settle(m, p);
        if (p->record == m->record_count)
            return conclude(m, p);
        if (p->edge == m->expected_count)
            return stuck(m, p);
        if (fits(m, p->edge, p->record)) {
            if (edge_presence(m->options, &m->expected[p->edge]) == PRESENCE_OPTIONAL &&
                fits_later(m, p->edge, p->record))
                keep_choice(m, c, p);
            note_match(m, p);
            p->record++;
        } else if (edge_presence(m->options, &m->expected[p->edge]) == PRESENCE_OPTIONAL) {
            note_absence(m, p);
        } else {
            return stuck(m, p);
        }
        p->edge++;
    }
}

static void match(const struct matcher *m, struct compare_result *result)
{
    struct choices choices = {.count = 0};
    struct progress p = {0};
    struct compare_result deepest = {0};

    for (unsigned retry = 0; retry < RETRIES; retry++) {
        if (walk(m, &p, &choices)) {
            *result = p.so_far;
            result->same = true;
            return;
        }
        if (retry == 0 || p.so_far.record_index > deepest.record_index)
            deepest = p.so_far;
        if (choices.count == choices.lost)
            break;
        p = choices.kept[--choices.count % CHOICES];
    }
    *result = deepest;
}

void compare_trace(const struct expected_edge *expected, size_t expected_count,
                   const struct trace_record *records, size_t record_count,
                   const struct compare_options *options, struct compare_result *result)
{
    struct matcher m = {.expected = expected,
                        .expected_count = expected_count,
                        .records = records,
                        .record_count = record_count,
                        .options = options};

    match(&m, result);
}

void compare_edges(const struct expected_edge *expected, size_t expected_count,
                   const struct expected_edge *seen, size_t seen_count,
                   const struct compare_options *options, struct compare_result *result)
{
    struct matcher m = {.expected = expected,
                        .expected_count = expected_count,
                        .seen = seen,
                        .record_count = seen_count,
                        .options = options};

    match(&m, result);
}
