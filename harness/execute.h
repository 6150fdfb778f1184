/* SPDX-License-Identifier: BSD-2-Clause */
/* Executing checks: snapshot, run, restore, verdict, result line. */
#ifndef HARNESS_EXECUTE_H
#define HARNESS_EXECUTE_H

#include <stddef.h>

/* Runs the selected checks of registry entries [first, end), taking over where they need it. */
void execute_range(size_t first, size_t end);

#endif
