/* SPDX-License-Identifier: BSD-2-Clause */
/* The fingerprint: named observations of what this processor does where the manual is open. */
#ifndef HARNESS_CHECK_OBSERVE_H
#define HARNESS_CHECK_OBSERVE_H

#include <stdbool.h>
#include <stddef.h>

#define OBSERVATION_VALUE_BYTES 96

struct observation {
    char name[64];
    char value[OBSERVATION_VALUE_BYTES];
};

/* A later value for the same name replaces the earlier one. False when the table is full. */
bool observe_add(const char *name, const char *value);
size_t observe_count(void);
const struct observation *observe_at(size_t index);
/* NULL when nothing was observed under that name. */
const char *observe_get(const char *name);

/* Empties the table. */
void observe_forget(void);

#endif
