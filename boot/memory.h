/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory from the firmware, allocated once and before the first take-over. */
#ifndef BOOT_MEMORY_H
#define BOOT_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Zeroed pages below 4 GiB where possible, aligned to a power of two of at least 4096. NULL
 * when there is no room. They stay allocated until firmware ends boot services or the image
 * returns through memory_release.
 */
void *memory_pages(size_t bytes, size_t alignment);

/* The same below 1 MiB, page-aligned. */
void *memory_pages_low(size_t bytes);

/*
 * The same, but kept for ever: for what the processor may still refer to after the hand-back.
 */
void *memory_pages_kept(size_t bytes, size_t alignment);

/*
 * Zeroed whole pages of a type that an operating system leaves alone, below 4 GiB, the low ones
 * below 1 MiB; NULL when there is no room. memory_give_back takes them, or whole pages of them.
 */
enum resident_kind { RESIDENT_CODE, RESIDENT_DATA, RESIDENT_LOW };
void *memory_resident(size_t bytes, enum resident_kind kind);
void memory_give_back(void *block, size_t bytes);

/*
 * First byte behind the highest RAM of the memory map, at least 4 GiB, 2 MiB-aligned; 0 when
 * the map cannot be read.
 */
uint64_t memory_top(void);

/* Whether the range has a byte of the image or of anything that was allocated here. */
bool memory_in_use(uint64_t start, uint64_t bytes);

/* Gives back what memory_pages allocated. */
void memory_release(void);

#endif
