/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Asking another processor to do something in its interrupt handler, and waiting for it no
 * longer than a bound: a processor that keeps interrupts off, or is gone, does not take this
 * one along.
 */
#ifndef HW_CROSS_CALL_H
#define HW_CROSS_CALL_H

#include <stdbool.h>
#include <stdint.h>

/* Its arguments travel by value, since a caller that gave up is not there any more. */
typedef uint64_t cross_function(uint64_t a, uint64_t b);

/* How long a caller waits, in ticks of the time-stamp counter. */
#define CROSS_CALL_TICKS (1ull << 34)
extern uint64_t cross_call_ticks;

/*
 * Has processor (an index, perhaps this one) call fn(a, b) with interrupts off; *value is what
 * it returned. False when there is no such processor or it does not answer: fn may then be
 * running still, but will not begin any more. While it waits this processor serves calls to
 * itself, so that two that call each other do not wait for ever. fn makes no cross-call.
 */
bool cross_call(unsigned processor, cross_function *fn, uint64_t a, uint64_t b,
                uint64_t *value);

/*
 * Does what others ask of this processor. By the handler of VECTOR_IPI, and in every loop that
 * waits for another processor with interrupts off.
 */
void cross_call_serve(void);

#endif
