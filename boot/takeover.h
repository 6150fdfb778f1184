/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Taking the processor over from the firmware and handing it back. Between the two no boot
 * service may be called: raising or restoring the task priority would set IF.
 */
#ifndef BOOT_TAKEOVER_H
#define BOOT_TAKEOVER_H

#include "hw/cpu.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Runs fn(arg) on the processor's main kernel stack, with the kernel's tables and cr3, IF = 0
 * and the firmware's interrupt sources masked; returns its value with everything as it was.
 * Not reentrant on one processor; other processors may be taken over at the same time.
 */
uint64_t takeover_run(struct cpu *cpu, uint64_t cr3, uint64_t (*fn)(void *), void *arg);

/*
 * From the next take-over on the local APIC is in x2APIC mode while the machine is ours, where
 * the processor enumerates it; firmware gets back the mode it had.
 */
void takeover_use_x2apic(bool use);

/* True between take-over and hand-back. */
bool takeover_active(void);

/* Resets the machine by a fault without an IDT. */
_Noreturn void takeover_triple_fault(void);

#endif
