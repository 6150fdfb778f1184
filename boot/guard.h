/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The guard over ring 0: another processor, asleep but for a tick, ends by an NMI what the
 * processor that booted runs when that has not said a line for too long. It watches only while
 * the machine is taken over: firmware must never see such an NMI.
 */
#ifndef BOOT_GUARD_H
#define BOOT_GUARD_H

#include <stdbool.h>
#include <stdint.h>

/* Once: seconds without a line that are too long; 0 = no guard. */
void guard_init(unsigned seconds, uint64_t tsc_khz);

/* Whether the processor of this index is on guard, once the others have come. */
bool guard_is(unsigned index);
/* Goes on guard in the place of nobody; 0 = nobody does any more. */
void guard_post(unsigned index, uint32_t apic_id);

/* On the processor that booted, taken over, IF = 0. Leaving waits (bounded) for the guard. */
void guard_enter(void);
void guard_leave(void);
/* A sign of life: a line was said. */
void guard_beat(void);

/* On the processor on guard, IF = 0: sleeps until an interrupt or a tick, then looks. */
void guard_sleep(void);
/* It has something else to do and watches no longer. */
void guard_rest(void);

#endif
