/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `wtr perf`: the trace as perf.data with BTS data, which stock perf decodes on any machine:
 *
 *     perf script -i FILE --itrace=b        every branch
 *     perf script -i FILE --itrace=cr       calls and returns
 *     perf report -i FILE --itrace=b
 *
 * With --samples the second form, see perf_samples.c.
 */
#include "harness/wtr/perf/perf_tasks.h"

#include <stdlib.h>
#include <unistd.h>

#define ID_TRACE 101
#define ID_DUMMY 102

#define SAMPLE_TYPE                                                                            \
    (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |                  \
     PERF_SAMPLE_IDENTIFIER)
#define READ_FORMAT_ID 4
#define BITS_TRACE     0x40061   /* disabled, no kernel, no hypervisor, sample_id_all */
#define BITS_DUMMY     0x1842361 /* the same, mmap, comm, task, mmap2, comm_exec */
#define PMU_BTS        8         /* of no PMU that perf names by itself */
#define AUXTRACE_BTS   2
#define FLAG_TRUNCATED 1
#define CPU_ANY        UINT32_MAX
#define PIECE_MAX      (1u << 22) /* branches */

static const struct perf_event events[] = {
    {{.type = PMU_BTS,
      .bytes = PERF_ATTR_BYTES,
      .period = 1,
      .sample_type = SAMPLE_TYPE,
      .read_format = READ_FORMAT_ID,
      .bits = BITS_TRACE},
     ID_TRACE,
     "intel_bts//u"},
    {{.type = 1,
      .bytes = PERF_ATTR_BYTES,
      .config = 9,
      .period = 1,
      .sample_type = SAMPLE_TYPE,
      .read_format = READ_FORMAT_ID,
      .bits = BITS_DUMMY},
     ID_DUMMY,
     "dummy:u"},
};

/* A piece of the trace: branches of one task without a gap. */
struct export
{
    struct session *session;
    struct perf_file *file;
    struct bytes piece;
    uint32_t task; /* index, of the piece */
    uint64_t reference;
    VECTOR(uint64_t) written; /* bytes so far, by task: offsets of AUX records */
};

static void put_info(struct perf_file *file)
{
    /* Shift 0 and factor 1: a tick is a nanosecond. Factor 0 makes perf divide by it. */
    static const uint64_t priv[6] = {PMU_BTS, 0, 1, 0, 1, 0};

    perf_begin(file, PERF_AUXTRACE_INFO, 0);
    put_u32(&file->data, AUXTRACE_BTS);
    put_u32(&file->data, 0);
    put_bytes(&file->data, priv, sizeof priv);
    perf_end(file);
}

static void put_truncated(struct export *e, struct perf_id who, uint64_t offset)
{
    perf_begin(e->file, PERF_AUX, 0);
    put_u64(&e->file->data, offset);
    put_u64(&e->file->data, e->piece.count);
    put_u64(&e->file->data, FLAG_TRUNCATED);
    perf_trailer(e->file, who.pid, who.tid, e->reference, ID_TRACE);
    perf_end(e->file);
}

/* Writes the piece; truncated marks it as followed by a gap. */
static void end_piece(struct export *e, bool truncated)
{
    static const uint8_t last[24];
    struct perf_id who;
    uint64_t offset;

    if (!e->piece.count && !truncated)
        return;
    if (e->task >= e->session->space.tasks.count)
        return;
    who = perf_id_of(&e->session->space, e->task);
    /* perf's decoder leaves the last record of a piece out, so it gets one of zeros. */
    put_bytes(&e->piece, last, sizeof last);
    while (e->written.count <= e->task)
        PUSH(&e->written);
    offset = e->written.items[e->task];
    e->reference++;
    if (truncated)
        put_truncated(e, who, offset);
    perf_begin(e->file, PERF_AUXTRACE, 0);
    put_u64(&e->file->data, e->piece.count);
    put_u64(&e->file->data, offset);
    put_u64(&e->file->data, e->reference);
    put_u32(&e->file->data, e->task); /* idx: one for each thread */
    put_u32(&e->file->data, who.tid);
    put_u32(&e->file->data, CPU_ANY);
    put_u32(&e->file->data, 0);
    perf_end(e->file);
    put_bytes(&e->file->data, e->piece.at, e->piece.count);
    e->written.items[e->task] += e->piece.count;
    e->piece.count = 0;
}

static void export_branch(void *context, const struct branch *branch)
{
    struct export *e = context;
    uint32_t only = e->session->options->task, task;
    uint64_t stored[3] = {branch->from, branch->to, branch->flags};

    if (only && branch->task != only)
        return;
    task = space_task(&e->session->space, branch->task);
    if (task != e->task || e->piece.count >= PIECE_MAX * sizeof stored)
        end_piece(e, false);
    e->task = task;
    put_bytes(&e->piece, stored, sizeof stored);
}

static void export_event(void *context, const struct event *event)
{
    struct export *e = context;
    uint32_t only = e->session->options->task;

    if ((event->kind != WTR_LOST && event->kind != WTR_WRAP) ||
        (only && event->task && event->task != only))
        return;
    if (event->task && space_task(&e->session->space, event->task) != e->task) {
        end_piece(e, false);
        e->task = space_task(&e->session->space, event->task);
    }
    end_piece(e, true);
}

bool command_perf(struct session *session)
{
    static const struct visitor visitor = {.branch = export_branch, .event = export_event};
    struct perf_file file = {.events = events, .event_count = 2};
    struct export e = {.session = session, .file = &file};

    if (!session->options->out && isatty(1)) {
        complain("perf.data is not for a terminal; use -o perf.data");
        return false;
    }
    if (session->trace.kinds[WTR_SAMPLES] && !session->trace.branches)
        return perf_profile(session);
    if (session->options->samples)
        return perf_samples(session);
    put_info(&file);
    perf_describe(session, &file, ID_DUMMY);
    trace_walk(&session->trace, &visitor, &e);
    end_piece(&e, false);
    perf_write(&file, &session->text);
    perf_free(&file);
    free(e.piece.at);
    free(e.written.items);
    return true;
}
