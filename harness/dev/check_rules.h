/* SPDX-License-Identifier: BSD-2-Clause */
/* What declarations of checks must keep for the image to be built. */
#ifndef HARNESS_DEV_CHECK_RULES_H
#define HARNESS_DEV_CHECK_RULES_H

#include "harness/check/check.h"

/* Says each broken rule in one line; returns how many there were. */
unsigned check_rules(const struct check *const *checks, size_t count,
                     void (*wrong)(const struct check *check, const char *text));

#endif
