/* SPDX-License-Identifier: BSD-2-Clause */
/* The step oracle inside a check: following a workload, and setting it beside another witness.
 */
#ifndef HARNESS_WITNESS_H
#define HARNESS_WITNESS_H

#include "harness/check.h"
#include "harness/oracle.h"
#include "harness/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WITNESS_EDGES 16384

/*
 * Steps the workload in ring 3 with this argument; ends the check as an error when the oracle
 * loses the thread. The edges belong to the suite and last until the next call.
 */
struct oracle witness_follow(struct run *run, const struct workload *w, uint64_t argument);

/*
 * What counters for ring 3 show of the path: an instruction that leaves ring 3 belongs to it,
 * one that enters does not. Where a processor decides by the ring after it, it is the other way
 * round: returns and entries tell the difference.
 */
struct witness_counts {
    uint64_t instructions;
    uint64_t branches; /* retired, taken or not, near and far */
    uint64_t near_taken;
    uint64_t entries; /* to the kernel, by an instruction of ring 3 */
    uint64_t returns; /* to ring 3, by an instruction of ring 0 */
    uint64_t events;  /* exceptions and interrupts */
};
struct witness_counts witness_counts(const struct oracle *oracle);

/*
 * Whether a plain run leaves it out of checks that go through all workloads: some thousand
 * instructions of which few are new. Under soak=1 none is.
 */
bool witness_leaves_out(const struct run *run, const struct workload *w);

/* The array behind it, for checks that drive the oracle themselves: WITNESS_EDGES long. */
struct expected_edge *witness_edges(struct run *run);

/* Whether it saw these edges; asserts and prints nothing. */
bool witness_agrees(struct run *run, const struct expected_edge *expected, size_t count,
                    const struct oracle *oracle, struct compare_result *result);

/* Asserts that the oracle saw exactly these edges, kinds and privilege levels included. */
bool witness_expect(struct run *run, const struct workload *w,
                    const struct expected_edge *expected, size_t count,
                    const struct oracle *oracle);

#endif
