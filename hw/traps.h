/* SPDX-License-Identifier: BSD-2-Clause */
/* What the entry code calls and lays out; for hw's own files only. */
#ifndef HW_TRAPS_H
#define HW_TRAPS_H

#include "hw/trap.h"

#include <stdbool.h>
#include <stdint.h>

/* From hw/entry.asm. True: leave without IRETQ (the frame goes back into an NMI handler). */
bool trap_dispatch(struct trap_frame *frame);

/* From hw/syscall.asm. True: leave by SYSRETQ. */
bool trap_syscall(struct trap_frame *frame);

/* One SYSCALL entry of this size per processor index, and the words it uses. */
#define SYSCALL_ENTRY_BYTES 32
struct syscall_stack {
    uint64_t top;        /* where the entry puts RSP */
    uint64_t caller_rsp; /* written by the entry */
};
extern const uint8_t syscall_entries[] __attribute__((visibility("hidden")));
extern struct syscall_stack syscall_stacks[] __attribute__((visibility("hidden")));

#endif
