/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The workloads themselves, untraced: the second and third witness before the first is asked.
 *
 * Claim: every workload runs to its RET in each ring it is made for, takes the events it is
 *   made to take, and the path that its labels name is the path that single steps show.
 * Source: SDM Vol. 3, "Single-Stepping on Branches", "Interrupt and Exception Reference".
 * How: runs each workload plainly; then each steppable one under RFLAGS.TF, and compares what
 *   the oracle wrote down with the labels, edge by edge.
 * Wrong if: labels and oracle err in the same way. They share no code, and the host's unit
 *   tests step the same workloads on another processor.
 */
#define CHECK_GROUP "08 guest"
#include "harness/check.h"

#include "guest/abi.h"
#include "guest/run.h"
#include "harness/arena.h"
#include "harness/oracle.h"
#include "harness/trace.h"
#include "hw/apic.h"
#include "hw/regs.h"

#define EDGES_MAX 32768
#define ARGUMENT  12

static bool interrupted(const struct workload *w)
{
    return (w->flags & WORKLOAD_INTERRUPTS) != 0;
}

static void run_all(struct run *run, unsigned ring)
{
    unsigned needed = ring ? WORKLOAD_RING3 : WORKLOAD_RING0;

    for (size_t i = 0; i < workload_count(); i++) {
        const struct workload *w = workload_at(i);
        struct guest_run r = {
            .workload = w, .ring = ring, .argument = ARGUMENT, .interrupts = interrupted(w)};

        if (!(w->flags & needed))
            continue;
        EXPECT(run, guest_run(trace_guest(run), &r) == GUEST_RETURNED,
               "%s: end %u, vector %llu at %llx", w->name, r.end,
               (unsigned long long)r.frame.vector, (unsigned long long)r.frame.rip);
        EXPECT(run, !(w->flags & WORKLOAD_FAULTS) == !r.faults, "%s: %u faults", w->name,
               r.faults);
        EXPECT(run, interrupted(w) == (r.interrupts_taken > 0), "%s: %u interrupts", w->name,
               r.interrupts_taken);
    }
}

CHECK(guest_ring3, .name = "guest.run.ring3", .clauses = "", .kind = SOFTWARE)
{
    run_all(run, 3);
}

CHECK(guest_ring0, .name = "guest.run.ring0", .clauses = "", .kind = SOFTWARE)
{
    run_all(run, 0);
}

/* Values that a wrong turn would change; the tests on the host know the same ones. */
CHECK(guest_results, .name = "guest.run.results", .clauses = "", .kind = SOFTWARE)
{
    static const struct {
        const char *name;
        uint64_t argument, result;
    } known[] = {
        {"recursion.fib", 15, 610}, {"program.sort", 77, 1}, {"jcc.not_taken.rel8", 0, 16},
        {"int80.row", 0, 6},        {"pf.repeat", 0, 0},     {"pf.read_only", 0, 1},
    };

    for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        for (unsigned ring = 0; ring <= 3; ring += 3) {
            struct guest_run r = {.workload = trace_find(run, known[i].name),
                                  .ring = ring,
                                  .argument = known[i].argument};

            guest_run(trace_guest(run), &r);
            EXPECT_EQ(run, r.result, known[i].result, known[i].name);
        }
}

/* A workload that nothing resumes, and one that never ends, come back as what they are. */
CHECK(guest_ends, .name = "guest.run.ends", .clauses = "", .kind = SOFTWARE)
{
    struct workload astray = *trace_find(run, "bench.loop");
    struct guest_run r = {.workload = &astray, .ring = 3};

    astray.entry = (int32_t)(__guest_end - __guest_start) - 1; /* padding: INT3, r15 = 0 */
    EXPECT_EQ(run, guest_run(trace_guest(run), &r), GUEST_FAULTED, "end of a stray run");
    EXPECT_EQ(run, r.frame.vector, VECTOR_BP, "its vector");
    r = (struct guest_run){.workload = trace_find(run, "bench.loop"),
                           .ring = 3,
                           .argument = UINT64_MAX / 2,
                           .interrupts = true,
                           .budget_ticks = 1000};
    EXPECT_EQ(run, guest_run(trace_guest(run), &r), GUEST_BUDGET, "end of an endless run");
    EXPECT_EQ(run, r.frame.vector, VECTOR_TIMER, "its vector");
    EXPECT(run, !apic_irr_test(VECTOR_TIMER) && !apic_irr_test(VECTOR_TEST),
           "an interrupt is left pending");
}

CHECK(guest_labels, .name = "guest.labels.oracle", .clauses = "", .kind = SOFTWARE)
{
    struct expected_edge *edges = arena_alloc(EDGES_MAX * sizeof(*edges));

    NEED(run, edges, "the arena has no room for the oracle's edges");
    for (size_t i = 0; i < workload_count(); i++) {
        const struct workload *w = workload_at(i);
        struct guest_run r = {.workload = w, .argument = ARGUMENT};
        struct oracle oracle = {.edges = edges, .max = EDGES_MAX};
        struct compare_options options = {0};
        struct compare_result result;
        const struct expected_edge *expected;
        size_t count;

        if (!(w->flags & WORKLOAD_STEPPABLE))
            continue;
        if (!EXPECT(run, oracle_step(trace_guest(run), &r, &oracle), "%s: %s at %llx", w->name,
                    oracle.error, (unsigned long long)oracle.error_rip) ||
            !w->edge_count)
            continue;
        expected = trace_expected(run, w, 3, ARGUMENT, &count);
        compare_edges(expected, count, edges, oracle.count, &options, &result);
        EXPECT(run, result.same, "%s: %s, label edge %zu, oracle edge %zu (%llx -> %llx)",
               w->name, result.what, result.expected_index, result.record_index,
               (unsigned long long)edges[result.record_index].from,
               (unsigned long long)edges[result.record_index].to);
    }
}
