/* SPDX-License-Identifier: BSD-2-Clause */
/* Marks in the ring, and the stream that a reader gets. */
#include "ds/records.h"

#include "ds/bts.h"
#include "hw/string.h"

/*
 * Bits 63:56 of a mark's first word. Addresses of 48 linear bits repeat bit 47 up to 63, those
 * of 57 bits repeat bit 56: neither can begin with this byte. An empty slot begins otherwise.
 */
#define MARK_SIGNATURE 0xA6ull
#define MARK_SHIFT     56
#define MARK_KIND      48 /* bits 55:48; detail in 31:0 */

size_t record_bytes(enum record_kind kind)
{
    static const uint8_t payload[RECORD_KINDS] = {
        [RECORD_BRANCH] = 24, [RECORD_ARRIVES] = 8,    [RECORD_DEPARTS] = 8,
        [RECORD_LOST] = 8,    [RECORD_EXCEPTION] = 16,
    };

    if (kind < RECORD_BRANCH || kind >= RECORD_KINDS)
        return 0;
    return RECORD_HEADER_BYTES + payload[kind];
}

struct bts_record record_to_mark(const struct record *record)
{
    return (struct bts_record){
        .from = MARK_SIGNATURE << MARK_SHIFT | (uint64_t)(record->kind & 0xFF) << MARK_KIND |
                record->detail,
        .to = record->exception.address, /* or the clock, or the count */
        .flags = record->kind == RECORD_EXCEPTION ? record->exception.error : 0,
    };
}

bool record_from_mark(const struct bts_record *slot, struct record *record)
{
    unsigned kind = slot->from >> MARK_KIND & 0xFF;

    if (slot->from >> MARK_SHIFT != MARK_SIGNATURE || kind == RECORD_BRANCH || !kind)
        return false;
    *record = (struct record){
        .kind = (uint16_t)kind,
        /* A kind that came after us keeps everything that a slot can hold. */
        .bytes = (uint16_t)(record_bytes(kind) ? record_bytes(kind) : 24),
        .detail = (uint32_t)slot->from,
        .exception = {slot->to, slot->flags},
    };
    return true;
}

bool records_append(void *stream, size_t room, size_t *used, const struct record *record)
{
    if (record->bytes > room - *used)
        return false;
    memcpy((uint8_t *)stream + *used, record, record->bytes);
    *used += record->bytes;
    return true;
}

static bool inside(const struct record_filter *filter, uint64_t address)
{
    return address - filter->low < filter->high - filter->low;
}

static bool wanted(const struct record_filter *filter, const struct bts_record *slot)
{
    return !filter || !filter->inside_only ||
           (inside(filter, slot->from) && inside(filter, slot->to));
}

struct record_count records_translate(const struct bts_record *slots, size_t count,
                                      const struct record_filter *filter, void *stream,
                                      size_t room)
{
    struct record_count c = {0};

    for (; c.taken < count; c.taken++) {
        struct bts_record slot;
        struct record record;

        memcpy(&slot, (const void *)&slots[c.taken], sizeof(slot));
        if (bts_slot_empty(&slot) || (!slot.from && !slot.to)) {
            c.empty++;
            continue;
        }
        if (!record_from_mark(&slot, &record)) {
            if (!wanted(filter, &slot)) {
                c.filtered++;
                continue;
            }
            record = (struct record){.kind = RECORD_BRANCH,
                                     .bytes = (uint16_t)record_bytes(RECORD_BRANCH),
                                     .branch = {slot.from, slot.to, slot.flags}};
        }
        if (!records_append(stream, room, &c.bytes, &record))
            break;
        c.records++;
    }
    return c;
}

bool records_next(const void *stream, size_t bytes, size_t *at, struct record *record)
{
    const uint8_t *here = (const uint8_t *)stream + *at;
    struct record found = {0};

    if (*at >= bytes || bytes - *at < RECORD_HEADER_BYTES)
        return false;
    memcpy(&found, here, RECORD_HEADER_BYTES);
    if (found.bytes < RECORD_HEADER_BYTES || found.bytes % 8 || found.bytes > bytes - *at)
        return false;
    memcpy(&found, here, found.bytes < sizeof(found) ? found.bytes : sizeof(found));
    *at += found.bytes;
    *record = found;
    return true;
}
