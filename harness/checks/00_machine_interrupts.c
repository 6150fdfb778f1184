/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Interrupts and NMIs: delivered once, at the right place, and over when they are over.
 *
 * Claim: an interrupt waits for IF and then arrives exactly once; its in-service bit is gone
 *   afterwards; an NMI arrives in either ring, blocks the next one until IRET, and a handler
 *   that never returns does not block NMIs for good.
 * Source: SDM Vol. 3, "Handling Multiple NMIs", "Interrupt Acceptance for Fixed Interrupts".
 * How: self-IPIs and self-NMIs with counting handlers; waits are bounded by a count.
 * Wrong if: another source sends an NMI meanwhile (a watchdog); the counts would show it.
 */
#define CHECK_GROUP "00 hw"
#include "harness/check/check.h"
#include "harness/fixture/ring3.h"

#include "hw/apic.h"
#include "hw/cpu.h"
#include "hw/msr.h"
#include "hw/regs.h"
#include "hw/user.h"

#define PATIENCE 1000000u /* PAUSEs; delivery takes a few at most */

static bool wait_for(const volatile unsigned *count, unsigned want)
{
    for (unsigned i = 0; i < PATIENCE && *count < want; i++)
        cpu_pause();
    return *count >= want;
}

/* Long enough for one more delivery to show. */
static void linger(void)
{
    for (unsigned i = 0; i < 1000; i++)
        cpu_pause();
}

CHECK("hw.irq.ring0", SOFTWARE, "", NEED_NOTHING)
{
    struct trap_seen seen = {0};
    struct trap_slot before = trap_set(VECTOR_TEST, trap_note, &seen);

    apic_self_ipi(VECTOR_TEST);
    linger();
    EXPECT_EQ(run, seen.count, 0, "interrupts with IF = 0");
    EXPECT(run, apic_irr_test(VECTOR_TEST), "the vector is not pending in IRR");
    __asm__ volatile("sti");
    wait_for(&seen.count, 1);
    linger();
    __asm__ volatile("cli");
    trap_set(VECTOR_TEST, before.handler, before.arg);
    EXPECT_EQ(run, seen.count, 1, "interrupts with IF = 1");
    EXPECT_EQ(run, seen.frame.cs, SELECTOR_KERNEL_CS, "CS");
    EXPECT(run, !apic_isr_test(VECTOR_TEST), "the vector is still in service");
    EXPECT(run, !apic_irr_test(VECTOR_TEST), "the vector is still pending");
}

/* Pending before ring 3 is entered, so it arrives before the first instruction there. */
CHECK("hw.irq.ring3", SOFTWARE, "", NEED_NOTHING)
{
    struct trap_seen seen = {0};
    struct trap_frame frame = ring3_frame(ring3_spin, true);
    struct trap_slot before;
    struct ring3 r;

    NEED(run, ring3_open(&r), "page pool empty");
    frame.rcx = 1000;
    before = trap_set(VECTOR_TEST, trap_note, &seen);
    apic_self_ipi(VECTOR_TEST);
    user_run(&frame);
    trap_set(VECTOR_TEST, before.handler, before.arg);
    EXPECT_EQ(run, seen.count, 1, "interrupts");
    EXPECT_EQ(run, seen.frame.cs, SELECTOR_USER_CS, "CS");
    EXPECT(run,
           seen.frame.rip >= ring3_address(ring3_spin) &&
               seen.frame.rip <= ring3_address(ring3_spin_end),
           "RIP %lx is outside the loop", seen.frame.rip);
    EXPECT_EQ(run, frame.rcx, 0, "turns of the loop left");
    EXPECT(run, !apic_isr_test(VECTOR_TEST), "the vector is still in service");
    ring3_close(&r);
}

CHECK("hw.irq.timer", SOFTWARE, "", NEED_NOTHING)
{
    struct trap_seen seen = {.resume_at = ring3_address(ring3_spin_end)};
    struct trap_frame frame = ring3_frame(ring3_spin, true);
    struct trap_slot before;
    struct ring3 r;

    NEED(run, ring3_open(&r), "page pool empty");
    frame.rcx = 1000ull * PATIENCE;
    before = trap_set(VECTOR_TIMER, trap_note, &seen);
    apic_timer_oneshot(1000);
    user_run(&frame);
    trap_set(VECTOR_TIMER, before.handler, before.arg);
    apic_timer_stop();
    EXPECT_EQ(run, seen.count, 1, "timer interrupts");
    EXPECT(run, frame.rcx != 0, "the loop ran to its end");
    ring3_close(&r);
}

