/* SPDX-License-Identifier: BSD-2-Clause */
/* Unpacking one .lzma file. Source: "LZMA specification" and "The .lzma File Format". */
#ifndef BOOT_LOADER_LZMA_H
#define BOOT_LOADER_LZMA_H

#include <stddef.h>
#include <stdint.h>

enum { LZMA_STATES = 12, LZMA_POSITIONS = 16, LZMA_LITERAL_CONTEXTS = 16 };

/* Each number is the chance, of 2048, that the next bit met in that place is 0. */
struct lzma_lengths {
    uint16_t beyond_low, beyond_middle;
    uint16_t low[LZMA_POSITIONS][8], middle[LZMA_POSITIONS][8], high[256];
};

struct lzma_chances {
    uint16_t is_match[LZMA_STATES][LZMA_POSITIONS];
    uint16_t is_repeat[LZMA_STATES], is_older[LZMA_STATES], is_third[LZMA_STATES];
    uint16_t is_fourth[LZMA_STATES], is_long[LZMA_STATES][LZMA_POSITIONS];
    uint16_t slot[4][64], special[128], align[16];
    struct lzma_lengths match, repeat;
    uint16_t literal[LZMA_LITERAL_CONTEXTS][0x300];
};

/*
 * Unpacks `from`, which must end with the end mark, into at most `room` bytes; `chances` is
 * work space (29 KiB) whose contents do not matter. Returns how many bytes came out, 0 when the
 * file is damaged or does not fit: nothing outside the buffers is touched either way.
 */
size_t lzma_unpack(const uint8_t *from, size_t bytes, uint8_t *to, size_t room,
                   struct lzma_chances *chances);

#endif
