/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The comparison: a good trace is accepted, and every way of spoiling it is refused. The
 * spoilers run over each record of each list, so that no position is special.
 */
#include "harness/oracle/compare.h"
#include "harness/tests/fakes/unit.h"

#define LOW   0x400000ull
#define HIGH  0x410000ull
#define ENTRY 0x1000ull /* kernel addresses: an entry, its IRETQ, code in between */
#define IRETQ 0x2000ull
#define OTHER 0x3000ull

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const struct compare_options plain = {
    .guest_low = LOW, .guest_high = HIGH, .crossing = CROSSING_UNKNOWN};

static struct expected_edge edge(uint8_t kind, uint64_t from, uint64_t to, uint8_t before,
                                 uint8_t after)
{
    return (struct expected_edge){
        .from = from, .to = to, .kind = kind, .cpl_before = before, .cpl_after = after};
}

static struct expected_edge user(uint8_t kind, uint64_t from, uint64_t to)
{
    return edge(kind, LOW + from, LOW + to, 3, 3);
}

static bool same(const struct expected_edge *e, size_t edges, const struct trace_record *r,
                 size_t records, const struct compare_options *options,
                 struct compare_result *result)
{
    struct compare_result local;

    compare_trace(e, edges, r, records, options, result ? result : &local);
    return (result ? result : &local)->same;
}

/* A ring-3 run: in by IRETQ, branches, a service, a fault, out by SYSCALL. */
struct sample {
    struct expected_edge edges[16];
    struct trace_record records[32];
    size_t edge_count, record_count;
};

static void sample_add(struct sample *s, struct expected_edge e, bool recorded)
{
    s->edges[s->edge_count++] = e;
    if (recorded)
        s->records[s->record_count++] = (struct trace_record){e.from, e.to, 0};
}

static void sample_kernel(struct sample *s)
{
    s->records[s->record_count++] = (struct trace_record){OTHER, OTHER + 0x40, 0};
}

static struct expected_edge optional(struct expected_edge e)
{
    e.flags |= EDGE_OPTIONAL;
    return e;
}

static struct sample ring3_sample(bool optional_there)
{
    struct sample s = {.edge_count = 0};

    sample_kernel(&s);
    sample_add(&s, edge(EDGE_IRET, IRETQ, LOW, 0, 3), true);
    sample_add(&s, user(EDGE_JCC, 0x10, 0x20), true);
    sample_add(&s, user(EDGE_LOOP, 0x28, 0x24), true);
    sample_add(&s, user(EDGE_LOOP, 0x28, 0x24), true);
    sample_add(&s, optional(edge(EDGE_SYSCALL, LOW + 0x30, ENTRY, 3, 0)), optional_there);
    sample_kernel(&s);
    sample_kernel(&s);
    sample_add(&s, optional(edge(EDGE_SYSRET, IRETQ + 8, LOW + 0x32, 0, 3)), optional_there);
    sample_add(&s, user(EDGE_CALL, 0x38, 0x80), true);
    sample_add(&s, user(EDGE_RET, 0x88, 0x3D), true);
    sample_add(&s, edge(EDGE_EXCEPTION, LOW + 0x40, ENTRY + 0x10, 3, 0), true);
    sample_kernel(&s);
    sample_add(&s, optional(edge(EDGE_IRET, IRETQ, LOW + 0x48, 0, 3)), optional_there);
    sample_add(&s, user(EDGE_JMP, 0x48, 0x4A), true);
    sample_add(&s, edge(EDGE_SYSCALL, LOW + 0x50, ENTRY, 3, 0), true);
    sample_kernel(&s);
    return s;
}

