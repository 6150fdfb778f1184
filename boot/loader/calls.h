/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes code easier to pack: CALL and JMP name their target by the distance to it, which is
 * another number at every place that calls the same function; as an address it is always the
 * same one. What looks like such an instruction and is none comes back unharmed: both
 * directions see the same bytes at the same places.
 */
#ifndef BOOT_LOADER_CALLS_H
#define BOOT_LOADER_CALLS_H

#include <stddef.h>
#include <stdint.h>

#define CALLS_REACH 0x800000u /* distances and addresses of 24 bits, the highest as sign */

/* sign +1: distances become addresses; -1: back. */
static inline void calls_turn(uint8_t *bytes, size_t count, int sign)
{
    for (size_t i = 0; i + 5 <= count; i++) {
        uint32_t value = bytes[i + 1] | bytes[i + 2] << 8 | bytes[i + 3] << 16 |
                         (uint32_t)bytes[i + 4] << 24;

        if ((bytes[i] & 0xFE) != 0xE8)
            continue;
        i += 4; /* also where nothing is turned, or a turn behind it would change what it is */
        if (value + CALLS_REACH >= 2 * CALLS_REACH)
            continue;
        value += sign > 0 ? (uint32_t)i : 0 - (uint32_t)i;
        value = ((value + CALLS_REACH) & (2 * CALLS_REACH - 1)) - CALLS_REACH;
        for (unsigned byte = 0; byte < 4; byte++)
            bytes[i - 3 + byte] = (uint8_t)(value >> 8 * byte);
    }
}

#endif
