/* SPDX-License-Identifier: BSD-2-Clause */
/* report.json and machine.json, built in memory. */
#ifndef HARNESS_SUITE_REPORT_H
#define HARNESS_SUITE_REPORT_H

#include "harness/check/platform.h"

#include <stdbool.h>

/* Reserves the buffers; false when the arena is too small. */
bool report_init(const struct platform *platform);

#endif