static void good_traces_are_accepted(void)
{
    struct sample with = ring3_sample(true), without = ring3_sample(false);
    struct compare_result r;

    EXPECT(same(with.edges, with.edge_count, with.records, with.record_count, &plain, &r));
    EXPECT_EQ(r.matched, with.edge_count);
    EXPECT_EQ(r.passed_over, 5);
    EXPECT_EQ(r.optional_seen, 1u << EDGE_SYSCALL | 1u << EDGE_SYSRET | 1u << EDGE_IRET);
    EXPECT_EQ(r.optional_absent, 0);
    EXPECT(same(without.edges, without.edge_count, without.records, without.record_count,
                &plain, &r));
    EXPECT_EQ(r.optional_seen, 0);
    EXPECT_EQ(r.optional_absent, 1u << EDGE_SYSCALL | 1u << EDGE_SYSRET | 1u << EDGE_IRET);
    EXPECT(same(NULL, 0, NULL, 0, &plain, NULL));
}

/* --- spoilers: each returns false where it cannot be applied at that place */

static bool in_range(uint64_t address)
{
    return address >= LOW && address < HIGH;
}

static bool touches_guest(const struct trace_record *r)
{
    return in_range(r->from) || in_range(r->to);
}

static bool lose(struct sample *s, size_t at)
{
    bool relevant = touches_guest(&s->records[at]);

    memmove(&s->records[at], &s->records[at + 1],
            (s->record_count - at - 1) * sizeof *s->records);
    s->record_count--;
    return relevant;
}

static bool insert(struct sample *s, size_t at, struct trace_record record)
{
    memmove(&s->records[at + 1], &s->records[at], (s->record_count - at) * sizeof *s->records);
    s->records[at] = record;
    s->record_count++;
    return true;
}

static bool duplicate(struct sample *s, size_t at)
{
    struct trace_record copy = s->records[at];

    return touches_guest(&copy) && insert(s, at, copy);
}

static bool swap_ends(struct sample *s, size_t at)
{
    struct trace_record copy = s->records[at];

    s->records[at].from = copy.to;
    s->records[at].to = copy.from;
    return touches_guest(&copy);
}

static bool wrong_from(struct sample *s, size_t at)
{
    s->records[at].from += 2;
    return touches_guest(&s->records[at]);
}

static bool wrong_to(struct sample *s, size_t at)
{
    s->records[at].to -= 1;
    return touches_guest(&s->records[at]) || in_range(s->records[at].to + 1);
}

static bool exchange(struct sample *s, size_t at)
{
    struct trace_record copy = s->records[at];

    if (at + 1 >= s->record_count || memcmp(&copy, &s->records[at + 1], sizeof copy) == 0 ||
        !touches_guest(&copy) || !touches_guest(&s->records[at + 1]))
        return false;
    s->records[at] = s->records[at + 1];
    s->records[at + 1] = copy;
    return true;
}

static bool not_taken_recorded(struct sample *s, size_t at)
{
    return insert(s, at, (struct trace_record){LOW + 0x26, LOW + 0x28, 0});
}

static bool kernel_touches_guest(struct sample *s, size_t at)
{
    return insert(s, at, (struct trace_record){OTHER, LOW + 0x10, 0});
}

static bool guest_to_kernel(struct sample *s, size_t at)
{
    return insert(s, at, (struct trace_record){LOW + 0x10, OTHER, 0});
}

static void every_spoiled_trace_is_refused(void)
{
    static bool (*const spoilers[])(struct sample *, size_t) = {
        lose,           duplicate, swap_ends,          wrong_from,
        wrong_to,       exchange,  not_taken_recorded, kernel_touches_guest,
        guest_to_kernel};
    unsigned applied = 0;

    for (unsigned variant = 0; variant < 2; variant++) {
        struct sample good = ring3_sample(variant);
        struct compare_options options = plain;

        /* Settled, or a lost record of an open clause is admissible. */
        if (variant)
            options.settled_present = ~0u;
        for (size_t i = 0; i < COUNT(spoilers); i++) {
            for (size_t at = 0; at < good.record_count; at++) {
                struct sample bad = good;
                struct compare_result r;

                if (!spoilers[i](&bad, at))
                    continue;
                applied++;
                if (EXPECT(!same(bad.edges, bad.edge_count, bad.records, bad.record_count,
                                 &options, &r)))
                    EXPECT(r.what && r.record_index <= bad.record_count);
                else
                    printf("    spoiler %zu at record %zu\n", i, at);
            }
        }
    }
    EXPECT(applied > 150);
}

