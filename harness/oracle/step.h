/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From single steps to edges: given where each step stood before and stands after, which
 * branch was taken. Knows no machine; harness/oracle/oracle.c feeds it from the #DB handler,
 * the host tests from ptrace.
 *
 * What stepping shows and a trace does not
 *   - #DB comes once per iteration of a REP string, or once more: no edge.
 *   - MOV SS holds the trap back: one step covers it and the instruction behind it.
 *   - PUSHF and SYSCALL (in R11) show TF to the stepped program.
 *   - Code that rewrites an instruction it has already run may be followed by the old bytes;
 *     the cache is emptied at step_start only. A length or target that no longer fits is
 *     decoded afresh before the thread counts as lost.
 */
#ifndef HARNESS_ORACLE_STEP_H
#define HARNESS_ORACLE_STEP_H

#include "guest/edge.h"
#include "harness/oracle/compare.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A decoded instruction, packed so that 1024 of them take four pages. */
struct step_slot {
    uint64_t rip;
    int32_t displacement;
    uint8_t length; /* 0: empty */
    uint8_t branch, condition;
    uint8_t traits; /* of step.c */
};

#define STEP_SLOTS 1024 /* direct-mapped by the low bits of RIP */

/* Where the kernel's own ends of an edge lie. */
struct step_places {
    uint64_t iretq, sysretq, syscall;
    uint64_t (*entry)(unsigned vector);
};

struct stepper {
    struct step_slot *slots; /* STEP_SLOTS of them, the caller's */
    code_fetch fetch;
    void *context;
    struct step_places places;
    struct expected_edge *edges; /* the caller's; edges beyond max are counted, not kept */
    size_t max, count;
    uint64_t at; /* the instruction that the next step executes */
    /* For whoever counts instructions by their #DBs. */
    uint64_t silent;     /* instructions that ran without a #DB of their own */
    uint64_t unfinished; /* #DBs in the middle of a REP string */
    uint64_t not_taken;  /* conditional branches that fell through */
    const char *error;
    uint64_t error_rip;
};

/*
 * Empties the cache; writes the entering edge IRETQ -> entry. slots, fetch, places, edges and
 * max are set by the caller.
 */
void step_start(struct stepper *s, uint64_t entry);

/* One #DB: the instruction at s->at has run, the next one is at rip. False: lost, see error. */
bool step_to(struct stepper *s, uint64_t rip, uint64_t rflags, uint64_t rcx);

/*
 * Another event took the program to the kernel: vector 0..255 or TRAP_SYSCALL, rip as saved
 * for the return. Tells software interrupts from faults and arrivals by the code at s->at.
 */
bool step_event(struct stepper *s, unsigned vector, uint64_t rip, uint64_t rflags,
                uint64_t rcx);

/*
 * The kernel lets the program go on at rip; by_sysret: the traced run will use SYSRETQ there.
 */
void step_resume(struct stepper *s, uint64_t rip, bool by_sysret);

#endif
