/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Speed figures, never a verdict. Everything is timed by the same counter in one take-over, so
 * that the figures can be divided by each other; `make bench` makes medians of several boots.
 */
#include "ds/broker.h"
#include "harness/bench/bench_sessions.h"
#include "harness/check/capability.h"
#include "harness/check/out.h"
#include "harness/fixture/counting.h"
#include "harness/fixture/trace.h"
#include "harness/fixture/witness.h"
#include "harness/options/options.h"
#include "harness/suite/harness.h"
#include "harness/suite/suite.h"
#include "hw/cpuid.h"
#include "hw/regs.h"
#include "hw/user.h"

static void print_rate(const char *name, uint64_t events, uint64_t ticks)
{
    uint64_t khz = suite_state()->platform->tsc_khz;

    if (ticks == 0 || khz == 0)
        out_line("# bench %s=unknown", name);
    else
        out_line("# bench %s=%lu per_second", name, events * khz / ticks * 1000);
}

/* Runs a workload in ring 0 under these DEBUGCTL bits; returns the ticks it took. */
static uint64_t time_workload(struct run *run, struct trace *t, const char *name,
                              uint64_t count, bool traced)
{
    struct guest_run r = {.workload = trace_find(run, name), .argument = count};
    struct guest_call call = guest_prepare(trace_guest(run), &r);
    uint64_t returned, start = tsc_read();

    if (traced)
        bts_bracket(&t->bts, call.fn, call.arg, &returned);
    else
        broker_bracket(BROKER_BTS, 0, call.fn, call.arg, &returned);
    start = tsc_read() - start;
    guest_finish(trace_guest(run), &r, returned);
    return start;
}

#define COUNT_ROUNDS 50

/*
 * Instructions and branches are counted, and nothing is recorded: perf stat's case. The best of
 * short rounds, as for the oracle.
 */
static void bench_counting(struct run *run)
{
    static const struct {
        const char *workload, *row;
        uint64_t loops;
    } rows[] = {{"bench.loop", "counted.loop.instructions", 1000},
                {"bench.straight", "counted.straight.instructions", 20},
                {"bench.call", "counted.call.instructions", 500}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint64_t instructions = 0, best = UINT64_MAX;

        for (unsigned round = 0; round < COUNT_ROUNDS; round++) {
            struct guest_run r = {.argument = rows[i].loops};
            uint64_t ticks;
            struct counting c;

            counting_open(run, &c);
            counting_add(&c, 0, PMC_INSTRUCTIONS, PMC_RINGS);
            counting_add(&c, 1, PMC_BRANCHES, PMC_RINGS);
            ticks = tsc_read();
            counting_workload(&c, trace_find(run, rows[i].workload), 0, &r);
            ticks = tsc_read() - ticks;
            best = ticks < best ? ticks : best;
            instructions = counting_read(&c, 0);
            run_deferred_now(run);
        }
        print_rate(rows[i].row, instructions, best);
    }
}

static void bench_model(struct run *run)
{
    const uint64_t records = 40000;
    struct trace t;
    uint64_t start;

    if (capability()->have & NEED_PMC)
        bench_counting(run);
    start = tsc_read();
    for (unsigned i = 0; i < 2000; i++)
        cpu_has_ds(); /* executes CPUID, which every hypervisor intercepts */
    print_rate("cpuid", 2000, tsc_read() - start);
    trace_open(run, &t, &(struct trace_setup){.records = 4096});
    print_rate("untraced.loop.branches", 2000000,
               time_workload(run, &t, "bench.loop", 2000000, false));
    if (!(capability()->have & NEED_BTS))
        return;
    print_rate("traced.loop.records", records,
               time_workload(run, &t, "bench.loop", records, true));
    print_rate("traced.straight.records", records / 4,
               time_workload(run, &t, "bench.straight", records / 4, true));
    print_rate("traced.call.records", 3 * records / 4,
               time_workload(run, &t, "bench.call", records / 4, true));
}

#define STEP_ROUNDS 50
#define STEP_LOOPS  3000 /* two steps each */

/* Alternating rounds, the best of each: other load on the host strikes both alike. */
static void bench_oracle(struct run *run)
{
    uint64_t bare_ticks = UINT64_MAX, oracle_ticks = UINT64_MAX, steps = 0;

    for (unsigned round = 0; round < STEP_ROUNDS; round++) {
        struct guest_run r = {
            .workload = trace_find(run, "bench.loop"), .ring = 3, .argument = STEP_LOOPS};
        struct oracle oracle = {.edges = witness_edges(run), .max = WITNESS_EDGES};
        uint64_t start = tsc_read(), ticks;

        steps = oracle_bare_steps(trace_guest(run), &r);
        ticks = tsc_read() - start;
        bare_ticks = ticks < bare_ticks ? ticks : bare_ticks;
        start = tsc_read();
        oracle_step(trace_guest(run), &r, &oracle);
        ticks = tsc_read() - start;
        oracle_ticks = ticks < oracle_ticks ? ticks : oracle_ticks;
    }
    print_rate("step.bare", steps, bare_ticks);
    print_rate("step.oracle", steps, oracle_ticks);
}

static void bench_function(struct run *run)
{
    bench_model(run);
    bench_oracle(run);
    if (capability()->have & NEED_BTS)
        bench_sessions(run);
}

static uint64_t bench_guarded(void *arg)
{
    static const struct check self = {.name = "bench", .clauses = "", .group = "00 bench"};
    struct run run = {
        .check = &self, .options = suite_state()->options, .platform = suite_state()->platform};

    (void)arg;
    bench_function(&run);
    run_deferred_now(&run);
    return 0;
}

static uint64_t take(void *arg)
{
    uint64_t result;

    (void)arg;
    if (hw_try(bench_guarded, NULL, &result) != 0)
        out_line("# bench error=the measurement did not finish");
    return 0;
}

void harness_bench(void)
{
    suite_state()->platform->take_over(take, NULL);
}