static void differences_are_named(void)
{
    struct sample good = ring3_sample(true), bad;
    struct compare_result r;

    bad = good;
    lose(&bad, 3); /* records: kernel, IRET, JCC, LOOP, LOOP, ... */
    EXPECT(!same(bad.edges, bad.edge_count, bad.records, bad.record_count, &plain, &r));
    EXPECT_STR(r.what, "missing record");
    bad = good;
    not_taken_recorded(&bad, 2);
    EXPECT(!same(bad.edges, bad.edge_count, bad.records, bad.record_count, &plain, &r));
    EXPECT_STR(r.what, "unexpected record");
    EXPECT_EQ(r.record_index, 2);
    EXPECT_EQ(r.expected_index, 1);
    bad = good;
    bad.records[2].from++;
    EXPECT(!same(bad.edges, bad.edge_count, bad.records, bad.record_count, &plain, &r));
    EXPECT_STR(r.what, "from");
    bad = good;
    bad.records[2].to++;
    EXPECT(!same(bad.edges, bad.edge_count, bad.records, bad.record_count, &plain, &r));
    EXPECT_STR(r.what, "to");
    bad = good;
    bad.record_count = 3;
    EXPECT(!same(bad.edges, bad.edge_count, bad.records, bad.record_count, &plain, &r));
    EXPECT_STR(r.what, "missing record");
    EXPECT_EQ(r.expected_index, 2);
    EXPECT_EQ(r.record_index, 3);
}

static void alternatives_are_exactly_those_listed(void)
{
    struct expected_edge e[2] = {edge(EDGE_INT, LOW + 0x10, ENTRY, 3, 0),
                                 user(EDGE_JMP, 0x12, 0x20)};
    struct trace_record t[2] = {{LOW + 0x10, ENTRY, 0}, {LOW + 0x12, LOW + 0x20, 0}};
    struct compare_result r;

    e[0].flags = EDGE_FROM_ALT;
    e[0].from_alt = LOW + 0x12;
    EXPECT(same(e, 2, t, 2, &plain, &r));
    EXPECT_EQ(r.primary_seen, 1u << EDGE_INT);
    EXPECT_EQ(r.alternative_seen, 0);
    t[0].from = LOW + 0x12;
    EXPECT(same(e, 2, t, 2, &plain, &r));
    EXPECT_EQ(r.primary_seen, 0);
    EXPECT_EQ(r.alternative_seen, 1u << EDGE_INT);
    t[0].from = LOW + 0x11;
    EXPECT(!same(e, 2, t, 2, &plain, &r));
    EXPECT_STR(r.what, "from");
    t[0] = (struct trace_record){LOW + 0x12, ENTRY + 0x10, 0};
    EXPECT(!same(e, 2, t, 2, &plain, &r));
    /* Not both, one after the other. */
    {
        struct trace_record both[3] = {
            {LOW + 0x10, ENTRY, 0}, {LOW + 0x12, ENTRY, 0}, {LOW + 0x12, LOW + 0x20, 0}};

        EXPECT(!same(e, 2, both, 3, &plain, NULL));
    }
    /* An alternative that is not declared does not count. */
    e[0].flags = 0;
    t[0] = (struct trace_record){LOW + 0x12, ENTRY, 0};
    EXPECT(!same(e, 2, t, 2, &plain, NULL));
}

