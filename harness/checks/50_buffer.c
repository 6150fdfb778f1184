/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The BTS buffer: index, wrap, absolute maximum.
 *
 * Claim: SDM Vol. 3, "Setting Up the BTS Buffer", "BTS and DS Save Area". The index is the next
 * record's address and moves by one record; in circular mode the newest records overwrite the
 * oldest; no byte at or beyond the absolute maximum is written.
 * How: loops of known length in buffers of known size; what must be in each slot follows from
 * the length alone. Canaries and unmapped guard pages lie on both sides.
 * Wrong if: the loop's records are not all alike. They are: one branch, taken N times.
 */
#define CHECK_GROUP "50 bts.buffer"
#include "ds/broker.h"
#include "harness/fixture/trace.h"
#include "hw/paging.h"
#include "hw/regs.h"
#include "hw/string.h"

#define RECORD sizeof(struct bts_record)

/* Traces bench.loop in ring 0; returns how many records it must have made in all. */
static size_t loop(struct trace *t, unsigned count)
{
    const struct workload *w = trace_find(t->run, "bench.loop");
    struct guest_run r = {.argument = count};
    struct guest_call call;
    uint64_t returned = 0;
    size_t edges;

    r.workload = w;
    t->argument = count;
    call = guest_prepare(trace_guest(t->run), &r);
    NEED(t->run, bts_bracket(&t->bts, call.fn, call.arg, &returned) == DS_OK,
         "the trace is refused");
    guest_finish(trace_guest(t->run), &r, returned);
    t->index = t->area->bts_index;
    /* One record a turn; the rest does not depend on how many there are. */
    trace_expected(t->run, w, 0, 1, &edges);
    return edges - 1 + count;
}

static const struct bts_record *slot(const struct trace *t, size_t i)
{
    return (const struct bts_record *)(uintptr_t)t->base + i;
}

CHECK("bts.buffer.index_advances", MUST, "BUF-01", NEED_BTS)
{
    struct trace t;

    trace_open(run, &t, &(struct trace_setup){.records = 256});
    for (unsigned count = 1; count <= 60; count += 7) {
        size_t made;

        bts_clear(&t.bts);
        made = loop(&t, count);
        EXPECT_EQ(run, t.index, t.base + made * RECORD, "index");
        EXPECT(run, !bts_slot_empty(slot(&t, made - 1)), "the slot before the index is empty");
        EXPECT(run, bts_slot_empty(slot(&t, made)), "the slot at the index was written");
    }
}

/* N slots, more than N branches: the newest N remain, in their places. */
CHECK("bts.buffer.circular", MUST, "BUF-02 CPL-01", NEED_BTS)
{
    const struct workload *w = trace_find(run, "recursion.mutual");
    static const size_t sizes[] = {2, 3, 5, 7, 16};

    for (unsigned s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        struct trace t;
        const struct expected_edge *e;
        size_t edges;

        trace_open(run, &t, &(struct trace_setup){.records = sizes[s]});
        trace_workload(&t, w, 0, NULL);
        e = trace_expected(run, w, 0, 0, &edges);
        NEED(run, edges > sizes[s], "the workload is too short");
        EXPECT(run, t.count >= sizes[s] - 1 && t.count <= sizes[s],
               "%zu records can be read from %zu slots", t.count, sizes[s]);
        for (size_t i = 1; i <= t.count && i <= edges; i++)
            EXPECT(run,
                   t.records[t.count - i].from == e[edges - i].from &&
                       t.records[t.count - i].to == e[edges - i].to,
                   "%zu slots: record %zu from the newest is %lx -> %lx", sizes[s], i,
                   t.records[t.count - i].from, t.records[t.count - i].to);
        EXPECT_EQ(run, (t.index - t.base) % RECORD, 0, "index is on a record");
        EXPECT_EQ(run, (t.index - t.base) / RECORD % sizes[s], edges % sizes[s],
                  "index modulo the size");
        run_deferred_now(run);
    }
}

