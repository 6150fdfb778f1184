/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Binary data that grows, for the exports of wtr.
 */
#ifndef HARNESS_WTR_CORE_BYTES_H
#define HARNESS_WTR_CORE_BYTES_H

#include <stddef.h>
#include <stdint.h>

struct bytes {
    uint8_t *at;
    size_t count, room;
};

void put_bytes(struct bytes *to, const void *bytes, size_t count);
void put_u16(struct bytes *to, uint16_t value);
void put_u32(struct bytes *to, uint32_t value);
void put_u64(struct bytes *to, uint64_t value);
void put_number(struct bytes *to, uint64_t value); /* 7 bits a byte, the lowest first */

#endif