CHECK("hw.irq.stray", SOFTWARE, "", NEED_NOTHING)
{
    uint64_t strays = trap_stray_count();

    NEED(run, !trap_get(VECTOR_TEST).handler, "somebody handles the test vector");
    apic_self_ipi(VECTOR_TEST);
    __asm__ volatile("sti");
    for (unsigned i = 0; i < PATIENCE && trap_stray_count() == strays; i++)
        cpu_pause();
    __asm__ volatile("cli");
    EXPECT_EQ(run, trap_stray_count() - strays, 1, "stray interrupts counted");
    EXPECT(run, !apic_isr_test(VECTOR_TEST), "the vector is still in service");
}

/* INT n on an interrupt's vector is no interrupt: nothing is in service, nobody is stray. */
static bool software_interrupt_inside(struct trap_frame *frame, void *arg)
{
    struct trap_seen *seen = arg;

    trap_note(frame, seen);
    if (seen->count == 1)
        __asm__ volatile("int %0" : : "i"(VECTOR_TEST));
    return true;
}

CHECK("hw.irq.software_interrupt", SOFTWARE, "", NEED_NOTHING)
{
    struct trap_seen seen = {0};
    struct trap_slot before = trap_set(VECTOR_TEST, software_interrupt_inside, &seen);
    uint64_t strays = trap_stray_count();

    __asm__ volatile("int %0" : : "i"(VECTOR_TEST));
    trap_set(VECTOR_TEST, before.handler, before.arg);
    EXPECT_EQ(run, seen.count, 2, "handler calls, one nested in the other");
    EXPECT_EQ(run, trap_stray_count(), strays, "stray interrupts");
    EXPECT(run, !cpu_this()->frame, "a trap is still in progress");
}

CHECK("hw.nmi.ring0", SOFTWARE, "", NEED_NOTHING)
{
    struct trap_seen seen = {0};
    struct trap_slot before = trap_set(VECTOR_NMI, trap_note, &seen);
    uint64_t stack = (uint64_t)cpu_this()->stacks[STACK_NMI];

    for (unsigned i = 1; i <= 3; i++) {
        apic_self_nmi();
        EXPECT(run, wait_for(&seen.count, i), "NMI %u did not arrive", i);
    }
    linger();
    trap_set(VECTOR_NMI, before.handler, before.arg);
    EXPECT_EQ(run, seen.count, 3, "NMIs");
    EXPECT_EQ(run, seen.frame.cs, SELECTOR_KERNEL_CS, "CS");
    EXPECT_EQ(run, seen.at & ~(KERNEL_STACK_BYTES - 1), stack, "the handler's stack");
}

/*
 * An NMI sent by ring 0 arrives in ring 0. So the first one's handler sends the second, which
 * stays blocked, and then returns to ring 3: its IRETQ opens the way.
 */
struct nmi_to_ring3 {
    struct trap_seen seen;
    struct trap_frame ring3;
};

static bool nmi_go_to_ring3(struct trap_frame *frame, void *arg)
{
    struct nmi_to_ring3 *n = arg;

    trap_note(frame, &n->seen);
    if (n->seen.count == 1) {
        apic_self_nmi();
        linger();
        *frame = n->ring3;
    }
    return true;
}

static void send_nmi_and_wait(void)
{
    apic_self_nmi();
    for (unsigned i = 0; i < PATIENCE; i++)
        cpu_pause();
    hw_unwind(1); /* no NMI came */
}

static uint64_t start_in_ring0(void *arg)
{
    struct trap_frame frame;

    (void)arg;
    /* On the RSP0 stack, unused while no ring-3 code runs; 8 below, as after a CALL. */
    user_frame_init(&frame, (uint64_t)send_nmi_and_wait,
                    (uint64_t)cpu_this()->stacks[STACK_RSP0] + KERNEL_STACK_BYTES / 2 - 8,
                    false);
    frame.cs = SELECTOR_KERNEL_CS;
    frame.ss = SELECTOR_KERNEL_SS;
    return user_run(&frame);
}

