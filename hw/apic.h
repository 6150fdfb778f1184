/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Local APIC: xAPIC (memory) and x2APIC (MSRs) behind one interface.
 * Source: SDM Vol. 3, "Advanced Programmable Interrupt Controller (APIC)", "Local Vector
 * Table".
 */
#ifndef HW_APIC_H
#define HW_APIC_H

#include <stdbool.h>
#include <stdint.h>

/* Register offsets in the xAPIC page; x2APIC uses offset / 16. */
enum apic_register {
    APIC_ID = 0x020,
    APIC_VERSION = 0x030,
    APIC_TPR = 0x080,
    APIC_EOI = 0x0B0,
    APIC_LDR = 0x0D0, /* logical destination; read-only in x2APIC mode */
    APIC_DFR = 0x0E0, /* destination format; absent in x2APIC mode */
    APIC_SVR = 0x0F0,
    APIC_ISR = 0x100,
    APIC_IRR = 0x200,
    APIC_ESR = 0x280,
    APIC_LVT_CMCI = 0x2F0,
    APIC_ICR = 0x300,
    APIC_ICR_HIGH = 0x310,
    APIC_LVT_TIMER = 0x320,
    APIC_LVT_THERMAL = 0x330,
    APIC_LVT_PERF = 0x340,
    APIC_LVT_LINT0 = 0x350,
    APIC_LVT_LINT1 = 0x360,
    APIC_LVT_ERROR = 0x370,
    APIC_TIMER_INITIAL = 0x380,
    APIC_TIMER_CURRENT = 0x390,
    APIC_TIMER_DIVIDE = 0x3E0,
};

#define LVT_VECTOR_MASK     0x000000FFu
#define LVT_DELIVERY_MASK   0x00000700u
#define LVT_DELIVERY_FIXED  0x00000000u
#define LVT_DELIVERY_SMI    0x00000200u
#define LVT_DELIVERY_NMI    0x00000400u
#define LVT_DELIVERY_STATUS 0x00001000u /* RO: send pending */
#define LVT_MASKED          0x00010000u
#define LVT_TIMER_PERIODIC  0x00020000u

enum apic_mode { APIC_OFF, APIC_XAPIC, APIC_X2APIC };

enum apic_mode apic_mode(void); /* as IA32_APIC_BASE says now */
/* Switches to x2APIC where enumerated; false and no change where not. */
bool apic_enter_x2apic(void);
/*
 * Back to xAPIC, by way of disabled: there is no direct transition. Every register but the ID
 * is then as after a reset. SDM Vol. 3, "x2APIC State Transitions".
 */
void apic_leave_x2apic(void);

uint32_t apic_read(enum apic_register reg);
void apic_write(enum apic_register reg, uint32_t value);
uint32_t apic_id(void);
void apic_eoi(void);

uint32_t apic_lvt_perf_read(void);
void apic_lvt_perf_write(uint32_t value);

/* ICR sends; each waits (bounded) for the delivery status of the previous one. */
void apic_self_ipi(uint8_t vector);
void apic_self_nmi(void);
void apic_send_ipi(uint32_t destination, uint8_t vector);
void apic_send_nmi(uint32_t destination);

bool apic_irr_test(uint8_t vector);
bool apic_isr_test(uint8_t vector);

/* One-shot timer on VECTOR_TIMER after count ticks of the bus clock / 16; 0 stops it. */
void apic_timer_oneshot(uint32_t count);
/*
 * IF = 0. Stops it, and takes an interrupt that came while IF was 0: the next who lets
 * interrupts in would have it for its own. Whatever handler is there sees it, in ring 0.
 */
void apic_timer_stop(void);
void apic_timer_oneshot_on(uint8_t vector, uint32_t count); /* the same on another vector */

#endif
