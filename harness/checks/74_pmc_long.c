/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Performance counters over a long program.
 *
 * Claim: SDM Vol. 3, "Architectural Performance Monitoring": every instruction counts once,
 *   however many there are, and wherever in between a counter overflows.
 * How: the oracle steps some ten thousand instructions of loops, calls and straight code; the
 *   counters must end at the same sums, also when one of them overflows in the middle, at a
 *   place that moves through the loop.
 * Wrong if: an interrupt that nobody can see (SMI) adds an instruction: a run that differs is
 *   made once more.
 */
#define CHECK_GROUP "74 pmc.count"
#include "harness/check/capability.h"
#include "harness/fixture/counting.h"
#include "harness/fixture/witness.h"

#define INSTRUCTIONS 0u
#define BRANCHES     1u
#define PLACES       5u /* of the overflow */

/* What both counters say; `before`: events until the first one overflows, 0 = none does. */
static void count(struct counting *c, const struct workload *w, uint64_t argument,
                  uint64_t before, uint64_t *instructions, uint64_t *branches)
{
    struct guest_run r = {.argument = argument};

    counting_until(c, INSTRUCTIONS, before);
    counting_until(c, BRANCHES, 0);
    counting_clear_status(c);
    counting_workload(c, w, 3, &r);
    *instructions = counting_read(c, INSTRUCTIONS) + before;
    *branches = counting_read(c, BRANCHES);
    *instructions &= pmc_mask(&c->pmc, INSTRUCTIONS);
}

struct sums {
    uint64_t instructions, branches;
};

/* By the oracle, which counts edges beyond those that it keeps. */
static struct sums stepped(struct run *run, const struct workload *w, uint64_t argument)
{
    struct oracle oracle = {.edges = witness_edges(run), .max = WITNESS_EDGES};
    struct guest_run r = {.workload = w, .argument = argument};

    NEED(run, oracle_step(trace_guest(run), &r, &oracle), "the oracle lost %s: %s", w->name,
         oracle.error);
    return (struct sums){oracle.instructions, oracle.count + oracle.not_taken};
}

/* The way in and out, which may count or not, falls out of the difference to one round. */
CHECK("pmc.count.long_program", MUST, "PMC-04 PMC-06", NEED_PMC)
{
    static const struct {
        const char *name;
        uint64_t argument;
    } programs[] = {{"bench.loop", 40000}, {"bench.straight", 350}, {"bench.call", 18000}};

    unsigned places = run_count_of(run, PLACES, 2);

    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
        const struct workload *w = trace_find(run, programs[i].name);
        struct sums one = stepped(run, w, 1), all = stepped(run, w, programs[i].argument);
        uint64_t long_run = all.instructions - one.instructions;
        struct sums shortest;
        struct counting c;

        NEED(run, long_run > 65536, "the program is short");
        counting_open(run, &c);
        counting_add(&c, INSTRUCTIONS, PMC_INSTRUCTIONS, PMC_USR);
        counting_add(&c, BRANCHES, PMC_BRANCHES, PMC_USR);
        count(&c, w, 1, 0, &shortest.instructions, &shortest.branches);
        for (unsigned place = 0; place <= places; place++) {
            uint64_t before = place ? long_run * place / (places + 1) + place : 0;
            struct sums seen;

            for (unsigned attempt = 0; attempt < 2; attempt++) {
                count(&c, w, programs[i].argument, before, &seen.instructions, &seen.branches);
                if (seen.instructions - shortest.instructions == long_run)
                    break;
            }
            EXPECT_EQ(run, seen.instructions - shortest.instructions, long_run, "instructions");
            EXPECT_EQ(run, seen.branches - shortest.branches, all.branches - one.branches,
                      "branches");
            EXPECT_EQ(run, counting_status(&c), place ? 1u << INSTRUCTIONS : 0u,
                      "status behind it");
        }
        run_deferred_now(run);
    }
}
