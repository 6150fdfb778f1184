/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `wtr profile`: where the events of a sampled program happened, by function, and what became
 * of the sampling. `wtr fold` of samples: the same by stack.
 */
#include "harness/wtr/commands/cmd_profile.h"

#include <stdlib.h>
#include <string.h>

/* A function in the place where it was called; node 0 of each task stands for the task. */
struct spot {
    uint32_t parent, function;
    uint64_t events, samples; /* its own */
};

struct share {
    uint32_t function;
    uint64_t events, samples; /* its own */
    uint64_t with_callees;    /* events */
    uint64_t last;            /* sample that counted it there, plus one */
};

struct profile {
    struct session *session;
    VECTOR(struct spot) spots;
    struct map spot_by_key;
    VECTOR(struct share) shares; /* by function, as far as seen */
    struct map share_by_function;
    uint64_t events, samples, chained;
    uint32_t event;
    struct wtr_sampling sampling; /* sum of all tasks */
};

static struct spot *spot_below(struct profile *p, uint32_t parent, uint32_t function,
                               uint32_t *at)
{
    uint32_t *index = map_at(&p->spot_by_key, (uint64_t)parent << 32 | function);

    if (*index == MAP_NEW) {
        *index = (uint32_t)p->spots.count;
        *PUSH(&p->spots) = (struct spot){.parent = parent, .function = function};
    }
    *at = *index;
    return &p->spots.items[*index];
}

static struct share *share_of(struct profile *p, uint32_t function)
{
    uint32_t *index = map_at(&p->share_by_function, function);

    if (*index == MAP_NEW) {
        *index = (uint32_t)p->shares.count;
        PUSH(&p->shares)->function = function;
    }
    return &p->shares.items[*index];
}

/* Recursion counts once. */
static void count_with_callees(struct profile *p, uint32_t function, uint64_t events)
{
    struct share *share = share_of(p, function);

    if (share->last == p->samples)
        return;
    share->last = p->samples;
    share->with_callees += events;
}

static void take_sample(void *context, const struct sampled *s)
{
    struct profile *p = context;
    struct space *space = &p->session->space;
    uint32_t at;
    struct spot *spot;
    struct share *share;

    if (p->session->options->task &&
        space->tasks.items[s->task].number != p->session->options->task)
        return;
    p->samples++;
    p->events += s->period;
    p->chained += s->back_count > 0;
    p->event = s->event;
    spot_below(p, NO_NODE, space->tasks.items[s->task].function, &at);
    for (uint32_t i = s->back_count; i-- > 0;) {
        uint32_t caller = samples_caller(space, s, s->backs[i]);

        if (s->back_count - i <= p->session->options->depth)
            spot_below(p, at, caller, &at);
        count_with_callees(p, caller, s->period);
    }
    spot = spot_below(p, at, s->function, &at);
    spot->events += s->period;
    spot->samples++;
    count_with_callees(p, s->function, s->period);
    share = share_of(p, s->function);
    share->events += s->period;
    share->samples++;
}

static void take_event(void *context, const struct event *event)
{
    struct profile *p = context;

    if (event->kind == WTR_SAMPLES) {
        samples_visit(&p->session->space, event, take_sample, p);
    } else if (event->kind == WTR_SAMPLING) {
        p->sampling.asked = event->sampling.asked;
        p->sampling.period = event->sampling.period;
        p->sampling.skipped += event->sampling.skipped;
        p->sampling.dropped += event->sampling.dropped;
        p->sampling.doubled += event->sampling.doubled;
    }
}

static void take_branch(void *context, const struct branch *branch)
{
    (void)context;
    (void)branch;
}

static void profile_open(struct profile *p, struct session *session)
{
    static const struct visitor visitor = {.branch = take_branch, .event = take_event};

    *p = (struct profile){.session = session};
    trace_walk(&session->trace, &visitor, p);
}

static void profile_close(struct profile *p)
{
    free(p->spots.items);
    free(p->shares.items);
    map_free(&p->spot_by_key);
    map_free(&p->share_by_function);
}

/* --- flat */

static int busier(const void *a, const void *b)
{
    const struct share *x = a, *y = b;

    if (x->events != y->events)
        return x->events < y->events ? 1 : -1;
    if (x->with_callees != y->with_callees)
        return x->with_callees < y->with_callees ? 1 : -1;
    return x->function < y->function ? -1 : x->function > y->function;
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* What the numbers are worth: periods, and what is missing. */
static void put_facts(struct profile *p)
{
    struct text *text = &p->session->text;
    const struct wtr_sampling *s = &p->sampling;

    text_format(text, "# %lu samples that stand for %lu %s\n", p->samples, p->events,
                samples_event(p->event));
    if (s->asked)
        text_format(text, "# asked for one every %lu\n", s->asked);
    if (s->doubled)
        text_format(text,
                    "# throttled: in the end one every %lu; %lu samples fewer than asked for\n",
                    s->period, s->skipped);
    if (s->dropped)
        text_format(text, "# lost: %lu samples for which there was no room\n", s->dropped);
    text_format(text, "# %lu samples have callers, by the program's frame pointers\n",
                p->chained);
}

bool command_profile(struct session *session)
{
    struct text *text = &session->text;
    struct profile p;

    if (!session->trace.kinds[WTR_SAMPLES]) {
        complain("%s: no samples in it; record some with make profile", session->trace.path);
        return false;
    }
    profile_open(&p, session);
    if (p.shares.count)
        qsort(p.shares.items, p.shares.count, sizeof *p.shares.items, busier);
    put_facts(&p);
    text_string(text, " itself  with callees   samples  function\n");
    for (size_t i = 0; i < p.shares.count; i++) {
        const struct share *share = &p.shares.items[i];

        text_format(text, "%6.2f%%       %6.2f%% ", percent(share->events, p.events),
                    percent(share->with_callees, p.events));
        text_columns(text, share->samples, 9);
        text_format(text, "  %s\n", session->space.functions.items[share->function].name);
    }
    profile_close(&p);
    return true;
}

/* --- folded */

static void put_stack(struct profile *p, uint32_t at)
{
    const struct spot *spot = &p->spots.items[at];

    if (spot->parent != NO_NODE) {
        put_stack(p, spot->parent);
        text_char(&p->session->text, ';');
    }
    text_string(&p->session->text, p->session->space.functions.items[spot->function].name);
}

void profile_fold(struct session *session, bool by_samples)
{
    struct profile p;

    profile_open(&p, session);
    for (uint32_t i = 0; i < p.spots.count; i++) {
        uint64_t own = by_samples ? p.spots.items[i].samples : p.spots.items[i].events;

        if (!own)
            continue;
        put_stack(&p, i);
        text_char(&session->text, ' ');
        text_decimal(&session->text, own);
        text_char(&session->text, '\n');
    }
    profile_close(&p);
}
