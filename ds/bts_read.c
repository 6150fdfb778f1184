/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reading the BTS buffer. The processor keeps no count and says nothing of a wrap, so the last
 * slot is marked empty beforehand: once it holds a record the ring has been full.
 */
#include "ds/bts.h"

#include "hw/string.h"

/* Bits 63:47 are neither all zero nor all one: no processor stores this as an address. */
#define EMPTY_WORD 0x5AA55AA55AA55AA5ull

static const struct bts_record empty_slot = {EMPTY_WORD, EMPTY_WORD, EMPTY_WORD};

/* memcpy throughout, because a check may ask for a base that is not aligned to 8. */
static struct bts_record slot_get(const struct bts *bts, size_t slot)
{
    struct bts_record record;

    memcpy(&record, (const void *)(uintptr_t)(bts->base + slot * sizeof(record)),
           sizeof(record));
    return record;
}

static void slot_mark_empty(struct bts *bts, size_t slot)
{
    memcpy((void *)(uintptr_t)(bts->base + slot * sizeof(empty_slot)), &empty_slot,
           sizeof(empty_slot));
}

bool bts_slot_empty(const struct bts_record *slot)
{
    return slot->from == EMPTY_WORD && slot->to == EMPTY_WORD && slot->flags == EMPTY_WORD;
}

enum ds_error bts_index(const struct bts *bts, size_t *slot)
{
    /* The processor writes this field behind the compiler's back. */
    uint64_t offset;

    if (!bts->area)
        return DS_ESRCH;
    offset = *(const volatile uint64_t *)&bts->area->bts_index - bts->base;
    if (offset % sizeof(struct bts_record) ||
        offset > bts->capacity * sizeof(struct bts_record))
        return DS_EIO;
    *slot = offset / sizeof(struct bts_record);
    return DS_OK;
}

bool bts_wrapped(const struct bts *bts)
{
    struct bts_record last;

    if (!bts->area)
        return false;
    last = slot_get(bts, bts->capacity - 1);
    return !bts_slot_empty(&last);
}

/* Oldest slot and number of records; DS_EIO when the index cannot be trusted. */
static enum ds_error extent(const struct bts *bts, size_t *oldest, size_t *count)
{
    size_t next;
    enum ds_error error = bts_index(bts, &next);

    if (error != DS_OK)
        return error;
    *oldest = 0;
    *count = next;
    if (bts_wrapped(bts)) {
        /* A processor may leave the index at the maximum or move it to the base. */
        *oldest = next == bts->capacity ? 0 : next;
        *count = bts->capacity;
    }
    return DS_OK;
}

size_t bts_count(const struct bts *bts)
{
    size_t oldest, count;

    return extent(bts, &oldest, &count) == DS_OK ? count : 0;
}

enum ds_error bts_get(const struct bts *bts, size_t i, struct bts_record *record)
{
    size_t oldest, count, slot;
    enum ds_error error = extent(bts, &oldest, &count);

    if (error != DS_OK)
        return error;
    if (bts_running(bts))
        return DS_EBUSY;
    if (i >= count)
        return DS_EINVAL;
    slot = oldest + (count - 1 - i);
    *record = slot_get(bts, slot < bts->capacity ? slot : slot - bts->capacity);
    return DS_OK;
}

static void rewind_index(struct bts *bts)
{
    *(volatile uint64_t *)&bts->area->bts_index = bts->base;
}

/* The common start of everything that changes the buffer. */
static enum ds_error begin(struct bts *bts)
{
    if (!bts->area)
        return DS_ESRCH;
    if (bts->reading || bts_running(bts))
        return DS_EBUSY;
    bts->reading = true;
    return DS_OK;
}

enum ds_error bts_drain(struct bts *bts, bts_sink *sink, void *context, size_t *count)
{
    size_t oldest, total, head;
    const struct bts_record *slots = (const struct bts_record *)(uintptr_t)bts->base;
    enum ds_error error = begin(bts);

    if (error != DS_OK)
        return error;
    error = extent(bts, &oldest, &total);
    if (error == DS_OK) {
        head = total < bts->capacity - oldest ? total : bts->capacity - oldest;
        if (head)
            sink(context, slots + oldest, head);
        if (total > head)
            sink(context, slots, total - head);
        if (count)
            *count = total;
        slot_mark_empty(bts, bts->capacity - 1);
        rewind_index(bts);
    }
    bts->reading = false;
    return error;
}

static void copy_sink(void *context, const struct bts_record *records, size_t count)
{
    struct bts_record **to = context;

    memcpy(*to, records, count * sizeof(*records));
    *to += count;
}

enum ds_error bts_copy_out(struct bts *bts, struct bts_record *to, size_t room, size_t *count)
{
    if (bts_count(bts) > room)
        return DS_EIO;
    return bts_drain(bts, copy_sink, &to, count);
}

enum ds_error bts_reset(struct bts *bts)
{
    enum ds_error error = begin(bts);

    if (error != DS_OK)
        return error;
    slot_mark_empty(bts, bts->capacity - 1);
    rewind_index(bts);
    bts->reading = false;
    return DS_OK;
}

enum ds_error bts_clear(struct bts *bts)
{
    enum ds_error error = begin(bts);

    if (error != DS_OK)
        return error;
    for (size_t slot = 0; slot < bts->capacity; slot++)
        slot_mark_empty(bts, slot);
    rewind_index(bts);
    bts->reading = false;
    return DS_OK;
}
