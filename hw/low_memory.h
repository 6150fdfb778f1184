/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory below 1 MiB, where code of every mode can lie: real mode reaches nothing above it, and
 * 32-bit code nothing above 4 GiB. One block for all users, one after the other.
 */
#ifndef HW_LOW_MEMORY_H
#define HW_LOW_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#define LOW_BYTES (96u << 10)

/* Gives hw the block: page-aligned, identity-mapped, LOW_BYTES; NULL when there is none. */
void low_init(void *memory);
/* The block, or NULL. */
uint8_t *low_memory(void);

#endif
