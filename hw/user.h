/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Running code in ring 3, and unwinding out of it.
 * user_run enters ring 3 by the common IRETQ (trap_iretq_address) and comes back only through
 * user_leave, called by a trap handler.
 */
#ifndef HW_USER_H
#define HW_USER_H

#include "hw/trap.h"

#include <stdbool.h>
#include <stdint.h>

/* GDT selectors; laid out for SYSCALL/SYSRET (STAR) and equal to firmware's where shared. */
#define SELECTOR_KERNEL_CS 0x38
#define SELECTOR_KERNEL_SS 0x30
#define SELECTOR_USER_SS   0x4B /* RPL 3 */
#define SELECTOR_USER_CS   0x53 /* RPL 3, 64-bit */

/*
 * Enters ring 3 (or whatever frame->cs says) with the given register frame: all general
 * registers, rip, cs, rflags, rsp, ss are taken from it. Returns the code given to user_leave;
 * *frame then holds the registers at the moment of leaving. IF of the caller is preserved.
 *
 * Not from a handler of a trap out of ring 3: its frame lies at the top of the RSP0 stack,
 * which the next trap would overwrite. A frame for ring 0 must bring an rsp on a kernel stack
 * that nobody uses (hw/cpu.h); the RSP0 stack is one while no ring-3 code runs.
 */
uint64_t user_run(struct trap_frame *frame);

/* From a trap handler: drops the handler's stack, makes the innermost user_run return code. */
_Noreturn void user_leave(struct trap_frame *frame, uint64_t code);

/* A frame ready for ring 3: selectors set, RFLAGS = reserved bit 1 (plus IF when asked). */
void user_frame_init(struct trap_frame *frame, uint64_t rip, uint64_t rsp, bool interrupts);

/*
 * Guarded call: runs fn(arg); returns 0 with *result set, or the code passed to hw_unwind by
 * somebody underneath (a trap handler, an assertion). Nests. Not a C longjmp: callee-saved
 * registers and RFLAGS.IF are put back as they were at the call.
 */
uint64_t hw_try(uint64_t (*fn)(void *), void *arg, uint64_t *result);
_Noreturn void hw_unwind(uint64_t code); /* code != 0; innermost hw_try on this processor */

#endif
