/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which addresses are a program's, and what it may do there: ranges in rising order, none
 * touching an equal one. Pure logic; the pages come later, when they are touched.
 */
#ifndef GUEST_MAPPINGS_H
#define GUEST_MAPPINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAPPINGS_MOST 2000 /* ranges; a program that wants more is told that memory is full */

/* As in an ELF file; none of them: reserved, and nothing may be done there. */
struct mapping {
    uint64_t start, end;
    unsigned rights;
};

struct mappings {
    unsigned count;
    struct mapping range[MAPPINGS_MOST + 2]; /* a change in the middle of one needs two more */
};

/* The range that has the address, or NULL. */
const struct mapping *mappings_find(const struct mappings *m, uint64_t address);

/* Whatever was there before. start and end are whole pages. False, and nothing done: full. */
bool mappings_set(struct mappings *m, uint64_t start, uint64_t end, unsigned rights);
bool mappings_clear(struct mappings *m, uint64_t start, uint64_t end);

/* Whether nothing of it is missing; whether nothing of it is there. */
bool mappings_cover(const struct mappings *m, uint64_t start, uint64_t end);
bool mappings_free(const struct mappings *m, uint64_t start, uint64_t end);

/*
 * The lowest address from low on with so many free bytes behind it, all below high; 0 = none.
 */
uint64_t mappings_gap(const struct mappings *m, uint64_t bytes, uint64_t low, uint64_t high);

#endif
