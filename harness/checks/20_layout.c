/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Layout of the DS management area, BTS half.
 *
 * Claim: SDM Vol. 3, "BTS and DS Save Area", "64 Bit Format of the DS Save Area". Base, index,
 * absolute maximum and threshold lie at 00H, 08H, 10H, 18H; the processor moves the index and
 * nothing else; the PEBS half is not its business while PEBS is off.
 * How: every byte of the area's page that is no BTS field holds a canary; each field is then
 * given a value that only its own meaning explains, and the effect is observed.
 * Wrong if: something else than the processor writes to the page. It is private to the check.
 */
#define CHECK_GROUP "20 bts.layout"
#include "ds/broker.h"
#include "harness/fixture/trace.h"
#include "hw/msr.h"
#include "hw/string.h"

#define RECORD sizeof(struct bts_record)

static void run_loop(struct trace *t, unsigned count)
{
    struct guest_run r = {.argument = count};

    trace_workload(t, trace_find(t->run, "bench.loop"), 0, &r);
}

CHECK("bts.layout.only_index_changes", MUST, "LAY-01 LAY-07", NEED_BTS)
{
    struct trace t;

    trace_open(run, &t, &(struct trace_setup){.records = 64});
    run_loop(&t, 20); /* trace_collect compares area and canaries */
    EXPECT(run, t.index > t.base, "the index did not move");
    EXPECT_EQ(run, t.index - t.base, t.count * RECORD, "the index field, in bytes");
    run_loop(&t, 200); /* once more over several laps of the buffer */
}

/* The layout is proven by raw offsets, so that a wrong struct could not agree with itself. */
CHECK("bts.layout.offsets", MUST, "LAY-01", NEED_BTS)
{
    struct trace t;
    uint64_t raw[4], index;

    trace_open(run, &t, &(struct trace_setup){.records = 64});
    memcpy(raw, t.area, sizeof(raw));
    EXPECT_EQ(run, raw[0], t.base, "quadword at 00H, the base");
    EXPECT_EQ(run, raw[1], t.base, "quadword at 08H, the index");
    EXPECT_EQ(run, raw[2], t.end, "quadword at 10H, the absolute maximum");
    EXPECT(run, raw[3] > t.end, "quadword at 18H, the threshold, is not beyond the maximum");
    run_loop(&t, 5);
    memcpy(&index, (uint8_t *)t.area + 8, sizeof(index));
    EXPECT_EQ(run, index, t.base, "quadword at 08H after draining");
    EXPECT(run, t.count >= 5, "%zu records for a loop of 5", t.count);
}

/* The first record goes where the index says, not where the base says. */
CHECK("bts.layout.index_honoured", MUST, "LAY-01 BUF-01", NEED_BTS)
{
    const struct workload *w = trace_find(run, "zero.jmp");
    struct guest_run r = {.workload = w};
    struct guest_call call;
    struct bts_record *slot;
    struct trace t;

    trace_open(run, &t, &(struct trace_setup){.records = 256});
    slot = (struct bts_record *)(uintptr_t)t.base + 100;
    t.area->bts_index = (uint64_t)(uintptr_t)slot;
    call = guest_prepare(trace_guest(run), &r);
    NEED(run, bts_bracket(&t.bts, call.fn, call.arg, NULL) == DS_OK, "the trace is refused");
    guest_finish(trace_guest(run), &r, 0);
    EXPECT(run, bts_slot_empty(slot - 1), "the slot before the index was written");
    EXPECT(run, bts_slot_empty((struct bts_record *)(uintptr_t)t.base), "the base was written");
    EXPECT_EQ(run, slot->from, (uint64_t)(uintptr_t)ds_bracket_call, "from at the index");
    EXPECT(run, t.area->bts_index > (uint64_t)(uintptr_t)slot, "the index did not advance");
}

