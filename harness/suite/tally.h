/* SPDX-License-Identifier: BSD-2-Clause */
/* How many checks ended how, and the end of a run that says so. */
#ifndef HARNESS_SUITE_TALLY_H
#define HARNESS_SUITE_TALLY_H

#include "harness/check/verdict.h"

#include <stdint.h>

/* Not finished counts as error: planned = pass + fail + skip + error at every moment. */
struct tally {
    unsigned planned, pass, fail, skip, error;
};
struct tally suite_tally(void);
/* The rule for a whole run: fail, else error, else pass; skip only if nothing passed. */
enum verdict suite_verdict(const struct tally *tally);

/* The end line: a log without it is not a result. */
void suite_print_end(const struct tally *tally, const char *verdict);

/* The fatal path: a fault that no check stands around. */
_Noreturn void suite_abort(const char *check, unsigned vector, uint64_t rip);

#endif