/* Exactly N records in N slots: does the index rest at the maximum, or is it back at base? */
CHECK("bts.buffer.wrap_moment", CHARACTERISE, "BUF-03", NEED_BTS)
{
    struct trace t;
    size_t made;

    trace_open(run, &t, &(struct trace_setup){.records = 64});
    made = loop(&t, 1);
    run_deferred_now(run);
    trace_open(run, &t, &(struct trace_setup){.records = 64});
    made = loop(&t, (unsigned)(64 - made + 1));
    NEED(run, made == 64, "the loop made %zu records", made);
    EXPECT(run, t.index == t.base || t.index == t.end,
           "index %lx is neither the base nor the maximum", t.index);
    run_observe(run, "bts.wrap", t.index == t.base ? "after" : "before");
}

/* The manual says "multiple of the record size plus one"; all software leaves the one out. */
CHECK("bts.buffer.maximum_forms", MUST, "BUF-04 BUF-02", NEED_BTS)
{
    for (unsigned extra = 0; extra <= 1; extra++) {
        struct trace t;
        size_t made;

        trace_open(
            run, &t,
            &(struct trace_setup){.records = 64, .extra_bytes = extra, .break_rules = true});
        made = loop(&t, 100);
        NEED(run, made > 64 && made < 128, "the loop made %zu records", made);
        for (size_t i = 0; i < 64; i++)
            EXPECT(run, !bts_slot_empty(slot(&t, i)), "maximum +%u: slot %zu was not written",
                   extra, i);
        /* To the byte: a wrap that goes anywhere but to the base shows here alone. */
        EXPECT_EQ(run, t.index - t.base, (made - 64) * RECORD, "bytes in the second lap");
        trace_expect_untouched(&t, extra ? "maximum at a record plus one" : "exact maximum");
        run_deferred_now(run);
    }
}

CHECK("bts.buffer.odd_sizes", CHARACTERISE, "BUF-04 BUF-05", NEED_BTS)
{
    unsigned full = 0, partial = 0;

    for (unsigned extra = 2; extra < RECORD; extra++) {
        struct trace t;

        trace_open(
            run, &t,
            &(struct trace_setup){.records = 16, .extra_bytes = extra, .break_rules = true});
        loop(&t, 24);
        /* Did the seventeenth record start in the rest, or did the wrap come before it? */
        if (memcmp((void *)(uintptr_t)slot(&t, 16), "\xC5\xC5\xC5\xC5",
                   extra < 4 ? extra : 4) == 0 ||
            bts_slot_empty(slot(&t, 16)))
            full++;
        else
            partial++;
        trace_expect_untouched(&t, "with a size that is no multiple of the record");
        run_deferred_now(run);
    }
    run_observe(run, "bts.rest",
                partial == 0 ? "never-written"
                : full == 0  ? "always-written"
                             : "written-for-some-sizes");
}

/* A safety invariant: whatever the size and however many laps, nothing beyond the maximum. */
CHECK("bts.buffer.never_beyond_maximum", MUST, "BUF-05", NEED_BTS)
{
    for (unsigned records = 2; records <= 9; records++) {
        for (unsigned extra = 0; extra < RECORD; extra += 5) {
            for (unsigned mode = 0; mode <= 1; mode++) {
                struct trace t;

                trace_open(run, &t,
                           &(struct trace_setup){.records = records,
                                                 .extra_bytes = extra,
                                                 .interrupt = mode,
                                                 .break_rules = true});
                loop(&t, 3 * records);
                trace_expect_untouched(&t, mode ? "BTINT=1" : "BTINT=0");
                run_deferred_now(run);
            }
        }
    }
}

CHECK("bts.buffer.one_record", CHARACTERISE, "BUF-06", NEED_BTS)
{
    struct trace t;
    const struct bts_record *only;

    trace_open(run, &t, &(struct trace_setup){.records = 1, .break_rules = true});
    loop(&t, 10);
    only = slot(&t, 0);
    trace_expect_untouched(&t, "a buffer of one record");
    run_observe(run, "bts.one-record",
                bts_slot_empty(only)                                 ? "stores-nothing"
                : only->to == (uint64_t)(uintptr_t)ds_bracket_return ? "holds-newest"
                                                                     : "holds-another");
}