/* Fields changed with TR clear count from the next enable on. */
CHECK("bts.layout.reread_at_enable", MUST, "LAY-08", NEED_BTS)
{
    struct trace t;
    uint64_t half;

    trace_open(run, &t, &(struct trace_setup){.records = 64});
    run_loop(&t, 10);
    half = t.base + 32 * RECORD;
    t.area->bts_base = half;
    t.area->bts_index = half;
    t.before = *t.area; /* what must stay is what we have just written */
    memset((void *)(uintptr_t)t.base, CANARY_BYTE, 32 * RECORD);
    {
        struct guest_run r = {.workload = trace_find(run, "bench.loop"), .argument = 100};
        struct guest_call call = guest_prepare(trace_guest(run), &r);

        NEED(run, bts_bracket(&t.bts, call.fn, call.arg, NULL) == DS_OK, "refused");
        guest_finish(trace_guest(run), &r, 0);
    }
    for (uint64_t b = t.base; b < half; b++)
        REQUIRE(run, *(uint8_t *)(uintptr_t)b == CANARY_BYTE,
                "a record went below the new base, to offset %lx", b - t.base);
    EXPECT(run, t.area->bts_index >= half && t.area->bts_index <= t.end,
           "the index %lx is outside the new buffer", t.area->bts_index);
}

/* Stores to the area while the trace runs: read again for every record, or cached? */
struct live {
    uint64_t *field;
    uint64_t value;
};

static uint64_t store_field(void *arg)
{
    struct live *live = arg;

    *(volatile uint64_t *)live->field = live->value;
    return 0; /* its own RET is the record that tells */
}

static void trace_store(struct trace *t, uint64_t *field, uint64_t value)
{
    struct live live = {field, value};

    NEED(t->run, bts_bracket(&t->bts, store_field, &live, NULL) == DS_OK, "refused");
}

CHECK("bts.layout.live_index", CHARACTERISE, "LAY-08", NEED_BTS)
{
    struct trace t;
    struct bts_record *moved, *next;

    trace_open(run, &t, &(struct trace_setup){.records = 64});
    moved = (struct bts_record *)(uintptr_t)t.base + 40;
    next = (struct bts_record *)(uintptr_t)t.base + 1;
    trace_store(&t, &t.area->bts_index, (uint64_t)(uintptr_t)moved);
    EXPECT(run, !bts_slot_empty(moved) || !bts_slot_empty(next),
           "the record after the store is in neither place");
    /* Whichever it is, the index must go on from there. */
    if (!bts_slot_empty(moved)) {
        const struct bts_record *end = (const struct bts_record *)(uintptr_t)t.area->bts_index;

        EXPECT(run, end > moved, "stored at %p, and the index is %p behind it", (void *)moved,
               (const void *)end);
        while (++moved < end)
            EXPECT(run, !bts_slot_empty(moved), "the slot at %p was left out", (void *)moved);
        moved = (struct bts_record *)(uintptr_t)t.base + 40;
    }
    run_observe(run, "bts.index-read", !bts_slot_empty(moved) ? "each-record" : "at-enable");
}

/* Two slots are left: the call takes one, and the return wraps right behind it, or not. */
CHECK("bts.layout.live_maximum", CHARACTERISE, "LAY-08", NEED_BTS)
{
    struct trace t;
    struct bts_record *first, *last;

    trace_open(run, &t, &(struct trace_setup){.records = 64});
    first = (struct bts_record *)(uintptr_t)t.base;
    last = first + 63;
    t.area->bts_index = t.end - 2 * RECORD;
    trace_store(&t, &t.area->bts_maximum, t.end - RECORD);
    EXPECT(run, bts_slot_empty(first) != bts_slot_empty(last),
           "the record after the store is in neither place, or in both");
    run_observe(run, "bts.fields-read", bts_slot_empty(last) ? "each-record" : "at-enable");
}

CHECK("bts.layout.pebs_half_untouched", MUST, "PEBS-01", NEED_BTS)
{
    struct trace t;
    uint8_t before[sizeof(struct ds_area) - 0x20];

    trace_open(run, &t, &(struct trace_setup){.records = 16});
    memcpy(before, (uint8_t *)t.area + 0x20, sizeof(before));
    run_loop(&t, 100);
    EXPECT(run, memcmp(before, (uint8_t *)t.area + 0x20, sizeof(before)) == 0,
           "a field of the PEBS half changed while only BTS was on");
}
