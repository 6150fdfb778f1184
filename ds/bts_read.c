/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reading the BTS buffer. The processor keeps no count and says nothing of a wrap, so the slot
 * just before the oldest record is marked empty: it is the last to be written before records
 * are lost, and once it holds one the ring has been full. After a reset that is the last slot.
 */
#include "ds/bts.h"

#include "hw/msr.h"
#include "hw/string.h"

/* Bits 63:47 are neither all zero nor all one: no processor stores this as an address. */
#define EMPTY_WORD 0x5AA55AA55AA55AA5ull

static const struct bts_record empty_slot = {EMPTY_WORD, EMPTY_WORD, EMPTY_WORD};

static struct bts_record *slot_at(const struct bts *bts, size_t slot)
{
    return (struct bts_record *)(uintptr_t)(bts->base + slot * sizeof(struct bts_record));
}

/* memcpy throughout, because the base need only be aligned to a doubleword. */
static struct bts_record slot_get(const struct bts *bts, size_t slot)
{
    struct bts_record record;

    memcpy(&record, (const void *)slot_at(bts, slot), sizeof(record));
    return record;
}

static void slot_mark_empty(struct bts *bts, size_t slot)
{
    memcpy((void *)slot_at(bts, slot), &empty_slot, sizeof(empty_slot));
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

/* The oldest record is, or will be, in slot oldest; the processor goes on at slot next. */
static void restart(struct bts *bts, size_t oldest, size_t next)
{
    bts->oldest = oldest;
    slot_mark_empty(bts, (oldest ? oldest : bts->capacity) - 1);
    *(volatile uint64_t *)&bts->area->bts_index = (uintptr_t)slot_at(bts, next);
}

bool bts_wrapped(const struct bts *bts)
{
    struct bts_record last;

    if (!bts->area)
        return false;
    last = slot_get(bts, (bts->oldest ? bts->oldest : bts->capacity) - 1);
    return !bts_slot_empty(&last);
}

struct extent {
    size_t oldest, count; /* first slot, and how many from there on, round the end */
    size_t next;          /* slot that the processor writes next */
};

/* DS_EIO when the index cannot be trusted. */
static enum ds_error measure(const struct bts *bts, struct extent *extent)
{
    enum ds_error error = bts_index(bts, &extent->next);

    if (error != DS_OK)
        return error;
    if (bts_wrapped(bts)) {
        /* A processor may leave the index at the maximum or move it to the base. */
        extent->oldest = extent->next == bts->capacity ? 0 : extent->next;
        extent->count = bts->capacity;
    } else {
        extent->oldest = bts->oldest;
        extent->count = extent->next - bts->oldest;
        if (extent->next < bts->oldest)
            extent->count += bts->capacity;
    }
    return DS_OK;
}

size_t bts_count(const struct bts *bts)
{
    struct extent extent;

    return measure(bts, &extent) == DS_OK ? extent.count : 0;
}

enum ds_error bts_get(const struct bts *bts, size_t i, struct bts_record *record)
{
    struct extent extent;
    enum ds_error error = measure(bts, &extent);
    size_t slot;

    if (error != DS_OK)
        return error;
    if (bts_running(bts))
        return DS_EBUSY;
    if (i >= extent.count)
        return DS_EINVAL;
    slot = extent.oldest + (extent.count - 1 - i);
    *record = slot_get(bts, slot < bts->capacity ? slot : slot - bts->capacity);
    return DS_OK;
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

static void hand_over(const struct bts *bts, size_t oldest, size_t take, bts_sink *sink,
                      void *context)
{
    size_t head = take < bts->capacity - oldest ? take : bts->capacity - oldest;

    if (head)
        sink(context, slot_at(bts, oldest), head);
    if (take > head)
        sink(context, slot_at(bts, 0), take - head);
}

/* Some records stay. With interrupts they move to the base: the threshold counts from there. */
static void keep_rest(struct bts *bts, const struct extent *extent, size_t take)
{
    size_t rest = extent->count - take, first = extent->oldest + take;

    if (first >= bts->capacity)
        first -= bts->capacity;
    if (bts->debugctl & DEBUGCTL_BTINT && first + rest <= bts->capacity) {
        memmove((void *)slot_at(bts, 0), (const void *)slot_at(bts, first),
                rest * sizeof(struct bts_record));
        restart(bts, 0, rest);
    } else {
        restart(bts, first, extent->next);
    }
}

enum ds_error bts_drain_some(struct bts *bts, size_t most, bts_sink *sink, void *context,
                             size_t *count)
{
    struct extent extent;
    enum ds_error error = begin(bts);
    size_t take;

    if (error != DS_OK)
        return error;
    error = measure(bts, &extent);
    if (error == DS_OK) {
        take = most < extent.count ? most : extent.count;
        hand_over(bts, extent.oldest, take, sink, context);
        if (take == extent.count)
            restart(bts, 0, 0);
        else if (take)
            keep_rest(bts, &extent, take);
        if (count)
            *count = take;
    }
    bts->reading = false;
    return error;
}

enum ds_error bts_drain(struct bts *bts, bts_sink *sink, void *context, size_t *count)
{
    return bts_drain_some(bts, SIZE_MAX, sink, context, count);
}

void bts_copy_sink(void *context, const struct bts_record *records, size_t count)
{
    struct bts_record **to = context;

    memcpy(*to, (const void *)records, count * sizeof(*records));
    *to += count;
}

enum ds_error bts_reset(struct bts *bts)
{
    enum ds_error error = begin(bts);

    if (error != DS_OK)
        return error;
    restart(bts, 0, 0);
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
    restart(bts, 0, 0);
    bts->reading = false;
    return DS_OK;
}

enum ds_error bts_put(struct bts *bts, const struct bts_record *record)
{
    enum ds_error error = begin(bts);
    size_t slot;

    if (error != DS_OK)
        return error;
    error = bts_index(bts, &slot);
    if (error == DS_OK) {
        /* A processor may leave the index at the maximum, or move it to the base. */
        slot = slot == bts->capacity ? 0 : slot;
        memcpy((void *)slot_at(bts, slot), record, sizeof(*record));
        /* With interrupts the index stays at the maximum: it has passed the threshold. */
        slot++;
        if (slot == bts->capacity && !(bts->debugctl & DEBUGCTL_BTINT))
            slot = 0;
        *(volatile uint64_t *)&bts->area->bts_index = (uintptr_t)slot_at(bts, slot);
    }
    bts->reading = false;
    return error;
}
