/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Oracle and trace: two runs from one state, stepped and recorded.
 *
 * Claim: SDM Vol. 3, "Branch Trace Store (BTS)": a record for each taken branch, interrupt and
 * exception, in program order.
 * How: each workload is stepped first and traced afterwards; record by record the trace must
 * be what the oracle saw. For programs without labels the oracle is the only one that knows.
 * Wrong if: the program takes another path the second time; registers, data and stack start
 * alike, and none of these programs reads time.
 */
#define CHECK_GROUP "28 bts.oracle"
#include "harness/fixture/witness.h"

/* The kernel's own records on the way through the bracket, and through one event's handler. */
#define BRACKET_RECORDS 256
#define EVENT_RECORDS   192

static size_t room_for(const struct oracle *oracle)
{
    size_t room = oracle->count + BRACKET_RECORDS;

    for (size_t i = 0; i < oracle->count; i++)
        room += oracle->edges[i].cpl_before ? 0 : EVENT_RECORDS;
    return room;
}

static bool traced_agrees(struct run *run, const struct workload *w, uint64_t argument,
                          const struct oracle *oracle)
{
    struct guest_run r = {.argument = argument};
    struct trace t;
    bool same;

    trace_open(run, &t, &(struct trace_setup){.records = room_for(oracle)});
    trace_workload(&t, w, 3, &r);
    same = trace_expect(&t, oracle->edges, oracle->count, 3, NULL);
    run_deferred_now(run);
    return same;
}

CHECK("bts.oracle.programs", MUST, "GEN-01 GEN-20 GEN-21", NEED_BTS)
{
    static const char *const names[] = {"program.sort", "program.interpreter", "bench.call"};
    const unsigned seeds = run_count(run, 20);

    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const struct workload *w = trace_find(run, names[i]);

        for (unsigned seed = 1; seed <= seeds; seed++) {
            struct oracle oracle = witness_follow(run, w, seed * 7);

            if (!traced_agrees(run, w, seed * 7, &oracle))
                return;
        }
    }
}

/* Long paths are repetitions of short ones: they wait for soak=1. */
#define SHORT_PATH 400

CHECK("bts.oracle.workloads", MUST, "GEN-01 GEN-20 GEN-21", NEED_BTS)
{
    unsigned compared = 0;

    for (size_t i = 0; i < workload_count(); i++) {
        const struct workload *w = workload_at(i);
        struct oracle oracle;

        if (!(w->flags & WORKLOAD_STEPPABLE) || !workload_possible(w, 3))
            continue;
        oracle = witness_follow(run, w, 9);
        if (oracle.count > SHORT_PATH && !run->soak)
            continue;
        if (!traced_agrees(run, w, 9, &oracle))
            run_detail(run, "in workload %s", w->name);
        compared++;
    }
    EXPECT(run, compared >= 60, "only %u workloads were compared", compared);
}
