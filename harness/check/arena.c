/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory of the suite for the length of a run. */
#include "harness/check/arena.h"

#include "harness/check/run.h"
#include "hw/string.h"

#include <stdint.h>

static uint8_t *next, *end;

void arena_init(void *memory, size_t bytes)
{
    next = memory;
    end = next + bytes;
}

void *arena_alloc(size_t bytes)
{
    void *memory = next;

    bytes = (bytes + 15) & ~(size_t)15;
    if (bytes > (size_t)(end - next))
        return NULL;
    next += bytes;
    memset(memory, 0, bytes);
    return memory;
}

char *run_text(size_t bytes)
{
    return arena_alloc(bytes);
}
