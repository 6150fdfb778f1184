/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Performance counters: what they count.
 *
 * Claim: SDM Vol. 3, "Architectural Performance Monitoring": the events instructions retired
 *   and branch instructions retired count each instruction once, when it retires: one that
 *   faults never does, a REP string does when it is through, a branch does whether it is taken
 *   or not. USR and OS say at which privilege level. A counter runs while its own control and
 *   the global one enable it.
 * How: the same workload is stepped, by the oracle, and run with counters for ring 3 alone.
 *   The kernel's part of the path costs no more than a known bracket, or is taken away as the
 *   difference of two runs. Interrupts are off.
 * Wrong if: something counts that is no instruction of ours: a real processor adds one for an
 *   interrupt (SMI) that nobody can see. The counts of a workload are taken once more then.
 */
#define CHECK_GROUP "74 pmc.count"
#include "harness/check/capability.h"
#include "harness/fixture/counting.h"
#include "harness/fixture/witness.h"
#include "hw/string.h"

#define GENERAL_INSTRUCTIONS 0u
#define GENERAL_BRANCHES     1u
#define GENERAL_NEAR_TAKEN   2u
#define FIXED_INSTRUCTIONS   PMC_FIXED
#define CYCLES_FIXED         3u /* fixed counters that always count something */
#define ARGUMENT             7  /* how often the workloads of bench.asm loop here */

/* Instructions twice over and branches, for the given rings. */
static void open_all(struct run *run, struct counting *c, unsigned flags)
{
    counting_open(run, c);
    NEED(run, c->pmc.perfmon.general >= 2, "one general counter only");
    counting_add(c, GENERAL_INSTRUCTIONS, PMC_INSTRUCTIONS, flags);
    counting_add(c, GENERAL_BRANCHES, PMC_BRANCHES, flags);
    if (pmc_exists(&c->pmc, GENERAL_NEAR_TAKEN))
        counting_add(c, GENERAL_NEAR_TAKEN, PMC_BRANCHES_NEAR_TAKEN, flags);
    if (pmc_exists(&c->pmc, FIXED_INSTRUCTIONS))
        counting_add(c, FIXED_INSTRUCTIONS, PMC_INSTRUCTIONS, flags);
}

static uint64_t counted(struct counting *c, const struct workload *w, unsigned ring,
                        uint64_t argument, unsigned counter)
{
    struct guest_run r = {.argument = argument};

    for (unsigned other = 0; other < PMC_FIXED + PMC_FIXED_MAX; other++)
        if (other == counter || c->enable >> other & 1)
            counting_until(c, other, 0);
    counting_workload(c, w, ring, &r);
    return counting_read(c, counter);
}

/* --- whole workloads */

/*
 * What the manual leaves open shifts both counts alike: an instruction between two rings may
 * count for the one before or the one after it, an event may count as a branch instruction.
 * One answer must explain all workloads.
 */
enum { AFTER = 1, WITH_EVENTS = 2, ANSWERS = 4 };

static uint64_t shift(unsigned answer, const struct witness_counts *want)
{
    return (answer & AFTER ? want->returns - want->entries : 0) +
           (answer & WITH_EVENTS ? want->events : 0);
}

/* Answers, as bits, that explain what was counted. */
static unsigned explain(struct counting *c, const struct witness_counts *want)
{
    uint64_t instructions = counting_read(c, GENERAL_INSTRUCTIONS);
    uint64_t branches = counting_read(c, GENERAL_BRANCHES);
    unsigned answers = 0;

    for (unsigned answer = 0; answer < ANSWERS; answer++)
        if (instructions == want->instructions + shift(answer, want) &&
            branches == want->branches + shift(answer, want))
            answers |= 1u << answer;
    return answers;
}

static bool countable(const struct run *run, const struct workload *w)
{
    return !witness_leaves_out(run, w) && w->flags & WORKLOAD_STEPPABLE &&
           w->flags & WORKLOAD_RING3;
}

