/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Running a workload in ring 3 or ring 0, with the handlers its exceptions need.
 * Nothing here knows about tracing: the caller brackets it.
 */
#ifndef GUEST_RUN_H
#define GUEST_RUN_H

#include "guest/workload.h"
#include "hw/paging.h"
#include "hw/trap.h"

#include <stdbool.h>
#include <stdint.h>

/* Why a run ended. */
enum guest_end {
    GUEST_RETURNED = 1, /* by its RET */
    GUEST_FAULTED,      /* an exception that no rule of guest/workload.h covers */
    GUEST_BUDGET        /* the watchdog timer or the step budget ran out */
};

struct guest_run {
    const struct workload *workload;
    unsigned ring;
    uint64_t argument; /* rsi at entry */
    bool interrupts;   /* IF at entry */
    bool step;         /* TF at entry (ring 3 only) */
    /* out */
    enum guest_end end;
    struct trap_frame frame;   /* registers at the end; the fault's frame with GUEST_FAULTED */
    uint32_t faults, syscalls; /* handled on the way */
    /*
     * Called for every trap out of the workload before it is handled (may be NULL): vector,
     * frame as pushed. The step oracle and the skid checks listen here.
     */
    void (*on_trap)(struct guest_run *run, struct trap_frame *frame);
    void *listener;
};

/*
 * Builds the ring-3 view of the guest region (code read-only, stack, data pages) in a fresh
 * address space sharing the kernel's mappings. Once per check; guest_close frees everything.
 */
struct guest {
    struct address_space space;
    uint64_t stack_top;              /* ring-3 stack, linear */
    uint64_t data;                   /* linear address of the data page (rdi) */
    struct guest_place user, kernel; /* places for ring 3 and ring 0 */
    struct trap_slot saved[16];
    uint8_t *kernel_data; /* ring-0 data page, next page not mapped */
    void *private_state;
};
bool guest_open(struct guest *g); /* false: page pool empty; loads the guest's CR3 */
void guest_close(struct guest *g);

/* Resets stack and data page, then enters the workload. Ring 0 runs through call (see below).
 */
enum guest_end guest_run(struct guest *g, struct guest_run *run);

/*
 * The routine a bracket calls: guest_enter(arg) with arg = struct guest_run * prepared by
 * guest_prepare. In ring 0 the bracket's own CALL must be the workload's caller, so the caller
 * takes fn and argument from here.
 */
struct guest_call {
    uint64_t (*fn)(void *);
    void *arg;
};
struct guest_call guest_prepare(struct guest *g, struct guest_run *run);
void guest_finish(struct guest *g, struct guest_run *run);

/* The place to resolve edges for; for ring 0 caller and back come from the bracket in use. */
struct guest_place guest_place(const struct guest *g, unsigned ring);

#endif
