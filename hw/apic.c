/* SPDX-License-Identifier: BSD-2-Clause */
/* Local APIC access in xAPIC and x2APIC mode. */
#include "hw/apic.h"

#include "hw/cpuid.h"
#include "hw/irq.h"
#include "hw/msr.h"
#include "hw/regs.h"
#include "hw/trap.h"

#define ICR_DELIVERY_NMI    0x00000400u
#define ICR_DELIVERY_STATUS 0x00001000u /* xAPIC only: the previous send is pending */
#define ICR_ASSERT          0x00004000u
#define ICR_SELF            0x00040000u /* shorthand; fixed delivery only */
#define ICR_WAIT_READS      100000u

#define TIMER_DIVIDE_BY_16 0x3u

/*
 * Asked at every access: processors change mode one after the other, and the one that booted
 * goes back to firmware's mode while the others stay in ours. Where the page is is asked along.
 */
static enum apic_mode mode_at(volatile uint8_t **page)
{
    uint64_t base = msr_read(MSR_IA32_APIC_BASE);

    *page = (volatile uint8_t *)(base & APIC_BASE_ADDRESS);
    if (!(base & APIC_BASE_EN))
        return APIC_OFF;
    return base & APIC_BASE_EXTD ? APIC_X2APIC : APIC_XAPIC;
}

enum apic_mode apic_mode(void)
{
    volatile uint8_t *page;

    return mode_at(&page);
}

bool apic_enter_x2apic(void)
{
    uint64_t base = msr_read(MSR_IA32_APIC_BASE);

    if (!cpu_has_x2apic() || !(base & APIC_BASE_EN))
        return false;
    msr_write(MSR_IA32_APIC_BASE, base | APIC_BASE_EXTD);
    return apic_mode() == APIC_X2APIC;
}

void apic_leave_x2apic(void)
{
    uint64_t base = msr_read(MSR_IA32_APIC_BASE);

    msr_write(MSR_IA32_APIC_BASE, base & ~(APIC_BASE_EN | APIC_BASE_EXTD));
    msr_write(MSR_IA32_APIC_BASE, (base & ~APIC_BASE_EXTD) | APIC_BASE_EN);
}

static uint32_t x2apic_msr(enum apic_register reg)
{
    return MSR_X2APIC_BASE + (uint32_t)reg / 16;
}

/* ICR and ICR_HIGH are one 64-bit MSR in x2APIC mode; its upper half is no register there. */
uint32_t apic_read(enum apic_register reg)
{
    volatile uint8_t *page;

    if (mode_at(&page) != APIC_X2APIC)
        return *(volatile uint32_t *)(page + reg);
    if (reg == APIC_ICR_HIGH)
        return (uint32_t)(msr_read(x2apic_msr(APIC_ICR)) >> 32);
    return (uint32_t)msr_read(x2apic_msr(reg));
}

void apic_write(enum apic_register reg, uint32_t value)
{
    volatile uint8_t *page;

    if (mode_at(&page) != APIC_X2APIC)
        *(volatile uint32_t *)(page + reg) = value;
    else if (reg != APIC_ICR_HIGH)
        msr_write(x2apic_msr(reg), value);
}

uint32_t apic_id(void)
{
    uint32_t id = apic_read(APIC_ID);

    return apic_mode() == APIC_X2APIC ? id : id >> 24;
}

void apic_eoi(void)
{
    apic_write(APIC_EOI, 0);
}

uint32_t apic_lvt_perf_read(void)
{
    return apic_read(APIC_LVT_PERF);
}

void apic_lvt_perf_write(uint32_t value)
{
    apic_write(APIC_LVT_PERF, value);
}

/* IF = 0 between the two xAPIC writes: a handler that sends as well would redirect this one. */
static void send(uint32_t destination, uint32_t command)
{
    irqflags_t flags;

    if (apic_mode() == APIC_X2APIC) {
        msr_write(x2apic_msr(APIC_ICR), (uint64_t)destination << 32 | command);
        return;
    }
    for (unsigned i = 0; i < ICR_WAIT_READS; i++) {
        if (!(apic_read(APIC_ICR) & ICR_DELIVERY_STATUS))
            break;
        cpu_pause();
    }
    flags = irq_save();
    apic_write(APIC_ICR_HIGH, destination << 24);
    apic_write(APIC_ICR, command);
    irq_restore(flags);
}

void apic_self_ipi(uint8_t vector)
{
    send(0, ICR_SELF | ICR_ASSERT | vector);
}

/* The self shorthand is not valid with NMI delivery: name the processor. */
void apic_self_nmi(void)
{
    apic_send_nmi(apic_id());
}

void apic_send_ipi(uint32_t destination, uint8_t vector)
{
    send(destination, ICR_ASSERT | vector);
}

void apic_send_nmi(uint32_t destination)
{
    send(destination, ICR_ASSERT | ICR_DELIVERY_NMI);
}

/* IRR and ISR: eight registers of 32 vectors, 16 bytes apart. */
static bool vector_bit(enum apic_register first, uint8_t vector)
{
    return apic_read(first + vector / 32 * 16) >> vector % 32 & 1;
}

bool apic_irr_test(uint8_t vector)
{
    return vector_bit(APIC_IRR, vector);
}

bool apic_isr_test(uint8_t vector)
{
    return vector_bit(APIC_ISR, vector);
}

void apic_timer_oneshot_on(uint8_t vector, uint32_t count)
{
    apic_write(APIC_TIMER_DIVIDE, TIMER_DIVIDE_BY_16);
    apic_write(APIC_LVT_TIMER, vector | (count == 0 ? LVT_MASKED : 0));
    apic_write(APIC_TIMER_INITIAL, count);
}

void apic_timer_oneshot(uint32_t count)
{
    apic_timer_oneshot_on(VECTOR_TIMER, count);
}

void apic_timer_stop(void)
{
    apic_timer_oneshot(0);
    if (apic_irr_test(VECTOR_TIMER))
        __asm__ volatile("sti\n\tnop\n\tcli" ::: "memory");
}