CHECK("hw.nmi.ring3", SOFTWARE, "", NEED_NOTHING)
{
    struct nmi_to_ring3 n = {.ring3 = ring3_frame(ring3_spin, false)};
    struct trap_slot before;
    struct ring3 r;

    NEED(run, ring3_open(&r), "page pool empty");
    n.ring3.rcx = 10000;
    before = trap_set(VECTOR_NMI, nmi_go_to_ring3, &n);
    EXPECT_EQ(run, hw_try(start_in_ring0, NULL, NULL), 0, "how the run ended");
    trap_set(VECTOR_NMI, before.handler, before.arg);
    EXPECT_EQ(run, n.seen.count, 2, "NMIs");
    EXPECT_EQ(run, n.seen.frame.cs, SELECTOR_USER_CS, "CS of the second");
    EXPECT(run,
           n.seen.frame.rip >= ring3_address(ring3_spin) &&
               n.seen.frame.rip <= ring3_address(ring3_spin_end),
           "RIP %lx is outside the loop", n.seen.frame.rip);
    ring3_close(&r);
}

/*
 * A fault inside the NMI handler: its way back must not be an IRETQ, which would let the next
 * NMI in on top of this one's frame.
 */
static struct {
    volatile unsigned depth, count, nested;
    uint32_t msr; /* one whose bit 63 faults here */
    int vector;
} inside;

static bool nmi_with_fault_inside(struct trap_frame *frame, void *arg)
{
    (void)frame;
    (void)arg;
    inside.count++;
    if (++inside.depth > 1) {
        inside.nested++;
        hw_unwind(VECTOR_NMI); /* the outer frame is gone */
    }
    if (inside.count == 1) {
        apic_self_nmi();
        inside.vector = msr_write_try(inside.msr, 1ull << 63);
        linger();
    }
    inside.depth--;
    return true;
}

static uint64_t nmi_and_linger(void *arg)
{
    (void)arg;
    apic_self_nmi();
    wait_for(&inside.count, 2);
    linger();
    return 0;
}

CHECK("hw.nmi.fault_inside", SOFTWARE, "", NEED_NOTHING)
{
    struct trap_slot before = trap_set(VECTOR_NMI, nmi_with_fault_inside, NULL);

    inside.depth = inside.count = inside.nested = 0;
    inside.vector = 0;
    inside.msr = msr_write_try(MSR_IA32_PKRS, 1ull << 63) ? MSR_IA32_PKRS : MSR_IA32_FS_BASE;
    hw_try(nmi_and_linger, NULL, NULL);
    trap_set(VECTOR_NMI, before.handler, before.arg);
    EXPECT_EQ(run, inside.nested, 0, "NMIs inside the NMI handler");
    EXPECT_EQ(run, (uint64_t)inside.vector, VECTOR_GP, "the fault inside the handler");
    EXPECT_EQ(run, inside.count, 2, "NMIs");
}

static bool nmi_unwind(struct trap_frame *frame, void *seen)
{
    trap_note(frame, seen);
    hw_unwind(VECTOR_NMI);
}

static uint64_t nmi_forever(void *arg)
{
    (void)arg;
    apic_self_nmi();
    for (unsigned i = 0; i < PATIENCE; i++)
        cpu_pause();
    return 0;
}

/* Abandoned handlers: NMIs stay blocked until an IRET, so the unwinding must be one. */
CHECK("hw.nmi.unwound", SOFTWARE, "", NEED_NOTHING)
{
    struct trap_seen seen = {0};
    struct trap_slot before = trap_set(VECTOR_NMI, nmi_unwind, &seen);

    for (unsigned i = 0; i < 3; i++)
        EXPECT_EQ(run, hw_try(nmi_forever, NULL, NULL), VECTOR_NMI, "how the call ended");
    trap_set(VECTOR_NMI, before.handler, before.arg);
    EXPECT_EQ(run, seen.count, 3, "NMIs");
}

static bool nmi_leave(struct trap_frame *frame, void *seen)
{
    trap_note(frame, seen);
    user_leave(frame, VECTOR_NMI);
}

/* The same for user_leave, from an NMI taken in code that user_run entered. */
CHECK("hw.nmi.left", SOFTWARE, "", NEED_NOTHING)
{
    struct trap_seen seen = {0};
    struct trap_slot before = trap_set(VECTOR_NMI, nmi_leave, &seen);
    uint64_t code;

    for (unsigned i = 0; i < 3; i++) {
        EXPECT_EQ(run, hw_try(start_in_ring0, NULL, &code), 0, "how the call ended");
        EXPECT_EQ(run, code, VECTOR_NMI, "the code of user_leave");
    }
    trap_set(VECTOR_NMI, before.handler, before.arg);
    EXPECT_EQ(run, seen.count, 3, "NMIs");
}
