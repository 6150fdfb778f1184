/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The step oracle, one of the three witnesses, judged by the second: the labels.
 *
 * Claim: SDM Vol. 3, "Single-Step Exception Condition": with RFLAGS.TF set, #DB follows each
 * instruction of ring 3, so that the registers before and after tell every branch.
 * How: all workloads that can be stepped are stepped and compared with their labels; programs
 * without labels must give the right result and a connected path. The oracle's bounds are
 * driven on purpose.
 * Wrong if: labels and oracle make the same mistake. They share nothing: labels come from the
 * assembler, edges from a decoder and the registers.
 */
#define CHECK_GROUP "26 oracle"
#include "harness/fixture/witness.h"
#include "harness/oracle/decode.h"
#include "hw/regs.h"
#include "hw/string.h"
#include "hw/trap.h"

#define ARGUMENT 37 /* how often the workloads of bench.asm loop here */

static bool raises_events(const struct workload *w)
{
    return w->flags & WORKLOAD_FAULTS || strncmp(w->name, "syscall.", 8) == 0 ||
           strncmp(w->name, "int80.", 6) == 0;
}

/* Steps every labelled workload of one sort; returns how many there were. */
static unsigned compare_with_labels(struct run *run, bool events)
{
    unsigned compared = 0;

    for (size_t i = 0; i < workload_count(); i++) {
        const struct workload *w = workload_at(i);
        const struct expected_edge *expected;
        struct oracle oracle;
        size_t count;

        if (!(w->flags & WORKLOAD_STEPPABLE) || !(w->flags & WORKLOAD_RING3) ||
            !w->edge_count || raises_events(w) != events)
            continue;
        oracle = witness_follow(run, w, ARGUMENT);
        expected = trace_expected(run, w, 3, ARGUMENT, &count);
        witness_expect(run, w, expected, count, &oracle);
        compared++;
    }
    return compared;
}

CHECK("oracle.labels.branches", SOFTWARE, "", NEED_NOTHING)
{
    unsigned compared = compare_with_labels(run, false);

    EXPECT(run, compared >= 40, "only %u workloads were stepped", compared);
}

CHECK("oracle.labels.events", SOFTWARE, "", NEED_NOTHING)
{
    unsigned compared = compare_with_labels(run, true);

    EXPECT(run, compared >= 18, "only %u workloads were stepped", compared);
}

/* --- programs whose path nobody wrote down */

static const char *const programs[] = {"program.sort", "program.interpreter", "bench.call"};
#define PROGRAMS (sizeof(programs) / sizeof(programs[0]))

/* Straight-line code leads from each edge to the next. */
static void expect_connected(struct run *run, const struct workload *w,
                             const struct oracle *oracle)
{
    for (size_t i = 1; i < oracle->count; i++) {
        uint64_t at = oracle->edges[i - 1].to, end = oracle->edges[i].from;
        struct decoded d;
        unsigned steps = 0;

        if (oracle->edges[i].cpl_before == 0)
            continue;
        for (; at < end && steps < 1000; steps++) {
            if (!decode((const uint8_t *)(uintptr_t)at, 15, &d))
                break;
            at += d.length;
        }
        EXPECT(run, at == end, "%s: edge %zu does not lead to edge %zu", w->name, i - 1, i);
    }
}

CHECK("oracle.programs.connected", SOFTWARE, "", NEED_NOTHING)
{
    for (size_t i = 0; i < PROGRAMS; i++) {
        const struct workload *w = trace_find(run, programs[i]);
        struct oracle oracle = witness_follow(run, w, ARGUMENT);

        EXPECT(run, oracle.count > ARGUMENT, "%s: only %zu edges", w->name, oracle.count);
        EXPECT(run, oracle.steps >= oracle.count - 2, "%s: more edges than steps", w->name);
        expect_connected(run, w, &oracle);
    }
}

static uint64_t path_sum(const struct oracle *oracle)
{
    uint64_t sum = 0xCBF29CE484222325;

    for (size_t i = 0; i < oracle->count; i++)
        sum = (sum ^ oracle->edges[i].from ^ oracle->edges[i].to << 20) * 0x100000001B3;
    return sum;
}

CHECK("oracle.programs.repeatable", SOFTWARE, "", NEED_NOTHING)
{
    for (size_t i = 0; i < 2; i++) {
        const struct workload *w = trace_find(run, programs[i]);
        struct oracle oracle = witness_follow(run, w, 1);
        uint64_t first = path_sum(&oracle), again, other;

        oracle = witness_follow(run, w, 1);
        again = path_sum(&oracle);
        oracle = witness_follow(run, w, 2);
        other = path_sum(&oracle);
        EXPECT_EQ(run, again, first, "the same path with the same seed");
        EXPECT(run, other != first, "%s: the same path with another seed", w->name);
    }
}

