/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Binary data that grows.
 */
#include "harness/wtr/core/bytes.h"

#include "harness/wtr/core/util.h"

#include <stdlib.h>
#include <string.h>

void put_bytes(struct bytes *to, const void *bytes, size_t count)
{
    while (to->room - to->count < count) {
        size_t room = to->room ? to->room * 2 : 4096;
        uint8_t *wider = realloc(to->at, room);

        if (!wider) {
            complain("out of memory: the export needs more than this machine has");
            exit(STATUS_BAD);
        }
        to->at = wider;
        to->room = room;
    }
    if (count)
        memcpy(to->at + to->count, bytes, count);
    to->count += count;
}

void put_u16(struct bytes *to, uint16_t value)
{
    put_bytes(to, &value, sizeof value);
}

void put_u32(struct bytes *to, uint32_t value)
{
    put_bytes(to, &value, sizeof value);
}

void put_u64(struct bytes *to, uint64_t value)
{
    put_bytes(to, &value, sizeof value);
}

void put_number(struct bytes *to, uint64_t value)
{
    uint8_t room[10], *at = room;

    for (; value > 0x7F; value >>= 7)
        *at++ = (uint8_t)(value | 0x80);
    *at++ = (uint8_t)value;
    put_bytes(to, room, (size_t)(at - room));
}