/* BTINT=1, interrupt masked, more branches than room: the manual does not say what happens. */
CHECK("bts.buffer.full", CHARACTERISE, "BUF-10", NEED_BTS)
{
    struct trace t;
    size_t made;
    bool first_kept, last_newest;

    trace_open(run, &t, &(struct trace_setup){.records = 32, .interrupt = true});
    made = loop(&t, 40);
    NEED(run, made > 34 && made < 60, "the loop made %zu records", made);
    first_kept = slot(&t, 0)->from == (uint64_t)(uintptr_t)ds_bracket_call;
    last_newest = slot(&t, 31)->to == (uint64_t)(uintptr_t)ds_bracket_return;
    EXPECT(run, t.index >= t.base && t.index <= t.end, "the index %lx left the buffer",
           t.index);
    trace_expect_untouched(&t, "after the buffer was full");
    run_observe(run, "bts.full",
                !first_kept   ? "wrap"
                : last_newest ? "overwrite-last"
                              : "stop");
    run_observe(run, "bts.full-index",
                t.index == t.end    ? "maximum"
                : t.index == t.base ? "base"
                                    : "inside");
}

CHECK("bts.buffer.index_outside", CHARACTERISE, "BUF-13", NEED_BTS)
{
    static const struct {
        const char *name;
        int64_t offset;
        bool from_end;
    } places[] = {{"bts.index-below-base", -24, false},
                  {"bts.index-at-maximum", 0, true},
                  {"bts.index-above-maximum", 24, true},
                  {"bts.index-unaligned", 8, false}};

    for (unsigned i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        struct trace t;
        uint64_t index;
        uint8_t *at;

        /* Room on both sides inside the same pages, so that a stray record hits a canary. */
        trace_open(run, &t, &(struct trace_setup){.records = 64, .base_offset = 512});
        index = (places[i].from_end ? t.end : t.base) + (uint64_t)places[i].offset;
        at = (uint8_t *)(uintptr_t)index;
        t.area->bts_index = index;
        loop(&t, 4);
        run_observe(run, places[i].name, "%s",
                    places[i].offset < 0 && *at != CANARY_BYTE              ? "stored-at-index"
                    : !bts_slot_empty(slot(&t, 0)) && places[i].offset != 8 ? "stored-at-base"
                    : places[i].from_end && places[i].offset == 0 && t.index == index
                        ? "stores-nothing"
                    : *at != CANARY_BYTE && !bts_slot_empty((struct bts_record *)at)
                        ? "stored-at-index"
                        : "stores-nothing");
        EXPECT(run, t.area->bts_maximum == t.before.bts_maximum, "the maximum changed");
        run_deferred_now(run);
    }
}

/* The base serves the wrap only: a first index that is not the base loses nothing. */
CHECK("bts.buffer.base_is_for_the_wrap", CHARACTERISE, "BUF-14", NEED_BTS)
{
    struct trace t;
    size_t made;

    trace_open(run, &t, &(struct trace_setup){.records = 64});
    t.area->bts_index = t.base + 60 * RECORD;
    made = loop(&t, 8);
    NEED(run, made > 5 && made < 60, "the loop made %zu records", made);
    EXPECT_EQ(run, slot(&t, 60)->from, (uint64_t)(uintptr_t)ds_bracket_call,
              "from of the first record, at the index");
    run_observe(run, "bts.wrap-target",
                t.index == t.base + (made - 4) * RECORD ? "base" : "first-index");
    EXPECT(run, t.index < t.end, "the index %lx did not wrap", t.index);
}

/* 24 does not divide 4096: some record straddles each page border, and frames are scattered. */
CHECK("bts.buffer.scattered_pages", MUST, "MEM-01", NEED_BTS)
{
    struct paging_walk a, b;
    struct trace t;
    struct guest_run r = {.argument = 600};
    uint64_t page;

    trace_open(run, &t, &(struct trace_setup){.records = 700, .base_offset = 72});
    /* Two frames change places, so that linear neighbours are no physical neighbours. */
    page = t.window;
    NEED(run,
         paging_walk(paging_current(), page, &a) &&
             paging_walk(paging_current(), page + 2 * PAGE_BYTES, &b),
         "the buffer is not mapped");
    {
        const unsigned flags = PAGE_PRESENT | PAGE_WRITE | PAGE_NX | PAGE_ACCESSED | PAGE_DIRTY;
        uint8_t *x = (uint8_t *)(uintptr_t)a.phys, *y = (uint8_t *)(uintptr_t)b.phys;

        for (unsigned i = 0; i < PAGE_BYTES; i++) {
            uint8_t keep = x[i];

            x[i] = y[i];
            y[i] = keep;
        }
        paging_map(paging_kernel_space(), page, b.phys, flags);
        paging_map(paging_kernel_space(), page + 2 * PAGE_BYTES, a.phys, flags);
    }
    trace_workload(&t, trace_find(run, "bench.loop"), 0, &r);
    EXPECT(run, t.count * RECORD > 3 * PAGE_BYTES, "%zu records cross no three borders",
           t.count);
    trace_expect_workload(&t, trace_find(run, "bench.loop"), 0, NULL);
}

