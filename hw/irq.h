/* SPDX-License-Identifier: BSD-2-Clause */
/* Interrupt flag: save, mask and restore. */
#ifndef HW_IRQ_H
#define HW_IRQ_H

#include <stdint.h>

typedef uint64_t irqflags_t;

#ifdef WAYMARK_HOST
irqflags_t irq_save(void);
void irq_restore(irqflags_t flags);
#else
/* Masks maskable interrupts; returns RFLAGS as it was. */
static inline irqflags_t irq_save(void)
{
    irqflags_t flags;

    __asm__ volatile("pushfq\n\tpopq %0\n\tcli" : "=r"(flags) : : "memory");
    return flags;
}
/* Restores IF (and the other flags) to what irq_save returned. */
static inline void irq_restore(irqflags_t flags)
{
    __asm__ volatile("pushq %0\n\tpopfq" : : "r"(flags) : "memory", "cc");
}
#endif

#endif
