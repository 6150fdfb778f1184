/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `wtr perf --samples`: the trace as ordinary samples, one for every so many branches, each
 * with those branches as its branch stack and with the call chain after them. It gives what
 * perf cannot make of BTS data:
 *
 *     perf script -i FILE -F +brstackinsn    every instruction that ran
 *     perf report -i FILE -g caller          the call graph
 */
#include "harness/wtr/perf/perf_tasks.h"

#include <stdlib.h>
#include <string.h>

#define ID_SAMPLES 101
#define SAMPLE_TYPE                                                                            \
    (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |                  \
     PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_BRANCH_STACK |                   \
     PERF_SAMPLE_IDENTIFIER)
#define BITS_SAMPLES      0x40060 /* no kernel, no hypervisor, sample_id_all */
#define BRANCHES_ANY_USER 9
#define CONTEXT_USER      0xFFFFFFFFFFFFFE00ull
#define CHAIN_MAX         127 /* return addresses; perf's own limit */
#define FLAG_MISPREDICTED 1
#define FLAG_PREDICTED    2
#define BTS_PREDICTED     0x10
#define EVERY_MAX         1024
#define MISC_USER         2

static const struct perf_event events[] = {
    {{.type = 0,
      .bytes = PERF_ATTR_BYTES,
      .config = 4,
      .period = 1,
      .sample_type = SAMPLE_TYPE,
      .bits = BITS_SAMPLES,
      .branch_sample_type = BRANCHES_ANY_USER},
     ID_SAMPLES,
     "branches:u"},
};

/* The branches of one task since its last sample. */
struct pending {
    struct wtr_branch *branches;
    uint32_t count;
};

struct sampling {
    struct session *session;
    struct perf_file *file;
    struct calls calls;
    VECTOR(struct pending) pending; /* by task */
    uint64_t time;
};

static void put_chain(struct sampling *s, uint32_t task, uint64_t ip)
{
    const struct stack *stack = calls_stack(&s->calls, task);
    size_t count_at = s->file->data.count;
    uint64_t count = 2;

    put_u64(&s->file->data, 0);
    put_u64(&s->file->data, CONTEXT_USER);
    put_u64(&s->file->data, ip);
    for (size_t i = stack->frames.count; i-- > 0 && count < CHAIN_MAX + 2;) {
        if (!stack->frames.items[i].back)
            continue;
        put_u64(&s->file->data, stack->frames.items[i].back);
        count++;
    }
    memcpy(s->file->data.at + count_at, &count, sizeof count);
}

/* Where no branch at all is marked as predicted, the recorder did not know. */
static uint64_t stack_flags(const struct sampling *s, const struct wtr_branch *branch)
{
    if (!(s->session->space.flags_seen & BTS_PREDICTED))
        return 0;
    return branch->flags & BTS_PREDICTED ? FLAG_PREDICTED : FLAG_MISPREDICTED;
}

static void put_stack(struct sampling *s, const struct pending *pending)
{
    put_u64(&s->file->data, pending->count);
    for (uint32_t i = pending->count; i-- > 0;) {
        put_u64(&s->file->data, pending->branches[i].from);
        put_u64(&s->file->data, pending->branches[i].to);
        put_u64(&s->file->data, stack_flags(s, &pending->branches[i]));
    }
}

static void put_sample(struct sampling *s, uint32_t task)
{
    struct pending *pending = &s->pending.items[task];
    struct perf_id who = perf_id_of(&s->session->space, task);
    const struct wtr_branch *newest;

    if (!pending->count)
        return;
    newest = &pending->branches[pending->count - 1];
    perf_begin(s->file, PERF_SAMPLE, MISC_USER);
    put_u64(&s->file->data, ID_SAMPLES);
    put_u64(&s->file->data, newest->to);
    put_u32(&s->file->data, who.pid);
    put_u32(&s->file->data, who.tid);
    put_u64(&s->file->data, ++s->time);
    put_u64(&s->file->data, newest->to);
    put_u64(&s->file->data, pending->count);
    put_chain(s, task, newest->to);
    put_stack(s, pending);
    perf_end(s->file);
    pending->count = 0;
}

static void sample_step(void *context, const struct step *step)
{
    struct sampling *s = context;
    struct pending *pending;

    while (s->pending.count <= step->task)
        PUSH(&s->pending);
    pending = &s->pending.items[step->task];
    if (!pending->branches)
        pending->branches = allocate(s->session->options->every, sizeof *pending->branches);
    /* A stack with a gap in it would show instructions that never ran. */
    if (step->run == RUN_BROKEN || step->run == RUN_NONE)
        put_sample(s, step->task);
    calls_step(&s->calls, step);
    pending->branches[pending->count++] =
        (struct wtr_branch){step->branch->from, step->branch->to, step->branch->flags};
    if (pending->count == s->session->options->every)
        put_sample(s, step->task);
}

bool perf_samples(struct session *session)
{
    static const struct flow flow = {.step = sample_step};
    struct perf_file file = {.events = events, .event_count = 1};
    struct sampling s = {.session = session, .file = &file};

    perf_describe(session, &file, ID_SAMPLES);
    calls_open(&s.calls, &session->space, session->options->depth);
    flow_walk(&session->space, &flow, session->options->task, &s);
    for (uint32_t i = 0; i < s.pending.count; i++) {
        put_sample(&s, i);
        free(s.pending.items[i].branches);
    }
    free(s.pending.items);
    calls_close(&s.calls);
    perf_write(&file, &session->text);
    perf_free(&file);
    return true;
}