CHECK("pmc.count.workloads", MUST, "PMC-04 PMC-05", NEED_PMC)
{
    unsigned answers = (1u << ANSWERS) - 1, compared = 0;
    struct counting c;

    open_all(run, &c, PMC_USR);
    for (size_t i = 0; i < workload_count(); i++) {
        const struct workload *w = workload_at(i);
        struct witness_counts want;
        struct oracle oracle;

        if (!countable(run, w))
            continue;
        oracle = witness_follow(run, w, ARGUMENT);
        want = witness_counts(&oracle);
        counted(&c, w, 3, ARGUMENT, GENERAL_INSTRUCTIONS);
        answers &= explain(&c, &want);
        if (!EXPECT(run, answers,
                    "%s: %lu instructions and %lu branches, the oracle saw %lu and %lu",
                    w->name, counting_read(&c, GENERAL_INSTRUCTIONS),
                    counting_read(&c, GENERAL_BRANCHES), want.instructions, want.branches))
            return;
        if (c.enable >> FIXED_INSTRUCTIONS & 1)
            EXPECT(run,
                   counting_read(&c, FIXED_INSTRUCTIONS) ==
                       counting_read(&c, GENERAL_INSTRUCTIONS),
                   "%s: %lu instructions in the fixed counter", w->name,
                   counting_read(&c, FIXED_INSTRUCTIONS));
        compared++;
    }
    EXPECT(run, compared >= 60, "only %u workloads were counted", compared);
}

/* Core processors from Sandy Bridge on that are not hybrid: their event lists agree. */
static bool lists_near_taken(const struct cpu_identity *cpu)
{
    static const uint8_t models[] = {0x2A, 0x2D, 0x3A, 0x3C, 0x3D, 0x3E, 0x3F, 0x45, 0x46, 0x47,
                                     0x4E, 0x4F, 0x55, 0x56, 0x5E, 0x66, 0x6A, 0x6C, 0x7D, 0x7E,
                                     0x8C, 0x8D, 0x8E, 0x8F, 0x9E, 0xA5, 0xA6, 0xA7, 0xCF};

    for (size_t i = 0; i < sizeof(models); i++)
        if (cpu->family == 6 && cpu->model == models[i])
            return strcmp(cpu->vendor, "GenuineIntel") == 0;
    return false;
}

/*
 * The labels are a witness of their own: what the author says is taken, and nothing else. The
 * event is one family's; where that is another one, what it counts is only reported.
 */
CHECK("pmc.count.near_taken", MUST, "PMC-04", NEED_PMC)
{
    unsigned compared = 0, same = 0;
    struct counting c;

    counting_open(run, &c);
    counting_add(&c, 0, PMC_BRANCHES_NEAR_TAKEN, PMC_USR);
    for (size_t i = 0; i < workload_count(); i++) {
        const struct workload *w = workload_at(i);
        const struct expected_edge *edges;
        uint64_t want = 0, got;
        size_t count;

        if (!countable(run, w) || !w->edge_count)
            continue;
        edges = trace_expected(run, w, 3, ARGUMENT, &count);
        for (size_t at = 0; at < count; at++)
            want += edges[at].cpl_before == 3 && edges[at].kind <= EDGE_RET;
        got = counted(&c, w, 3, ARGUMENT, 0);
        same += got == want;
        compared++;
        if (lists_near_taken(&capability()->cpu))
            EXPECT(run, got == want, "%s: %lu near branches taken, its labels say %lu", w->name,
                   got, want);
    }
    run_observe(run, "pmc.near-taken", same == compared ? "exact" : "another event");
    run_held(run);
}

/* --- one round more */

/* Whatever surrounds the loop, a round is two instructions, one of them a branch. */
CHECK("pmc.count.slope", MUST, "PMC-04", NEED_PMC)
{
    static const uint64_t rounds[] = {1, 2, 3, 50, 300};
    const struct workload *w = trace_find(run, "bench.loop");
    uint64_t instructions = 0, branches = 0;
    struct counting c;

    open_all(run, &c, PMC_RINGS);
    for (unsigned ring = 0; ring <= 3; ring += 3)
        for (unsigned i = 0; i < sizeof(rounds) / sizeof(rounds[0]); i++) {
            uint64_t more = rounds[i] - rounds[0];
            uint64_t seen = counted(&c, w, ring, rounds[i], GENERAL_INSTRUCTIONS);

            if (i == 0) {
                instructions = seen;
                branches = counting_read(&c, GENERAL_BRANCHES);
            }
            EXPECT_EQ(run, seen, instructions + 2 * more, "instructions");
            EXPECT_EQ(run, counting_read(&c, GENERAL_BRANCHES), branches + more, "branches");
        }
}

