/* SPDX-License-Identifier: BSD-2-Clause */
/* What a workload may ask the kernel for, by SYSCALL or INT 0x80 (guest/abi.h). */
#include "guest/abi.h"
#include "guest/region.h"
#include "hw/apic.h"
#include "hw/regs.h"
#include "hw/user.h"

#define WAIT_ROUNDS 1000000u /* bound on an interrupt's way through the local APIC */
#define REFUSED     UINT64_MAX

/* Ring 3 without IF would leave an interrupt pending for whoever enables them next. */
static bool may_interrupt(const struct trap_frame *frame)
{
    return !trap_from_user(frame) || (frame->rflags & RFLAGS_IF);
}

static uint64_t wait_pending(uint8_t vector)
{
    for (unsigned i = 0; i < WAIT_ROUNDS; i++) {
        if (apic_irr_test(vector))
            return 0;
        cpu_pause();
    }
    return REFUSED;
}

static uint64_t send_self(const struct trap_frame *frame)
{
    if (!may_interrupt(frame))
        return REFUSED;
    apic_self_ipi(VECTOR_TEST);
    return wait_pending(VECTOR_TEST);
}

void service_drop_nmi(struct guest *g)
{
    if (!g->nmi_asked)
        return;
    g->nmi_asked = false;
    trap_set(VECTOR_NMI, g->nmi_saved.handler, g->nmi_saved.arg);
}

/*
 * An NMI cannot be kept pending by IF. But while one is being handled the next is held back
 * until an IRET: the first comes while the service waits; its handler sends the second and goes
 * back to the service by a jump instead of an IRET. The IRETQ that ends the service lets the
 * second one in, at the workload.
 */
static bool on_nmi(struct trap_frame *frame, void *arg)
{
    struct guest *g = arg;

    if (events_from_workload(g, frame)) {
        service_drop_nmi(g);
        g->run->interrupts_taken++;
        if (g->run->on_trap)
            g->run->on_trap(g->run, frame);
        return true;
    }
    if (!g->nmi_waiting)
        return false;
    g->nmi_waiting = false;
    apic_self_nmi();
    __builtin_longjmp(g->nmi_return, 1);
}

static uint64_t send_nmi(struct guest *g, const struct trap_frame *frame)
{
    if (frame->vector != VECTOR_SYSCALL_INT || g->nmi_asked)
        return REFUSED;
    g->nmi_saved = trap_set(VECTOR_NMI, on_nmi, g);
    g->nmi_asked = true;
    g->nmi_waiting = true;
    if (__builtin_setjmp(g->nmi_return))
        return 0;
    apic_self_nmi();
    for (unsigned i = 0; i < WAIT_ROUNDS && g->nmi_waiting; i++)
        cpu_pause();
    g->nmi_waiting = false;
    service_drop_nmi(g);
    return REFUSED;
}

static uint64_t start_timer(struct guest *g, const struct trap_frame *frame)
{
    if (!may_interrupt(frame))
        return REFUSED;
    g->timer_asked = true;
    apic_timer_oneshot((uint32_t)frame->rdi);
    return 0;
}

bool service_handle(struct trap_frame *frame, void *arg)
{
    struct guest *g = arg;

    if (!events_from_workload(g, frame))
        return false;
    if (g->run->on_trap)
        g->run->on_trap(g->run, frame);
    g->run->syscalls++;
    switch ((uint32_t)frame->rax) {
    case SERVICE_EXIT:
        if (!g->run->ring)
            return false;
        user_leave(frame, GUEST_RETURNED);
    case SERVICE_NOP:
        frame->rax = frame->rdi + 1;
        return true;
    case SERVICE_SELF:
        frame->rax = send_self(frame);
        return true;
    case SERVICE_NMI:
        frame->rax = send_nmi(g, frame);
        return true;
    case SERVICE_TIMER:
        frame->rax = start_timer(g, frame);
        return true;
    case SERVICE_TIMER_PENDING:
        frame->rax = start_timer(g, frame);
        if (frame->rax != REFUSED)
            frame->rax = wait_pending(VECTOR_TIMER);
        return true;
    default:
        if (g->run->ring)
            user_leave(frame, GUEST_FAULTED);
        return false;
    }
}
