/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sessions, timed by the same counter in the same take-over. Draining stands beside a memcpy of
 * the same bytes, because both depend on the memory; the median of many rounds is printed.
 */
#include "harness/bench/bench_sessions.h"

#include "ds/broker.h"
#include "harness/check/out.h"
#include "harness/fixture/tasks.h"
#include "hw/apic.h"
#include "hw/regs.h"
#include "hw/string.h"

#define ROUNDS  101
#define RECORDS 2048

static uint64_t samples[ROUNDS];
static struct bts_record copy[RECORDS];

/* Sorted by insertion; returns the one in the middle, as picoseconds for each of count. */
static uint64_t median(struct run *run, unsigned count)
{
    uint64_t khz = run->platform->tsc_khz;

    for (unsigned i = 1; i < ROUNDS; i++)
        for (unsigned k = i; k > 0 && samples[k - 1] > samples[k]; k--) {
            uint64_t swap = samples[k];

            samples[k] = samples[k - 1];
            samples[k - 1] = swap;
        }
    return khz ? samples[ROUNDS / 2] * 1000000 / khz * 1000 / count : 0;
}

static void print_ns(struct run *run, const char *name, unsigned count)
{
    uint64_t ps = median(run, count);

    out_line("# bench session.%s=%lu.%03lu ns", name, ps / 1000, ps % 1000);
}

static void time_calls(struct run *run)
{
    struct sessions *s = sessions_open(run, LVT_DELIVERY_FIXED | VECTOR_PMI);
    struct session_request request = sessions_request(s, 64);
    session_id id;

    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t start = tsc_read();

        session_release(sessions_ask(s, &request), &s->debugger);
        samples[i] = tsc_read() - start;
    }
    print_ns(run, "request_release", 1);
    id = sessions_ask(s, &request);
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t start = tsc_read();

        session_suspend(id, &s->debugger);
        session_resume(id, &s->debugger);
        samples[i] = tsc_read() - start;
    }
    print_ns(run, "suspend_resume", 1);
    run_deferred_now(run);
}

static void time_switches(struct run *run, bool traced)
{
    static const struct script script[] = {{.call = SERVICE_TASK_YIELD}};
    struct tasks *t = tasks_open(run, LVT_DELIVERY_FIXED | VECTOR_PMI);

    t->schedule.slice_ticks = tasks_ticks(TASKS_LONG_US);
    for (unsigned i = 0; i < 2; i++) {
        struct task *task = tasks_script(t, script, 1);
        struct session_request request = tasks_request(t, task, 64);

        tasks_entry(task, 0)->other = 0; /* yields for ever */
        if (traced)
            sessions_ask(t->sessions, &request);
    }
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t start = tsc_read();

        schedule_run(&t->schedule, 20);
        samples[i] = tsc_read() - start;
    }
    print_ns(run, traced ? "switch_traced" : "switch_untraced", 20);
    run_deferred_now(run);
}

/*
 * The handler's body, from the claim to the trace that runs again; entry and IRET are not in
 * it.
 */
static void drop(void *context, const struct bts_record *records, size_t count)
{
    (void)records;
    *(size_t *)context += count;
}

static void time_interrupt(struct run *run)
{
    struct trace t;
    struct pmi pmi;
    size_t taken = 0;

    trace_open(run, &t,
               &(struct trace_setup){
                   .records = 64, .threshold_records = 32, .interrupt = true, .off_os = true});
    pmi = (struct pmi){.bts = &t.bts, .sink = drop, .context = &taken};
    bts_start(&t.bts);
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t start;

        bts_stop(&t.bts);
        t.area->bts_index = t.area->bts_threshold;
        start = tsc_read();
        pmi_handle(&pmi);
        bts_start(&t.bts);
        samples[i] = tsc_read() - start;
    }
    bts_stop(&t.bts);
    print_ns(run, "interrupt_rearm", 1);
    run_deferred_now(run);
}

static void time_drain(struct run *run)
{
    static struct bts_record ring[RECORDS];
    struct sessions *s = sessions_open(run, LVT_DELIVERY_FIXED | VECTOR_PMI);
    struct session_request request = sessions_request(s, RECORDS);
    size_t count = 0;
    session_id id;

    request.buffer = ring;
    request.suspended = true;
    id = sessions_ask(s, &request);
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t start;

        /* As the processor leaves a ring that is full: every slot written. */
        memset(ring, 1, sizeof(ring));
        start = tsc_read();
        session_drain(id, &s->debugger, copy, RECORDS, RECORDS, &count);
        samples[i] = tsc_read() - start;
    }
    print_ns(run, "drain_a_record", RECORDS);
    out_line("# bench session.drained=%zu records", count);
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t start;

        memset(ring, 1, sizeof(ring));
        start = tsc_read();
        memcpy(copy, ring, sizeof(ring));
        samples[i] = tsc_read() - start;
    }
    print_ns(run, "memcpy_a_record", RECORDS);
    run_deferred_now(run);
}

void bench_sessions(struct run *run)
{
    run_deferred_now(run); /* what the other figures opened */
    time_calls(run);
    time_switches(run, false);
    time_switches(run, true);
    time_interrupt(run);
    time_drain(run);
}