/* The same edge optional and required side by side: greed alone would lose its way. */
static void optional_edges_do_not_mislead(void)
{
    struct expected_edge a = user(EDGE_JMP, 0x10, 0x20), b = user(EDGE_JMP, 0x20, 0x30);
    struct expected_edge aa[] = {optional(a), a}, aba[] = {optional(a), optional(b), a};
    struct expected_edge aab[] = {optional(a), a, b, optional(a), optional(b), a, b};
    struct trace_record ra = {a.from, a.to, 0}, rb = {b.from, b.to, 0};
    struct trace_record t[] = {ra, rb, ra, rb, ra, rb};

    EXPECT(same(aa, 2, &ra, 1, &plain, NULL));
    EXPECT(!same(aa, 2, &rb, 1, &plain, NULL));
    EXPECT(!same(aa, 2, NULL, 0, &plain, NULL));
    EXPECT(same(aba, 3, t, 1, &plain, NULL)); /* a */
    EXPECT(same(aba, 3, t, 3, &plain, NULL)); /* a b a */
    EXPECT(!same(aba, 3, t, 2, &plain, NULL));
    EXPECT(same(aba, 3, t + 1, 2, &plain, NULL)); /* b a */
    EXPECT(same(aab, 7, t, 4, &plain, NULL));
    EXPECT(same(aab, 7, t, 6, &plain, NULL));
    EXPECT(!same(aab, 7, t, 5, &plain, NULL));
}

/*
 * All small lists of two edges, each required or optional, against all traces of two records:
 * the answer must be that of trying every subset.
 */
static void agrees_with_every_subset(void)
{
    struct expected_edge a = user(EDGE_JMP, 0x10, 0x20), b = user(EDGE_JMP, 0x20, 0x30);
    unsigned wrong = 0, accepted = 0;

    for (unsigned code = 0; code < 1024; code++) { /* five edges: which, optional */
        struct expected_edge e[5];

        for (unsigned i = 0; i < 5; i++) {
            e[i] = code >> (2 * i) & 1 ? a : b;
            e[i].flags = code >> (2 * i + 1) & 1 ? EDGE_OPTIONAL : 0;
        }
        for (unsigned trace = 0; trace < 63; trace++) { /* up to five records */
            unsigned length = trace < 1    ? 0
                              : trace < 3  ? 1
                              : trace < 7  ? 2
                              : trace < 15 ? 3
                              : trace < 31 ? 4
                                           : 5;
            unsigned bits = trace + 1 - (1u << length);
            struct trace_record t[5];
            bool possible = false;

            for (unsigned i = 0; i < length; i++) {
                const struct expected_edge *which = bits >> i & 1 ? &a : &b;

                t[i] = (struct trace_record){which->from, which->to, 0};
            }
            for (unsigned subset = 0; subset < 32 && !possible; subset++) {
                unsigned used = 0;
                bool fit = true;

                for (unsigned i = 0; i < 5 && fit; i++) {
                    if (!(subset >> i & 1)) {
                        fit = e[i].flags & EDGE_OPTIONAL;
                        continue;
                    }
                    fit = used < length && t[used].from == e[i].from;
                    used++;
                }
                possible = fit && used == length;
            }
            accepted += possible;
            wrong += possible != same(e, 5, t, length, &plain, NULL);
        }
    }
    EXPECT_EQ(wrong, 0);
    EXPECT(accepted > 1000);
}

static void arrivals_anywhere_stay_inside(void)
{
    struct expected_edge e[3] = {user(EDGE_JMP, 0x10, 0x20),
                                 edge(EDGE_INTERRUPT, 0, ENTRY, 3, 0),
                                 edge(EDGE_IRET, IRETQ, 0, 0, 3)};
    struct trace_record t[3] = {
        {LOW + 0x10, LOW + 0x20, 0}, {LOW + 0x123, ENTRY, 0}, {IRETQ, LOW + 0x123, 0}};

    e[1].from_anywhere = true;
    e[2].to_anywhere = true;
    EXPECT(same(e, 3, t, 3, &plain, NULL));
    t[1].from = OTHER;
    EXPECT(!same(e, 3, t, 3, &plain, NULL));
    t[1].from = HIGH;
    EXPECT(!same(e, 3, t, 3, &plain, NULL));
    t[1] = (struct trace_record){LOW + 0x123, ENTRY + 1, 0};
    EXPECT(!same(e, 3, t, 3, &plain, NULL));
    t[1] = (struct trace_record){LOW, ENTRY, 0};
    t[2].to = HIGH;
    EXPECT(!same(e, 3, t, 3, &plain, NULL));
}

