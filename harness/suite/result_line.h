/* SPDX-License-Identifier: BSD-2-Clause */
/* The line that says how a check ended. */
#ifndef HARNESS_SUITE_RESULT_LINE_H
#define HARNESS_SUITE_RESULT_LINE_H

#include "harness/suite/registry.h"

/* Of a finished entry; and the same for LAVA, where that is asked for. */
void result_print(const struct result *result);

#endif
