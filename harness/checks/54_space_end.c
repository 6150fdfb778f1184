/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A buffer at the very end of the address space.
 *
 * Claim: none that binds. SDM Vol. 3, "Setting Up the DS Save Area", excludes no address; a
 *   published erratum tells that a record is stored in spite of the absolute maximum when the
 *   sum of index and record size wraps.
 * How: a space of its own has a frame for its last page; exactly two records are made, the
 *   call and the return of the bracket. Where the return lies is reported; a byte of the frame
 *   outside the two slots is wrong.
 * Wrong if: an interrupt's record comes in between. IF is clear.
 */
#define CHECK_GROUP "54 bts.space_end"
#include "ds/broker.h"
#include "harness/fixture/trace.h"
#include "hw/msr.h"
#include "hw/overlay.h"
#include "hw/paging.h"
#include "hw/string.h"

#define RECORD      sizeof(struct bts_record)
#define PAGE_NORMAL (PAGE_PRESENT | PAGE_WRITE | PAGE_NX | PAGE_ACCESSED | PAGE_DIRTY)

struct last_page {
    struct address_space space;
    uint64_t back;
};

static void close_last_page(void *arg)
{
    struct last_page *last = arg;

    paging_load(last->back);
    overlay_free(&last->space);
    paging_space_destroy(&last->space);
}

static uint64_t nothing(void *arg)
{
    (void)arg;
    return 0;
}

/* Two records, the call and the return: the second would end with the last byte there is. */
CHECK("bts.memory.space_end", CHARACTERISE, "MEM-14", NEED_BTS)
{
    const uint64_t back = (uint64_t)(uintptr_t)ds_bracket_return;
    uint8_t *frame = page_alloc();
    const struct bts_record *slots =
        (const struct bts_record *)(frame + PAGE_BYTES - 2 * RECORD);
    struct last_page last = {.back = paging_current()};
    enum ds_error error;
    struct trace t;
    unsigned at = 0;

    trace_open(run, &t, &(struct trace_setup){.records = 64});
    NEED(run, frame, "the page pool is empty");
    run_defer(run, page_free, frame);
    memset(frame, CANARY_BYTE, PAGE_BYTES);
    NEED(run, paging_space_create(&last.space), "the page pool is empty");
    run_defer(run, close_last_page, &last);
    NEED(run, overlay_map_last(&last.space, (uint64_t)(uintptr_t)frame, PAGE_NORMAL),
         "the page pool is empty");
    t.area->bts_base = t.area->bts_index = 0 - 2 * RECORD;
    t.area->bts_maximum = t.area->bts_threshold = ~0ull;
    NEED(run, broker_set_ds_area(t.area) == DS_OK, "the area is refused");
    paging_load(last.space.cr3);
    error = broker_bracket(BROKER_BTS, DEBUGCTL_TR | DEBUGCTL_BTS, nothing, NULL, NULL);
    paging_load(last.back);
    NEED(run, error == DS_OK, "the trace is refused");
    while (at < PAGE_BYTES - 2 * RECORD && frame[at] == CANARY_BYTE)
        at++;
    EXPECT_EQ(run, at, PAGE_BYTES - 2 * RECORD, "first byte of the page that was written");
    EXPECT(run, slots[0].from == (uint64_t)(uintptr_t)ds_bracket_call || slots[0].to == back,
           "the first slot leads from %lx to %lx", slots[0].from, slots[0].to);
    run_observe(run, "bts.space-end",
                slots[1].to == back   ? "stored"
                : slots[0].to == back ? "wraps"
                                      : "lost");
}