/* Many of them: none is lost on the way, whatever comes in between. */
CHECK("pmc.count.many", MUST, "PMC-04", NEED_PMC)
{
    const struct workload *w = trace_find(run, "bench.loop");
    uint64_t rounds = run_count_of(run, 500000, 250), none;
    struct counting c;

    open_all(run, &c, PMC_USR);
    none = counted(&c, w, 3, 0, GENERAL_INSTRUCTIONS);
    EXPECT_EQ(run, counted(&c, w, 3, rounds, GENERAL_INSTRUCTIONS) - none, 2 * rounds,
              "instructions of that many rounds");
}

/* A REP string is one instruction, of however many steps. */
CHECK("pmc.count.repeat", MUST, "PMC-04", NEED_PMC)
{
    const struct workload *w = trace_find(run, "straight.repeat");
    struct oracle oracle = witness_follow(run, w, 0);
    struct counting c;

    NEED(run, oracle.steps > oracle.instructions + 500, "the strings took %lu steps only",
         oracle.steps);
    open_all(run, &c, PMC_USR);
    EXPECT_EQ(run, counted(&c, w, 3, 0, GENERAL_INSTRUCTIONS), oracle.instructions,
              "instructions");
}

/* The same code in ring 0, by the difference to nothing but a RET. */
CHECK("pmc.count.ring0", MUST, "PMC-04 PMC-05", NEED_PMC)
{
    static const char *const names[] = {"call.nested", "jcc.flags", "straight.repeat",
                                        "straight.conditional"};
    const struct workload *least = trace_find(run, "bench.loop");
    struct oracle oracle = witness_follow(run, least, 0);
    uint64_t in_ring3 = oracle.instructions, in_ring0;
    struct counting c;

    open_all(run, &c, PMC_OS);
    in_ring0 = counted(&c, least, 0, 0, GENERAL_INSTRUCTIONS);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const struct workload *w = trace_find(run, names[i]);

        oracle = witness_follow(run, w, 0);
        EXPECT(run,
               counted(&c, w, 0, 0, GENERAL_INSTRUCTIONS) - in_ring0 ==
                   oracle.instructions - in_ring3,
               "%s: %lu instructions in ring 0, its loop of one had %lu", w->name,
               counting_read(&c, GENERAL_INSTRUCTIONS), in_ring0);
    }
}

/* --- who counts */

CHECK("pmc.filter.rings", MUST, "PMC-05", NEED_PMC)
{
    static const char *const names[] = {"off", "USR", "OS", "both"};
    const struct workload *w = trace_find(run, "call.nested");
    unsigned counters[] = {GENERAL_INSTRUCTIONS, GENERAL_BRANCHES, FIXED_INSTRUCTIONS};
    struct oracle oracle = witness_follow(run, w, 0);
    struct witness_counts want = witness_counts(&oracle);

    for (unsigned i = 0; i < 3; i++) {
        uint64_t seen[4][2];
        struct counting c;

        for (unsigned flags = 0; flags < 4; flags++) {
            open_all(run, &c, flags);
            if (!(c.enable >> counters[i] & 1)) {
                run_deferred_now(run);
                return;
            }
            seen[flags][0] = counted(&c, w, 0, 0, counters[i]);
            seen[flags][1] = counted(&c, w, 3, 0, counters[i]);
            run_deferred_now(run);
        }
        for (unsigned ring3 = 0; ring3 < 2; ring3++) {
            EXPECT(run, seen[0][ring3] == 0, "counter %u, rings %s: %lu", counters[i], names[0],
                   seen[0][ring3]);
            EXPECT(run, seen[1][ring3] + seen[2][ring3] == seen[3][ring3],
                   "counter %u: %lu for USR, %lu for OS, %lu for both", counters[i],
                   seen[1][ring3], seen[2][ring3], seen[3][ring3]);
        }
        EXPECT_EQ(run, seen[1][0], 0, "USR of a path in ring 0");
        /* As many ways in as out: the same whichever ring a crossing counts for. */
        EXPECT_EQ(run, seen[1][1], i == 1 ? want.branches : want.instructions,
                  "USR of a path in ring 3");
    }
}

