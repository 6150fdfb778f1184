/* SPDX-License-Identifier: BSD-2-Clause */
/* The last branches before a fault, straight from the area that DS_AREA names. */
#include "harness/suite/last_branches.h"

#include "ds/broker.h"
#include "ds/bts.h"
#include "ds/records.h"
#include "harness/check/out.h"
#include "harness/fixture/trace.h"
#include "hw/paging.h"
#include "hw/string.h"

#define RECORD sizeof(struct bts_record)

static bool readable(uint64_t base, uint64_t bytes)
{
    struct paging_walk walk;

    if (!bytes || base + bytes < base)
        return false;
    for (uint64_t at = base & ~(PAGE_BYTES - 1); at < base + bytes; at += PAGE_BYTES)
        if (!paging_walk(paging_current(), at, &walk))
            return false;
    return true;
}

static bool print(size_t number, const struct bts_record *slot)
{
    char from[48], to[48];
    struct record mark;

    if (bts_slot_empty(slot) || (!slot->from && !slot->to))
        return false;
    if (record_from_mark(slot, &mark))
        out_line("# last %zu: mark %u of %u", number, mark.kind, mark.detail);
    else
        out_line("# last %zu: %lx %s to %lx %s", number, slot->from,
                 trace_symbol(slot->from, from, sizeof(from)), slot->to,
                 trace_symbol(slot->to, to, sizeof(to)));
    return true;
}

size_t last_branches(void)
{
    const struct ds_area *area = broker_ds_area();
    uint64_t base, slots, next;
    size_t printed = 0;

    broker_clear(BROKER_BTS);
    if (!area || !readable((uintptr_t)area, sizeof(*area)))
        return 0;
    base = area->bts_base;
    slots = (area->bts_maximum - base) / RECORD;
    next = (area->bts_index - base) / RECORD;
    if (area->bts_maximum < base || next > slots || !readable(base, slots * RECORD))
        return 0;
    for (uint64_t i = 0; i < slots && printed < LAST_BRANCHES; i++) {
        struct bts_record slot;

        memcpy(&slot, (const void *)(base + (next + slots - 1 - i) % slots * RECORD), RECORD);
        if (!print(printed + 1, &slot))
            break;
        printed++;
    }
    return printed;
}
