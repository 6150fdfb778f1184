/* SPDX-License-Identifier: BSD-2-Clause */
/* Oldest-first and newest-first access to a copied BTS buffer. */
#include "ds/reader.h"

bool reader_open(struct reader *reader, const struct ds_layout *layout, const void *bytes,
                 size_t length, size_t index, bool wrapped)
{
    size_t slots = length / layout->record_bytes;
    size_t next = index / layout->record_bytes;

    if (index % layout->record_bytes || next > slots)
        return false;
    *reader = (struct reader){
        .layout = layout,
        .bytes = bytes,
        .slots = slots,
        .next = next,
        /* An index resting at the maximum and one moved to the base mean the same. */
        .first = wrapped && next < slots ? next : 0,
        .count = wrapped ? slots : next,
    };
    return true;
}

bool reader_oldest(const struct reader *reader, size_t i, struct bts_record *record)
{
    size_t slot;

    if (i >= reader->count)
        return false;
    /* Without a sum first + i: neither can then overflow. */
    slot = i < reader->slots - reader->first ? reader->first + i
                                             : i - (reader->slots - reader->first);
    *record = ds_layout_record_get(reader->layout,
                                   reader->bytes + slot * reader->layout->record_bytes);
    return true;
}

bool reader_newest(const struct reader *reader, size_t i, struct bts_record *record)
{
    return i < reader->count && reader_oldest(reader, reader->count - 1 - i, record);
}
