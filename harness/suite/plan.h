/* SPDX-License-Identifier: BSD-2-Clause */
/* The checks of the plan, one after the other. */
#ifndef HARNESS_SUITE_PLAN_H
#define HARNESS_SUITE_PLAN_H

#include <stddef.h>

/* Runs the selected checks of registry entries [first, end), taking over where they need it. */
void plan_run(size_t first, size_t end);

#endif
