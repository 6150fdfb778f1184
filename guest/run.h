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
    unsigned ring;     /* 0 to 3; 1 and 2 in the kernel's view, on a stack of one page */
    uint64_t argument; /* first quadword of the data page */
    bool interrupts;   /* IF at entry (ring 3 only: in ring 0 the bracket's IF stays) */
    bool step;         /* TF at entry (ring 3 only) */
    uint32_t
        budget_ticks; /* watchdog in APIC timer ticks, with interrupts; 0 = the one below */
    /* out */
    enum guest_end end;
    struct trap_frame frame; /* registers at the end; the fault's frame with GUEST_FAULTED */
    uint64_t result;         /* what the workload left in rax, with GUEST_RETURNED */
    uint32_t faults, syscalls, interrupts_taken; /* handled on the way */
    /*
     * Called for every trap out of the workload before it is handled (may be NULL): vector,
     * frame as pushed. The step oracle and the skid checks listen here.
     */
    void (*on_trap)(struct guest_run *run, struct trap_frame *frame);
    void *listener;
};

/* In place of a ring: compatibility mode in ring 3, below 1 MiB (guest_open_low). */
#define GUEST_COMPAT 0x13

#define GUEST_VECTORS     18
#define GUEST_DATA_PAGES  3
#define GUEST_STACK_PAGES 8
#define GUEST_MADE_PAGES  4 /* for code made at run time */

/*
 * The guest region appears twice, laid out alike: in the user window for ring 3 and in the
 * last 64 MiB of the kernel window for ring 0 (1 MiB for each processor).
 *   code (read-only, executable) | data pages, the last never present |
 *   ring 3: guard, stack, guard, code made at run time
 */
#define GUEST_USER_BASE   USER_WINDOW
#define GUEST_KERNEL_BASE (KERNEL_WINDOW + WINDOW_BYTES - (64ull << 20))

/*
 * Builds both views, the user one in a fresh address space sharing the kernel's mappings.
 * Once per check; guest_close frees everything.
 */
struct guest {
    struct address_space space;
    uint64_t stack_top;              /* ring-3 stack, linear */
    uint64_t data;                   /* linear address of the data page (rdi) */
    struct guest_place user, kernel; /* places for ring 3 and ring 0 */
    struct guest_place low;          /* all 0 until guest_open_low */
    uint64_t kernel_data;            /* the same pages, for ring 0 */
    struct trap_slot saved[GUEST_VECTORS];
    struct guest_run *run;            /* in progress, else NULL */
    uint8_t *pages[GUEST_DATA_PAGES]; /* by DATA_ offset; identity addresses */
    uint8_t *stack[GUEST_STACK_PAGES];
    uint8_t *made[GUEST_MADE_PAGES]; /* NULL until guest_load */
    uint64_t outer_cr3;
    uint64_t outer_fast[3];    /* SYSENTER's MSRs */
    bool installed;            /* saved[] is valid */
    bool timer_asked;          /* the timer was started by SERVICE_TIMER */
    bool nmi_asked;            /* nmi_saved is valid */
    volatile bool nmi_waiting; /* the first NMI of SERVICE_NMI has not come yet */
    struct trap_slot nmi_saved;
    void *nmi_return[5]; /* __builtin_setjmp's */
};
bool guest_open(struct guest *g); /* false: page pool empty; loads the guest's CR3 */
void guest_close(struct guest *g);
/* The view for GUEST_COMPAT. False: no memory below 1 MiB, or the page pool is empty. */
bool guest_open_low(struct guest *g);

/* Where code made at run time lies in ring 3; a workload's entry may point there. */
uint64_t guest_made_base(void);
/* Puts count bytes of it at this offset. False: page pool empty. */
bool guest_load(struct guest *g, const uint8_t *bytes, size_t offset, size_t count);

/*
 * Ticks of the APIC timer that ring 3 may run with interrupts on; who knows its rate sets it.
 */
extern uint32_t guest_watchdog_ticks;

/*
 * Resets stack and data pages, then enters the workload: guest_prepare, the call,
 * guest_finish.
 */
enum guest_end guest_run(struct guest *g, struct guest_run *run);

/*
 * The call that a bracket makes between guest_prepare and guest_finish. In ring 0 fn is the
 * workload itself, so that the bracket's CALL is its caller: a bracket saves all callee-saved
 * registers. The value returned goes into guest_finish.
 */
struct guest_call {
    uint64_t (*fn)(void *);
    void *arg;
};
struct guest_call guest_prepare(struct guest *g, struct guest_run *run);
void guest_finish(struct guest *g, struct guest_run *run, uint64_t returned);

/* The view of the region that a run in this ring has, without its argument. */
const struct guest_place *guest_view(const struct guest *g, unsigned ring);

/*
 * The place to resolve edges for, with the argument of the run in mind; for ring 0 the caller
 * fills in caller and back from the bracket in use.
 */
struct guest_place guest_place(const struct guest *g, unsigned ring, uint64_t argument);

#endif
