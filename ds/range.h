/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Can the processor store through this range of linear addresses without a fault? It takes
 * none for a DS store: every byte must be canonical, mapped, writable, supervisor, with its
 * accessed and dirty bits set already. Nor may it store where code lies: each store would then
 * look like code that changes itself.
 * Source: SDM Vol. 3, "Setting Up the DS Save Area"; "Canonical Addressing".
 */
#ifndef DS_RANGE_H
#define DS_RANGE_H

#include "ds/layout.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum range_fault {
    RANGE_NOT_CANONICAL,
    RANGE_WRAPS, /* over 2^64, or over 4 GiB in the 32-bit layout */
    RANGE_EDGE,  /* from one canonical half towards the other */
    RANGE_NOT_MAPPED,
    RANGE_USER,
    RANGE_READ_ONLY,
    RANGE_DEVICE,
    RANGE_NOT_DIRTY,
    RANGE_CODE,      /* the processor may be fetching from it */
    RANGE_ELSEWHERE, /* other tables map another frame there */
    RANGE_GOOD,
};

/*
 * Arithmetic alone; bytes > 0. The address just after the range must exist too, because
 * software writes it into the absolute-maximum field.
 */
enum range_fault range_place(const struct ds_layout *layout, uint64_t base, uint64_t bytes);

/*
 * Every page of a well-placed range, under the tables of cr3. When want_dirty is set the
 * accessed and dirty bits are demanded too.
 */
enum range_fault range_pages(uint64_t cr3, uint64_t base, uint64_t bytes, bool want_dirty);

/* Whether both tables map the range to the same frames; false also when one maps it not. */
bool range_same_frames(uint64_t cr3, uint64_t other, uint64_t base, uint64_t bytes);

/* Makes the processor set accessed and dirty bits, by storing what is there already. */
void range_touch(uint64_t base, uint64_t bytes);

/* True when the two ranges share a byte; neither wraps. */
bool range_overlap(uint64_t base, uint64_t bytes, uint64_t other, uint64_t other_bytes);

#endif
