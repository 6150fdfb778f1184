/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A lock between processors that nobody waits for without end: an NMI may have interrupted the
 * holder, and would wait for ever.
 */
#ifndef HW_LOCK_H
#define HW_LOCK_H

#include "hw/irq.h"

#include <stdbool.h>
#include <stdint.h>

/* Far longer than any holder needs, far shorter than anybody notices. */
#define LOCK_TRIES 1000000u

struct lock {
    volatile uint32_t taken;
};

/*
 * Masks interrupts and takes the lock. False, with interrupts as before, when it is not to be
 * had.
 */
static inline bool lock_take(struct lock *lock, irqflags_t *flags)
{
    *flags = irq_save();
    for (uint32_t tries = 0; tries < LOCK_TRIES; tries++) {
        if (!__atomic_exchange_n(&lock->taken, 1, __ATOMIC_ACQUIRE))
            return true;
        __builtin_ia32_pause();
    }
    irq_restore(*flags);
    return false;
}

static inline void lock_release(struct lock *lock, irqflags_t flags)
{
    __atomic_store_n(&lock->taken, 0, __ATOMIC_RELEASE);
    irq_restore(flags);
}

#endif
