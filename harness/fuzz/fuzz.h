/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Generated programs under three witnesses: the edges the generator foresaw, what the step
 * oracle saw, what the trace holds. They agree record by record, or the program is made as
 * small as it can be while they still differ, and shown.
 */
#ifndef HARNESS_FUZZ_FUZZ_H
#define HARNESS_FUZZ_FUZZ_H

#include "harness/fixture/trace.h"
#include "harness/fixture/witness.h"
#include "harness/fuzz/generate.h"

enum fuzz_outcome {
    FUZZ_AGREE,
    FUZZ_DIFFER,
    FUZZ_UNUSABLE /* the program makes no sense: nodes are missing */
};

struct fuzz {
    struct run *run;
    bool traced; /* else the oracle is the last witness */
    struct trace trace;
    struct generated program;
    struct oracle oracle;
    /* What the trace is compared with: foreseen, or the oracle's when nothing was. */
    const struct expected_edge *edges;
    size_t edge_count;
    uint64_t step_budget;
    const char *why;  /* of the last outcome but FUZZ_AGREE */
    uint64_t records; /* compared so far, each with every witness there is */
    uint64_t stored;  /* by the traced runs so far, the kernel's own included */
    unsigned known;   /* programs whose edges were foreseen */
};

/* Runs f->program by all witnesses. */
enum fuzz_outcome fuzz_attempt(struct fuzz *f);

/*
 * Leaves nodes of f->program out as long as the witnesses still differ. A difference that comes
 * now and then only is waited for. Returns how many programs that took.
 */
unsigned fuzz_shrink(struct fuzz *f);
/* Runs f->program until it differs again, within the same patience. */
bool fuzz_again(struct fuzz *f);

/* A check's whole body: count programs, from the run's seed on. */
void fuzz_programs(struct run *run, bool traced, unsigned count);

#endif
