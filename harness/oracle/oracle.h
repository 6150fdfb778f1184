/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The step oracle: runs a ring-3 workload under RFLAGS.TF and writes down every edge it took,
 * by its own decoder. TF and BTS are never on together: oracle and trace are two runs from one
 * snapshot.
 */
#ifndef HARNESS_ORACLE_ORACLE_H
#define HARNESS_ORACLE_ORACLE_H

#include "guest/run.h"
#include "harness/oracle/compare.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trap_frame;
struct oracle {
    /*
     * Told of every instruction that has run to its end: where it stood, the registers after
     * it. Not of one that enters the kernel, nor of MOV SS. May be NULL.
     */
    void (*on_step)(struct oracle *oracle, uint64_t at, const struct trap_frame *after);
    void *listener;
    struct expected_edge *edges; /* caller's array */
    size_t max, count;           /* count may exceed max: edges beyond are counted, not kept */
    uint64_t steps;              /* #DB exceptions taken */
    uint64_t step_budget;        /* 0 = 10 000 000 */
    uint64_t instructions;       /* that ring 3 has retired; REP counts once */
    uint64_t not_taken;          /* conditional branches that fell through */
    const char *error;           /* undecodable instruction, ...; NULL when fine */
    uint64_t error_rip;
};

/*
 * Steps run->workload to its end in ring 3. The first edge is the entering IRETQ, the last the
 * leaving SYSCALL, as in edges_resolve. False with oracle->error set when it lost the thread.
 */
bool oracle_step(struct guest *g, struct guest_run *run, struct oracle *oracle);

/*
 * The bare loop for `make bench`: the same stepping, the #DB handler only counts. Steps taken.
 */
uint64_t oracle_bare_steps(struct guest *g, struct guest_run *run);

#endif
