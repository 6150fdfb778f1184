/* SPDX-License-Identifier: BSD-2-Clause */
/* Unpacking one LZ4 block. Source: "LZ4 Block Format Description" of the LZ4 project. */
#ifndef BOOT_LOADER_LZ4_H
#define BOOT_LOADER_LZ4_H

#include <stddef.h>
#include <stdint.h>

/*
 * Unpacks `from` into at most `room` bytes. Returns how many bytes came out, 0 when the block
 * is damaged or does not fit: nothing outside the two buffers is touched either way.
 */
size_t lz4_unpack(const uint8_t *from, size_t bytes, uint8_t *to, size_t room);

#endif
