/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Other processors inside a check. Lines and expectations are the check's own: what runs
 * elsewhere hands back a value.
 */
#ifndef HARNESS_COMPANY_H
#define HARNESS_COMPANY_H

#include "harness/run.h"

/* How many other processors wait for work; ends the check as an error when there is none. */
unsigned company_count(struct run *run);

/* The index-th, from 1 on, calls fn(arg) beside this one. */
void company_start(struct run *run, unsigned index, uint64_t (*fn)(void *), void *arg);
/* Waits for its value; ends the check as an error when it never comes. */
uint64_t company_wait(struct run *run, unsigned index);
/* Both. */
uint64_t company_call(struct run *run, unsigned index, uint64_t (*fn)(void *), void *arg);

#endif
