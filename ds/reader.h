/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads a copy of a BTS buffer, in either layout, without trusting a byte of it. Where the
 * driver reads its own live buffer, this reads what somebody else left: a snapshot, a file.
 */
#ifndef DS_READER_H
#define DS_READER_H

#include "ds/layout.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reader {
    const struct ds_layout *layout;
    const uint8_t *bytes; /* first record */
    size_t slots;         /* whole records in the buffer */
    size_t next;          /* slot the processor would write next, 0..slots */
    size_t first;         /* oldest slot */
    size_t count;         /* records to read */
};

/*
 * Describes length bytes at bytes, of which index is the offset of the next record. A part of a
 * record at the end is left out. False when index is no record boundary inside. wrapped says
 * that the slots from index on hold the older half.
 */
bool reader_open(struct reader *reader, const struct ds_layout *layout, const void *bytes,
                 size_t length, size_t index, bool wrapped);

/* Record i of 0..count-1, counted from the oldest or from the newest; false past the end. */
bool reader_oldest(const struct reader *reader, size_t i, struct bts_record *record);
bool reader_newest(const struct reader *reader, size_t i, struct bts_record *record);

#endif
