/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `wtr perf` of a profile: each sample as perf's own, with the events that it stands for as its
 * period, its callers as call chain, and its registers.
 *
 *     perf report -i FILE --no-children     by function
 *     perf report -i FILE -g caller         by who called them
 */
#include "harness/wtr/core/samples.h"
#include "harness/wtr/perf/perf_tasks.h"

#define ID_SAMPLES   101
#define BITS_SAMPLES 0x40060 /* no kernel, no hypervisor, sample_id_all */
#define CONTEXT_USER 0xFFFFFFFFFFFFFE00ull
#define CHAIN_MAX    126 /* return addresses; perf's own limit */
#define MISC_USER    2
#define MISC_EXACT   0x4000
#define ABI_64       2

/* perf's numbers of AX..SI in the order of their encodings, then of the rest. */
#define REGISTERS 0xFF03FFull /* AX BX CX DX SI DI BP SP IP FLAGS, R8..R15 */

static const struct perf_event events[] = {
    {{.type = 0,
      .bytes = PERF_ATTR_BYTES,
      .config = 1,
      .period = 1,
      .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD |
                     PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_IDENTIFIER,
      .bits = BITS_SAMPLES,
      .user_registers = REGISTERS},
     ID_SAMPLES,
     "instructions:u"},
};

struct profiling {
    struct session *session;
    struct perf_file *file;
    struct perf_event event;
    uint64_t time, first_tsc;
};

static void put_chain(struct bytes *data, const struct sampled *s)
{
    uint32_t backs = s->back_count < CHAIN_MAX ? s->back_count : CHAIN_MAX;

    put_u64(data, 2 + backs);
    put_u64(data, CONTEXT_USER);
    put_u64(data, s->ip);
    for (uint32_t i = 0; i < backs; i++)
        put_u64(data, s->backs[i]);
}

static void put_registers(struct bytes *data, const struct wtr_registers *r)
{
    static const uint8_t order[8] = {0, 3, 1, 2, 6, 7, 5, 4};

    if (!r) {
        put_u64(data, 0); /* no register was recorded */
        return;
    }
    put_u64(data, ABI_64);
    for (unsigned i = 0; i < 8; i++)
        put_u64(data, r->gprs[order[i]]);
    put_u64(data, r->ip);
    put_u64(data, r->flags);
    for (unsigned i = 8; i < 16; i++)
        put_u64(data, r->gprs[i]);
}

/* perf wants times that rise. */
static uint64_t time_of(struct profiling *p, uint64_t tsc)
{
    uint64_t hz = p->session->trace.header.tsc_hz, time;

    p->first_tsc = p->first_tsc ? p->first_tsc : tsc;
    time = hz ? (uint64_t)((double)(tsc - p->first_tsc) * 1e9 / (double)hz) : 0;
    p->time = time > p->time && time < 1ull << 62 ? time : p->time + 1;
    return p->time;
}

static void put_sample(void *context, const struct sampled *s)
{
    struct profiling *p = context;
    struct bytes *data = &p->file->data;
    struct perf_id who = perf_id_of(&p->session->space, s->task);

    if (p->session->options->task &&
        p->session->space.tasks.items[s->task].number != p->session->options->task)
        return;
    if (s->event == WTR_COUNTED_BRANCHES) {
        p->event.attr.config = 4;
        p->event.name = "branches:u";
    }
    perf_begin(p->file, PERF_SAMPLE, MISC_USER | MISC_EXACT);
    put_u64(data, ID_SAMPLES);
    put_u64(data, s->ip);
    put_u32(data, who.pid);
    put_u32(data, who.tid);
    put_u64(data, time_of(p, s->tsc));
    put_u64(data, s->period);
    put_chain(data, s);
    put_registers(data, s->registers);
    perf_end(p->file);
}

static void take_event(void *context, const struct event *event)
{
    struct profiling *p = context;

    if (event->kind == WTR_SAMPLES)
        samples_visit(&p->session->space, event, put_sample, p);
}

static void take_branch(void *context, const struct branch *branch)
{
    (void)context;
    (void)branch;
}

bool perf_profile(struct session *session)
{
    static const struct visitor visitor = {.branch = take_branch, .event = take_event};
    struct profiling p = {.session = session, .event = events[0]};
    struct perf_file file = {.events = &p.event, .event_count = 1};

    p.file = &file;
    perf_describe(session, &file, ID_SAMPLES);
    trace_walk(&session->trace, &visitor, &p);
    perf_write(&file, &session->text);
    perf_free(&file);
    return true;
}
