/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory of the suite for the length of a run: handed out in order, never given back. */
#ifndef HARNESS_CHECK_ARENA_H
#define HARNESS_CHECK_ARENA_H

#include <stddef.h>

void arena_init(void *memory, size_t bytes);
/* Zeroed, aligned to 16; NULL when there is no room. */
void *arena_alloc(size_t bytes);

#endif