static void kernel_records_count_when_kept(void)
{
    struct expected_edge e[1] = {edge(EDGE_JMP, LOW + 0x10, LOW + 0x20, 0, 0)};
    struct trace_record t[2] = {{LOW + 0x10, LOW + 0x20, 0}, {OTHER, OTHER + 8, 0}};
    struct compare_options keep = plain;

    keep.keep_kernel = true;
    EXPECT(same(e, 1, t, 2, &plain, NULL));
    EXPECT(!same(e, 1, t, 2, &keep, NULL));
    EXPECT(same(e, 1, t, 1, &keep, NULL));
}

static void a_prefix_may_end_early(void)
{
    struct sample s = ring3_sample(true);
    struct compare_options options = plain;

    options.prefix = true;
    for (size_t count = 0; count <= s.record_count; count++)
        EXPECT(same(s.edges, s.edge_count, s.records, count, &options, NULL));
    EXPECT(!same(s.edges, s.edge_count, s.records + 2, s.record_count - 2, &options, NULL));
    EXPECT(!same(s.edges, 2, s.records, s.record_count, &options, NULL));
}

/* --- filters */

/* What a processor with that rule would store. */
static size_t filtered(const struct sample *s, enum crossing_rule rule, bool off_os,
                       bool off_usr, struct trace_record *out)
{
    size_t count = 0;

    for (size_t i = 0; i < s->edge_count; i++) {
        const struct expected_edge *e = &s->edges[i];
        bool before = e->cpl_before ? !off_usr : !off_os;
        bool after = e->cpl_after ? !off_usr : !off_os;
        bool stored = rule == CROSSING_NEW    ? after
                      : rule == CROSSING_OLD  ? before
                      : rule == CROSSING_BOTH ? before && after
                                              : before || after;

        if (stored)
            out[count++] = (struct trace_record){e->from, e->to, 0};
    }
    return count;
}

static void filters_follow_the_rule(void)
{
    struct sample s = ring3_sample(true);
    struct trace_record t[32];

    for (unsigned off = 0; off < 4; off++) {
        for (enum crossing_rule real = CROSSING_NEW; real <= CROSSING_EITHER; real++) {
            size_t count = filtered(&s, real, off & 1, off & 2, t);

            for (enum crossing_rule rule = CROSSING_NEW; rule <= CROSSING_UNKNOWN; rule++) {
                struct compare_options options = plain;
                bool want = rule == real || rule == CROSSING_UNKNOWN || off == 0 || off == 3;

                options.off_os = off & 1;
                options.off_usr = off & 2;
                options.crossing = rule;
                options.settled_present = ~0u;
                EXPECT_EQ(same(s.edges, s.edge_count, t, count, &options, NULL), want);
            }
        }
    }
}

static void filtered_rings_leave_nothing(void)
{
    struct sample s = ring3_sample(true);
    struct trace_record kernel = {OTHER, OTHER + 0x40, 0}, t[32];
    struct compare_options options = plain;
    size_t count = filtered(&s, CROSSING_NEW, true, false, t);

    options.off_os = true;
    EXPECT(same(s.edges, s.edge_count, t, count, &options, NULL));
    /* A branch inside the kernel under OFF_OS is a violation, not the kernel's own affair. */
    t[count] = kernel;
    EXPECT(!same(s.edges, s.edge_count, t, count + 1, &options, NULL));
    options.off_os = false;
    options.off_usr = true;
    count = filtered(&s, CROSSING_NEW, false, true, t);
    t[count] = kernel;
    EXPECT(same(s.edges, s.edge_count, t, count + 1, &options, NULL));
    t[count] = (struct trace_record){LOW + 0x10, LOW + 0x20, 0};
    EXPECT(!same(s.edges, s.edge_count, t, count + 1, &options, NULL));
    options.off_os = true;
    EXPECT(!same(s.edges, s.edge_count, t + count, 1, &options, NULL));
    EXPECT(!same(s.edges, s.edge_count, &kernel, 1, &options, NULL));
    EXPECT(same(s.edges, s.edge_count, NULL, 0, &options, NULL));
}

