/* SPDX-License-Identifier: BSD-2-Clause */
/* Taking a feature away from a stand-in processor for the time of a check. */
#ifndef HARNESS_GATE_H
#define HARNESS_GATE_H

#include "harness/check.h"

#include <stdbool.h>

/*
 * Closes the gate ("no-bts", ...) until the check ends. False where the processor is no
 * stand-in, or none that can lose this feature; nothing has changed then.
 */
bool gate_close(struct run *run, const char *gate);

/* The same, or the check ends as a SKIP that says so. */
void gate_require(struct run *run, const char *gate);

/* Gives PEBS another record format, "0" to "4" or "off", until the check ends; else the same.
 */
bool gate_pebs(struct run *run, const char *format);

#endif
