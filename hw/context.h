/* SPDX-License-Identifier: BSD-2-Clause */
/* Kernel contexts that can be abandoned and come back to; hw/context.asm. */
#ifndef HW_CONTEXT_H
#define HW_CONTEXT_H

#include "hw/trap.h"

#include <stdint.h>

struct kernel_context {
    uint64_t rsp;
};

/* Calls fn(arg); returns 0 after it, or the code of a context_resume underneath. */
uint64_t context_run(struct kernel_context *context, void (*fn)(void *), void *arg);

/* Makes the context_run in progress return code (not 0), through the common IRETQ. */
_Noreturn void context_resume(const struct kernel_context *context, uint64_t code);

/* Calls fn(arg) on the stack that ends at top (16-byte aligned). */
uint64_t context_call_on(uint8_t *top, uint64_t (*fn)(void *), void *arg);

/* Loads every register from a copy of the frame; hw/entry.asm. */
_Noreturn void trap_return(const struct trap_frame *frame);

#endif
