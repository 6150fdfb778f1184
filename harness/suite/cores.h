/* SPDX-License-Identifier: BSD-2-Clause */
/* The processors that took part, each with its APIC id and kind of core. */
#ifndef HARNESS_SUITE_CORES_H
#define HARNESS_SUITE_CORES_H

#include "harness/suite/json.h"
#include "hw/core.h"

#include <stddef.h>

/* On the taken-over machine: who is here; the first time alone, and one line about it. */
void cores_note(void);

/* By the index of the processor, 0 is the one that booted; as many as were noted. */
size_t cores_count(void);
const struct core *cores_at(size_t index);

/* The member "processors" of report.json. */
void cores_json(struct json *j);

#endif
