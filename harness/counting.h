/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counting inside a check: counters set up, enabled for exactly one call, read afterwards.
 * Whatever a check opens here is off again when the check ends, however it ends.
 *
 * Between the WRMSR that enables and the one that disables lie the call, what it runs, and a
 * handful of instructions in ring 0 that are the same each time: what ring 3 runs is counted
 * exactly by counters for ring 3, what ring 0 runs by the difference of two runs.
 */
#ifndef HARNESS_COUNTING_H
#define HARNESS_COUNTING_H

#include "harness/trace.h"
#include "hw/pmc.h"

#include <stdbool.h>
#include <stdint.h>

struct counting {
    struct run *run;
    struct pmc pmc;
    uint64_t enable; /* counters added, as bits of the global control */
    struct pmc_state found;
};

/* Everything off and at 0, until counters are added; undone with the check. */
void counting_open(struct run *run, struct counting *c);

/* Adds a counter, at 0; ends the check as an error when its registers refuse. */
void counting_add(struct counting *c, unsigned counter, enum pmc_event event, unsigned flags);
/* None is left; their controls are off. */
void counting_remove_all(struct counting *c);
/* Lets its next overflow come after this many events; 0 sets it to 0. */
void counting_until(struct counting *c, unsigned counter, uint64_t events);
/* Status of all clear. */
void counting_clear_status(struct counting *c);

/* fn(arg) with the counters enabled. */
uint64_t counting_call(struct counting *c, uint64_t (*fn)(void *), void *arg);
/* A workload with the counters enabled; the run must end by its RET. NULL: defaults. */
void counting_workload(struct counting *c, const struct workload *w, unsigned ring,
                       struct guest_run *with);

/*
 * What the manual leaves open: whether an instruction between two rings counts for the one
 * after it. Then the IRETQ that enters ring 3 is the first of ring 3's events, and the SYSCALL
 * that leaves is none. Runs a workload of its own; ends the check as a failure on any third
 * answer.
 */
bool counting_by_ring_after(struct counting *c);

uint64_t counting_read(struct counting *c, unsigned counter);
uint64_t counting_status(struct counting *c);

/* A handler of the counters' interrupt: it writes down what it finds first of all. */
struct counting_pmi {
    struct counting *counting;
    uint32_t entry, before; /* of the LVT: what unmasking writes, what was there */
    /* What the handler does. */
    bool keeps_mask;   /* leaves the LVT entry as delivery left it */
    bool keeps_status; /* and the status, with what is frozen by it */
    uint64_t period;   /* moves `counter` on by so many events, from where it is */
    unsigned counter;
    /* What it found; registers of the first time. */
    unsigned count;
    uint64_t status, control, debugctl, value, later; /* value: of `counter`, read twice */
    uint32_t lvt;
    uint64_t rip, cs;
};
/* Installs it for the vector and for NMI, and writes the LVT entry; undone with the check. */
void counting_listen(struct counting *c, struct counting_pmi *pmi, uint32_t lvt);
/* Sets FREEZE_PERFMON_ON_PMI until the check ends; skips it where that cannot be set. */
void counting_freeze(struct counting *c);

#endif