static void crossing_rule_is_inferred(void)
{
    struct sample s = ring3_sample(true);
    struct trace_record os[32], usr[32];
    struct compare_options settled = plain;

    settled.settled_present = ~0u;
    for (enum crossing_rule rule = CROSSING_NEW; rule <= CROSSING_EITHER; rule++) {
        struct trace_list off_os = {os, filtered(&s, rule, true, false, os)};
        struct trace_list off_usr = {usr, filtered(&s, rule, false, true, usr)};

        EXPECT_EQ(compare_infer_crossing(s.edges, s.edge_count, off_os, off_usr, &settled),
                  rule);
        /* The two traces must tell the same story. */
        off_usr.count = filtered(&s, (rule + 1) % 4, false, true, usr);
        EXPECT_EQ(compare_infer_crossing(s.edges, s.edge_count, off_os, off_usr, &settled),
                  CROSSING_UNKNOWN);
    }
    {
        struct expected_edge inside = user(EDGE_JMP, 0x10, 0x20); /* nothing crosses */
        struct trace_record r = {inside.from, inside.to, 0};

        EXPECT_EQ(compare_infer_crossing(&inside, 1, (struct trace_list){&r, 1},
                                         (struct trace_list){NULL, 0}, &settled),
                  CROSSING_UNKNOWN);
    }
    EXPECT_STR(crossing_rule_name(CROSSING_BOTH), "both");
}

static void settled_clauses_bind(void)
{
    struct sample with = ring3_sample(true), without = ring3_sample(false);
    struct compare_options options = plain;

    options.settled_absent = 1u << EDGE_SYSRET;
    EXPECT(!same(with.edges, with.edge_count, with.records, with.record_count, &options, NULL));
    EXPECT(same(without.edges, without.edge_count, without.records, without.record_count,
                &options, NULL));
    options.settled_absent = 0;
    options.settled_present = 1u << EDGE_SYSCALL;
    EXPECT(same(with.edges, with.edge_count, with.records, with.record_count, &options, NULL));
    EXPECT(!same(without.edges, without.edge_count, without.records, without.record_count,
                 &options, NULL));
}

static void witnesses_agree_in_kind(void)
{
    struct sample s = ring3_sample(true);
    struct expected_edge seen[16];
    struct compare_result r;

    memcpy(seen, s.edges, sizeof seen);
    compare_edges(s.edges, s.edge_count, seen, s.edge_count, &plain, &r);
    EXPECT(r.same);
    EXPECT_EQ(r.matched, s.edge_count);
    for (size_t i = 0; i < s.edge_count; i++) {
        memcpy(seen, s.edges, sizeof seen);
        seen[i].kind = EDGE_FAR_JMP;
        compare_edges(s.edges, s.edge_count, seen, s.edge_count, &plain, &r);
        EXPECT(!r.same);
        memcpy(seen, s.edges, sizeof seen);
        seen[i].cpl_after ^= 3;
        compare_edges(s.edges, s.edge_count, seen, s.edge_count, &plain, &r);
        EXPECT(!r.same);
        memcpy(seen, s.edges, sizeof seen);
        seen[i].to ^= 1;
        compare_edges(s.edges, s.edge_count, seen, s.edge_count, &plain, &r);
        EXPECT(!r.same);
    }
    compare_edges(s.edges, s.edge_count, s.edges, s.edge_count - 1, &plain, &r);
    EXPECT(!r.same);
}

int main(void)
{
    RUN(good_traces_are_accepted);
    RUN(every_spoiled_trace_is_refused);
    RUN(differences_are_named);
    RUN(alternatives_are_exactly_those_listed);
    RUN(optional_edges_do_not_mislead);
    RUN(agrees_with_every_subset);
    RUN(arrivals_anywhere_stay_inside);
    RUN(kernel_records_count_when_kept);
    RUN(a_prefix_may_end_early);
    RUN(filters_follow_the_rule);
    RUN(filtered_rings_leave_nothing);
    RUN(crossing_rule_is_inferred);
    RUN(settled_clauses_bind);
    RUN(witnesses_agree_in_kind);
    UNIT_END();
}