/* Everything but EN of its own control; a fixed counter has no other bit but its rings. */
static int disable(unsigned counter)
{
    uint64_t select = 0;

    if (counter >= PMC_FIXED)
        return pmc_stop(counter);
    pmc_select_read(counter, &select);
    return pmc_select_write(counter, select & ~PERFEVTSEL_EN);
}

CHECK("pmc.enable.each", MUST, "PMC-11", NEED_PMC)
{
    static const unsigned counters[] = {GENERAL_INSTRUCTIONS, GENERAL_BRANCHES,
                                        FIXED_INSTRUCTIONS};
    const struct workload *w = trace_find(run, "call.nested");

    for (unsigned i = 0; i < 3; i++) {
        unsigned counter = counters[i];
        struct counting c;
        uint64_t all;

        open_all(run, &c, PMC_RINGS);
        all = c.enable;
        if (!(all >> counter & 1))
            return;
        c.enable = all & ~(1ull << counter);
        EXPECT_EQ(run, counted(&c, w, 3, 0, counter), 0,
                  "without its bit of the global control");
        c.enable = 1ull << counter;
        EXPECT(run, counted(&c, w, 3, 0, counter) > 0, "counter %u alone counts nothing",
               counter);
        NEED(run, disable(counter) == 0, "counter %u cannot be disabled", counter);
        c.enable = all;
        EXPECT_EQ(run, counted(&c, w, 3, 0, counter), 0, "without its own control");
        run_deferred_now(run);
    }
}

/* Whatever they count (a fixed one of them cycles), each has a bit of its own. */
CHECK("pmc.enable.own_bit", MUST, "PMC-11", NEED_PMC)
{
    const struct workload *w = trace_find(run, "bench.loop");
    struct counting c;
    uint64_t all = 0;

    counting_open(run, &c);
    for (unsigned counter = 0; counter < PMC_FIXED + CYCLES_FIXED; counter++)
        if (pmc_exists(&c.pmc, counter))
            counting_add(&c, counter, PMC_INSTRUCTIONS, PMC_USR);
    all = c.enable;
    for (unsigned counter = 0; counter < PMC_FIXED + CYCLES_FIXED; counter++) {
        if (!(all >> counter & 1))
            continue;
        for (unsigned other = 0; other < PMC_FIXED + CYCLES_FIXED; other++)
            if (all >> other & 1)
                counting_until(&c, other, 0);
        c.enable = 1ull << counter;
        counting_workload(&c, w, 3,
                          &(struct guest_run){.argument = counter < PMC_FIXED ? 10 : 300});
        for (unsigned other = 0; other < PMC_FIXED + CYCLES_FIXED; other++)
            if (all >> other & 1)
                EXPECT(run, (counting_read(&c, other) != 0) == (other == counter),
                       "enabled is %u alone: counter %u counts %lu", counter, other,
                       counting_read(&c, other));
    }
}

/* --- what the manual leaves open */

CHECK("pmc.count.crossing", CHARACTERISE, "PMC-09", NEED_PMC)
{
    struct counting c;

    counting_open(run, &c);
    run_observe(run, "bts.pmc-crossing", counting_by_ring_after(&c) ? "after" : "before");
    run_held(run);
}

/* Each of these faults brings one IRETQ; is its delivery a far branch as well? */
CHECK("pmc.count.events", CHARACTERISE, "PMC-10", NEED_PMC)
{
    struct counting c;
    uint64_t two, five;

    counting_open(run, &c);
    counting_add(&c, 0, PMC_BRANCHES_FAR, PMC_RINGS);
    two = counted(&c, trace_find(run, "fault.ud"), 3, 0, 0);
    five = counted(&c, trace_find(run, "fault.gp_privileged"), 3, 0, 0);
    run_observe(run, "bts.pmc-event",
                five - two == 3   ? "none"
                : five - two == 6 ? "instruction"
                                  : "another event");
    run_held(run);
}
