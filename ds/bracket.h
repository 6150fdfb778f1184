/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The assembly between two writes of DEBUGCTL. Only the broker and the gate may call it, and
 * with another register harness/counting.
 */
#ifndef DS_BRACKET_H
#define DS_BRACKET_H

#include <stdint.h>

/*
 * WRMSR on, fn(arg), WRMSR off; returns fn's value. msr is the register's number:
 * IA32_DEBUGCTL's, or that of another control that begins something. A WRMSR that faults here
 * is not caught.
 */
uint64_t ds_bracket(uint64_t debugctl_on, uint64_t debugctl_off, uint64_t (*fn)(void *),
                    void *arg, uint32_t msr);

/* The two places outside fn that a trace of ds_bracket shows. */
extern const uint8_t ds_bracket_call[];   /* the CALL: source of the edge to fn */
extern const uint8_t ds_bracket_return[]; /* target of fn's return */

/* WRMSR on, RDMSR, WRMSR off, and no branch in between; returns what was read. */
uint64_t ds_bracket_flip(uint64_t debugctl_on, uint64_t debugctl_off, uint32_t msr);

/* WRMSR on, one JMP, WRMSR off; and where the JMP's record comes from and goes to. */
void ds_bracket_one(uint64_t debugctl_on, uint64_t debugctl_off, uint32_t msr);
extern const uint8_t ds_bracket_one_from[];
extern const uint8_t ds_bracket_one_to[];

#endif
