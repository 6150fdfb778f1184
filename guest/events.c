/* SPDX-License-Identifier: BSD-2-Clause */
/* What happens to a workload that raises an exception or is interrupted. */
#include "guest/abi.h"
#include "guest/region.h"
#include "hw/apic.h"
#include "hw/regs.h"
#include "hw/user.h"

#define PF_WRITE (1u << 1) /* page-fault error code: the access was a write */

uint32_t guest_watchdog_ticks = 100000000;

bool events_from_workload(const struct guest *g, const struct trap_frame *frame)
{
    if (!g->run)
        return false;
    if (g->run->ring && trap_from_user(frame))
        return true;
    /* SYSCALL out of ring 1 or 2 looks like one of ring 0. */
    return g->run->ring != 3 && !trap_from_user(frame) &&
           frame->rip - g->kernel.low < g->kernel.high - g->kernel.low;
}

/* Software emulation lets a branch to a non-canonical address go before its #GP. */
static bool branch_left_canonical(const struct guest *g, const struct trap_frame *frame)
{
    return g->run && frame->vector == VECTOR_GP &&
           (uint64_t)((int64_t)(frame->rip << 16) >> 16) != frame->rip;
}

static void tell(struct guest *g, struct trap_frame *frame)
{
    if (g->run->on_trap)
        g->run->on_trap(g->run, frame);
}

static bool resume_elsewhere(struct guest *g, struct trap_frame *frame)
{
    const struct guest_place *place = guest_view(g, g->run->ring);
    uint64_t offset = (uint32_t)frame->rbp;
    bool made = g->run->ring && frame->r15 - guest_made_base() < GUEST_MADE_PAGES * PAGE_BYTES;

    if (g->run->ring == GUEST_COMPAT) {
        if (offset >= place->data - place->low)
            user_leave(frame, GUEST_FAULTED);
        frame->rip = offset;
        g->run->faults++;
        return true;
    }
    if (frame->r15 - place->low >= place->data - place->low && !made) {
        if (g->run->ring)
            user_leave(frame, GUEST_FAULTED);
        return false;
    }
    frame->rip = frame->r15;
    g->run->faults++;
    return true;
}

static bool on_fault(struct trap_frame *frame, void *arg)
{
    struct guest *g = arg;

    if (!events_from_workload(g, frame) && !branch_left_canonical(g, frame))
        return false;
    tell(g, frame);
    return resume_elsewhere(g, frame);
}

static bool on_page_fault(struct trap_frame *frame, void *arg)
{
    struct guest *g = arg;
    uint64_t address = cr2_read();
    unsigned page;

    if (!events_from_workload(g, frame))
        return false;
    tell(g, frame);
    address -= guest_view(g, g->run->ring)->data;
    page = address < DATA_BYTES ? (unsigned)(address & ~(PAGE_BYTES - 1)) : 0;
    if (page == DATA_DEMAND || (page == DATA_READ_ONLY && (frame->error & PF_WRITE))) {
        env_open_page(g, page);
        g->run->faults++;
        return true;
    }
    if (page == DATA_NEVER)
        return resume_elsewhere(g, frame);
    if (g->run->ring)
        user_leave(frame, GUEST_FAULTED);
    return false;
}

/* A workload that set TF itself; the oracle has a handler of its own. */
static bool on_step(struct trap_frame *frame, void *arg)
{
    struct guest *g = arg;

    if (!events_from_workload(g, frame))
        return false;
    tell(g, frame);
    dr6_write(dr6_read() & ~DR6_BS);
    frame->rflags &= ~RFLAGS_TF;
    g->run->faults++;
    return true;
}

static bool on_interrupt(struct trap_frame *frame, void *arg)
{
    struct guest *g = arg;

    if (!events_from_workload(g, frame))
        return false;
    tell(g, frame);
    g->run->interrupts_taken++;
    return true;
}

void events_arm_watchdog(struct guest *g)
{
    if (g->run->ring && g->run->interrupts)
        apic_timer_oneshot(g->run->budget_ticks ? g->run->budget_ticks : guest_watchdog_ticks);
}

static bool on_timer(struct trap_frame *frame, void *arg)
{
    struct guest *g = arg;

    /* Nobody asked, and the watchdog still counts: one of before, that had to wait for IF. */
    if (!g->timer_asked && events_from_workload(g, frame) && apic_read(APIC_TIMER_CURRENT) != 0)
        return true;
    if (!on_interrupt(frame, g))
        return false;
    if (g->timer_asked) {
        g->timer_asked = false;
        events_arm_watchdog(g);
    } else if (g->run->ring) {
        user_leave(frame, GUEST_BUDGET);
    }
    return true;
}

static const struct {
    unsigned vector;
    trap_handler handler;
} handlers[GUEST_VECTORS] = {
    {VECTOR_DE, on_fault},
    {VECTOR_DB, on_step},
    {VECTOR_BP, on_fault},
    {VECTOR_OF, on_fault},
    {VECTOR_BR, on_fault},
    {VECTOR_UD, on_fault},
    {VECTOR_NM, on_fault},
    {VECTOR_TS, on_fault},
    {VECTOR_NP, on_fault},
    {VECTOR_SS, on_fault},
    {VECTOR_GP, on_fault},
    {VECTOR_PF, on_page_fault},
    {VECTOR_MF, on_fault},
    {VECTOR_AC, on_fault},
    {VECTOR_SYSCALL_INT, service_handle},
    {TRAP_SYSCALL, service_handle},
    {VECTOR_TIMER, on_timer},
    {VECTOR_TEST, on_interrupt},
};

void events_install(struct guest *g)
{
    for (unsigned i = 0; i < GUEST_VECTORS; i++)
        g->saved[i] = trap_set(handlers[i].vector, handlers[i].handler, g);
    g->installed = true;
}

void events_remove(struct guest *g)
{
    service_drop_nmi(g);
    if (!g->installed)
        return;
    for (unsigned i = 0; i < GUEST_VECTORS; i++)
        trap_set(handlers[i].vector, g->saved[i].handler, g->saved[i].arg);
    g->installed = false;
}