/* Stepping must not change what a program computes. */
CHECK("oracle.programs.results", SOFTWARE, "", NEED_NOTHING)
{
    for (size_t i = 0; i < PROGRAMS; i++) {
        struct guest_run plain = {
            .workload = trace_find(run, programs[i]), .ring = 3, .argument = ARGUMENT};
        struct guest_run stepped = plain;
        struct oracle oracle = {.edges = witness_edges(run), .max = WITNESS_EDGES};

        guest_run(trace_guest(run), &plain);
        EXPECT(run, oracle_step(trace_guest(run), &stepped, &oracle), "%s: %s", programs[i],
               oracle.error);
        EXPECT_EQ(run, plain.end, GUEST_RETURNED, programs[i]);
        EXPECT_EQ(run, stepped.end, GUEST_RETURNED, programs[i]);
        EXPECT_EQ(run, stepped.result, plain.result, programs[i]);
    }
}

/* --- bounds */

CHECK("oracle.steps", SOFTWARE, "", NEED_NOTHING)
{
    struct guest_run r = {.workload = trace_find(run, "bench.loop"), .argument = 1000};
    uint64_t bare = oracle_bare_steps(trace_guest(run), &r);
    struct oracle oracle = witness_follow(run, r.workload, 1000);

    EXPECT_EQ(run, oracle.steps, bare, "steps with and without a decoder");
    EXPECT(run, bare >= 2002 && bare < 2020, "%lu steps for 1001 rounds of two instructions",
           bare);
}

CHECK("oracle.edges.bounded", SOFTWARE, "", NEED_NOTHING)
{
    struct oracle oracle = {.edges = witness_edges(run), .max = 5};
    struct guest_run r = {.workload = trace_find(run, "bench.loop"), .argument = 100};

    memset(oracle.edges, 0xC5, 6 * sizeof(*oracle.edges));
    EXPECT(run, oracle_step(trace_guest(run), &r, &oracle), "lost: %s", oracle.error);
    EXPECT_EQ(run, oracle.count, 103, "edges counted"); /* in, 100 rounds, RET, out */
    EXPECT_EQ(run, oracle.edges[4].kind, EDGE_JCC, "the last edge kept");
    EXPECT_EQ(run, oracle.edges[5].kind, 0xC5, "the byte behind it");
}

CHECK("oracle.budget", SOFTWARE, "", NEED_NOTHING)
{
    struct oracle oracle = {
        .edges = witness_edges(run), .max = WITNESS_EDGES, .step_budget = 500};
    struct guest_run r = {.workload = trace_find(run, "bench.loop"), .argument = 1u << 30};

    EXPECT(run, !oracle_step(trace_guest(run), &r, &oracle), "it came to an end");
    EXPECT_EQ(run, r.end, GUEST_BUDGET, "end of the run");
    EXPECT_EQ(run, oracle.steps, 501, "steps");
    EXPECT(run, oracle.error, "no reason given");
}

/* STI is not for ring 3: the exception has no handler that goes on. */
CHECK("oracle.lost", SOFTWARE, "", NEED_NOTHING)
{
    struct oracle oracle = {.edges = witness_edges(run), .max = WITNESS_EDGES};
    struct guest_run r = {.workload = trace_find(run, "interrupt.sti")};

    EXPECT(run, !oracle_step(trace_guest(run), &r, &oracle), "it came to an end");
    EXPECT_EQ(run, r.end, GUEST_FAULTED, "end of the run");
    EXPECT_EQ(run, r.frame.vector, VECTOR_GP, "vector");
    EXPECT(run, oracle.error, "no reason given");
    REQUIRE(run, oracle.count > 0, "no edge");
    EXPECT_EQ(run, oracle.edges[oracle.count - 1].kind, EDGE_EXCEPTION, "the last edge");
    EXPECT_EQ(run, oracle.edges[oracle.count - 1].from, r.frame.rip, "from of the last edge");
}

CHECK("oracle.leaves_nothing", SOFTWARE, "", NEED_NOTHING)
{
    static struct trap_slot before[TRAP_SYSCALL + 1];
    const struct workload *w = trace_find(run, "syscall.mixed");
    uint64_t dr6;

    trace_guest(run);
    dr6_write(dr6_read() & ~DR6_BS);
    dr6 = dr6_read();
    for (unsigned v = 0; v <= TRAP_SYSCALL; v++)
        before[v] = trap_get(v);
    witness_follow(run, w, 0);
    for (unsigned v = 0; v <= TRAP_SYSCALL; v++) {
        struct trap_slot now = trap_get(v);

        EXPECT(run, now.handler == before[v].handler && now.arg == before[v].arg,
               "the handler of vector %u is another one", v);
    }
    EXPECT_EQ(run, dr6_read(), dr6, "DR6");
    EXPECT(run, !syscall_return_by_iret, "SYSCALL still returns by IRETQ");
    EXPECT(run, !(rflags_read() & RFLAGS_TF), "TF is set");
}