CHECK("bts.buffer.byte_aligned_base", CHARACTERISE, "MEM-08", NEED_BTS)
{
    struct trace t;
    size_t made;

    trace_open(run, &t,
               &(struct trace_setup){.records = 64, .base_offset = 65, .break_rules = true});
    made = loop(&t, 10);
    trace_expect_untouched(&t, "a base at an odd address");
    run_observe(run, "bts.byte-aligned-base",
                t.index == t.base + made * RECORD ? "works" : "stores elsewhere");
}

/* The area lies in the kernel's pages, and yet ring 3 can be traced. */
CHECK("bts.buffer.supervisor_pages", MUST, "MEM-05", NEED_BTS | NEED_DS_CPL)
{
    const struct workload *w = trace_find(run, "call.nested");
    struct paging_walk walk;
    struct trace t;

    trace_open(run, &t, &(struct trace_setup){.records = 256, .off_os = true});
    NEED(run, paging_walk(paging_current(), t.base, &walk) && !(walk.flags & PAGE_USER),
         "the buffer is not a supervisor page");
    trace_workload(&t, w, 3, NULL);
    trace_expect_workload(&t, w, 3, NULL);
}

CHECK("bts.buffer.many_laps", MUST, "BUF-02 GEN-01", NEED_BTS)
{
    unsigned count = run_count(run, 1000000);
    struct trace t;
    size_t made;

    trace_open(run, &t, &(struct trace_setup){.records = 127});
    made = loop(&t, count);
    EXPECT_EQ(run, (t.index - t.base) / RECORD % 127, made % 127,
              "index after that many records, modulo the size");
    trace_expect_untouched(&t, "after many laps");
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

#define COST_HEAVY 200u /* far beyond what the manual warns of */
#define COST_TRIES 40u

/* The manual warns of 25 to 30 times. A figure is no verdict: only its order is reported. */
CHECK("bts.buffer.slow_down", CHARACTERISE, "BUF-16", NEED_BTS)
{
    struct guest_run r = {.workload = trace_find(run, "bench.loop"), .argument = 600};
    struct guest_call call;
    uint64_t plain = ~0ull, traced = ~0ull, returned = 0, times = 1;
    struct trace t;
    size_t made = 0;

    trace_open(run, &t, &(struct trace_setup){.records = 4096});
    /*
     * The shortest of a few: nobody else's time may look like the store's. What looks heavy is
     * tried for longer, since a host that is busy takes its time out of every one of four.
     */
    for (unsigned i = 0; i < 4 || (i < COST_TRIES && traced / (plain | 1) >= COST_HEAVY); i++) {
        uint64_t start;

        call = guest_prepare(trace_guest(run), &r), start = tsc_read();
        broker_bracket(BROKER_BTS, 0, call.fn, call.arg, &returned);
        plain = least(plain, tsc_read() - start);
        guest_finish(trace_guest(run), &r, returned);
        EXPECT_EQ(run, t.area->bts_index, t.base + (i ? made * RECORD : 0),
                  "index after the untraced run");
        bts_clear(&t.bts), start = tsc_read();
        made = loop(&t, 600);
        traced = least(traced, tsc_read() - start);
        EXPECT_EQ(run, t.index, t.base + made * RECORD, "index after the traced run");
    }
    run_observe(run, "bts.store-cost",
                traced / (plain | 1) >= COST_HEAVY ? "heavy" : "ordinary");
    while (plain && times < 1u << 20 && traced / plain >= 2 * times)
        times *= 2;
    run_observe(run, "bts.slow-down", "%lu times or more", times);
}
