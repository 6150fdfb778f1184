/* SPDX-License-Identifier: BSD-2-Clause */
/* Executing checks: snapshot, run, restore, verdict, result line. */
#ifndef HARNESS_SUITE_EXECUTE_H
#define HARNESS_SUITE_EXECUTE_H

#include "harness/check/run.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Runs one check on the machine as taken over, between snapshot and restore, and returns its
 * verdict. Nothing is printed but its details, nothing is entered in the registry. Of *run only
 * `again` is looked at before.
 */
enum verdict execute_check(const struct check *check, struct run *run);

/* Once in each take-over, before execute_check: unexpected traps then end the check. */
void execute_ready(void);

/* Calls fn on the taken-over machine; with the others where there are any: one is on guard. */
void execute_take_over(uint64_t (*fn)(void *), void *arg);

/*
 * Calls fn on the taken-over machine, outside of any check; false when a trap or the guard
 * ended it.
 */
bool execute_apart(uint64_t (*fn)(void *), void *arg);

#endif
