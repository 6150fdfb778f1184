/* SPDX-License-Identifier: BSD-2-Clause */
/* Which memory below 1 MiB is ours. */
#include "hw/low_memory.h"

static uint8_t *block;

void low_init(void *memory)
{
    block = memory;
}

uint8_t *low_memory(void)
{
    return block;
}
