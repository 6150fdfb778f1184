/* SPDX-License-Identifier: BSD-2-Clause */
/* Coverage: which clauses a finished check of this run has decided. */
#ifndef HARNESS_SUITE_CLAUSES_H
#define HARNESS_SUITE_CLAUSES_H

#include "harness/check/check.h"

#include <stdbool.h>

struct coverage {
    unsigned covered, total;
};

/* Counts the clauses of one class named by a check that passed or failed in this run. */
struct coverage coverage_of(enum check_kind kind);
/* Whether a blank-separated list of clause ids has this one. */
bool clauses_name(const char *list, const char *id);

#endif
