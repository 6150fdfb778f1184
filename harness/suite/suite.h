/* SPDX-License-Identifier: BSD-2-Clause */
/* State of the run that the suite's own files share. */
#ifndef HARNESS_SUITE_SUITE_H
#define HARNESS_SUITE_SUITE_H

#include "harness/check/verdict.h"
#include "harness/suite/harness.h"

#include <stddef.h>
#include <stdint.h>

struct suite {
    const struct platform *platform;
    const struct options *options;
    uint32_t run_id;
    size_t next; /* first check of the registry that no group has reached yet */
};
const struct suite *suite_state(void);

/* Not finished counts as error: planned = pass + fail + skip + error at every moment. */
struct tally {
    unsigned planned, pass, fail, skip, error;
};
struct tally suite_tally(void);
/* The rule for a whole run: fail, else error, else pass; skip only if nothing passed. */
enum verdict suite_verdict(const struct tally *tally);

/* The fatal path: a fault that no check stands around. */
_Noreturn void suite_abort(const char *check, unsigned vector, uint64_t rip);

#endif
