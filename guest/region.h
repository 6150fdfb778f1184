/* SPDX-License-Identifier: BSD-2-Clause */
/* The guest region's own symbols, and how guest/'s files share the work on a struct guest. */
#ifndef GUEST_REGION_H
#define GUEST_REGION_H

#include "guest/run.h"

#include <stdbool.h>
#include <stdint.h>

/* Where a ring-3 workload's RET goes, and the SYSCALL that leaves; guest/workloads.asm. */
extern const uint8_t guest_exit[], guest_exit_syscall[];
/* Behind the call gate and behind SYSENTER; guest/rings.asm, fast.asm. */
extern const uint8_t guest_gate[], guest_fast[];

/* guest/env.c: the three data pages and the stack as they are before a run. */
void env_reset(struct guest *g, uint64_t argument);
/* Gives the data page at this DATA_ offset to both rings, writable. */
void env_open_page(struct guest *g, unsigned offset);

/* guest/events.c: handlers of the exceptions and interrupts that workloads cause. */
void events_install(struct guest *g);
void events_remove(struct guest *g);
/* Whether the frame was pushed by the workload that runs. */
bool events_from_workload(const struct guest *g, const struct trap_frame *frame);
void events_arm_watchdog(struct guest *g);

/* guest/service.c: the handler of SYSCALL and INT 0x80; arg = struct guest. */
bool service_handle(struct trap_frame *frame, void *arg);
/* Puts the NMI handler back if an NMI that was asked for never came. */
void service_drop_nmi(struct guest *g);

#endif
