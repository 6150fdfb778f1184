/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Outside IA-32e mode: protected mode with and without paging, real mode.
 *
 * Claim: SDM Vol. 3, "BTS and DS Save Area", "64 Bit Format of the DS Save Area". Recording
 *   works in all of them. With DTES64 the 64-bit layout holds in every mode; without it the
 *   32-bit layout: fields of 4 bytes, records of 12. from and to are linear addresses.
 *   Segmentation plays no part in where records go. IA32_DS_AREA's bits 63:32 are reserved.
 * How: long mode is left and entered again around a program that turns the trace on and off
 *   itself. Area and buffer lie below 1 MiB; CS, DS and SS have a base. DTES64 is taken away
 *   from a stand-in processor; a real one is judged by the layout it enumerates.
 * Wrong if: an NMI arrives meanwhile. Its sources are masked while the machine is ours.
 */
#define CHECK_GROUP "48 bts.legacy"
#include "ds/broker.h"
#include "guest/abi.h"
#include "guest/low.h"
#include "harness/gate.h"
#include "harness/trace.h"
#include "hw/cpuid.h"
#include "hw/legacy.h"
#include "hw/low.h"
#include "hw/msr.h"
#include "hw/string.h"

#define CAPACITY 40 /* more than any program leaves */
#define FEW      4
#define EDGES    40

/* CR0 as the manual has it. */
#define CR0_PE 1u
#define CR0_PG 0x80000000u

static const char *const mode_names[LEGACY_MODES] = {"protected mode", "32-bit paging",
                                                     "PAE paging", "real mode"};

struct legacy {
    struct run *run;
    const struct ds_layout *layout;
    uint8_t *area, *buffer;
    uint64_t base;   /* of the buffer */
    size_t capacity; /* of it, in records */
    struct trace_record records[CAPACITY];
    size_t count;
    uint64_t index;
    uint32_t result;
    uint32_t filter; /* further bits of DEBUGCTL */
};

static void leave(void *arg)
{
    (void)arg;
    broker_raw_write_debugctl(0);
    broker_resync();
}

static void open_low(struct run *run)
{
    if (!legacy_possible()) {
        run_skip(run, "firmware has no free memory below 1 MiB");
        run_stop(run);
    }
    NEED(run, guest_open_low(trace_guest(run)), "no view below 1 MiB");
    NEED(run, low_stack() <= LOW_AREA, "the guest region is too large for low memory");
    low_reset(trace_guest(run), 0);
}

enum dtes64 { DTES64_AS_IT_IS, WITHOUT_DTES64 };

/* Area and buffer, empty, in the layout that holds outside IA-32e mode. */
static void prepare(struct run *run, struct legacy *l, enum dtes64 dtes64, size_t capacity)
{
    if (dtes64 == WITHOUT_DTES64 && cpu_has_dtes64())
        gate_require(run, "no-dtes64");
    open_low(run);
    memset(l, 0, sizeof(*l));
    l->run = run;
    l->layout = cpu_has_dtes64() ? &ds_layout_64 : &ds_layout_32;
    l->area = low_memory() + LOW_AREA;
    l->buffer = low_memory() + LOW_BUFFER;
    l->base = (uint64_t)(uintptr_t)l->buffer + 64;
    l->capacity = capacity;
    memset(l->area, CANARY_BYTE, PAGE_BYTES);
    memset(l->buffer, CANARY_BYTE, LOW_BUFFER_BYTES);
    ds_layout_put(l->layout, l->area, DS_BTS_BASE, l->base);
    ds_layout_put(l->layout, l->area, DS_BTS_INDEX, l->base);
    ds_layout_put(l->layout, l->area, DS_BTS_MAXIMUM,
                  l->base + capacity * l->layout->record_bytes);
    /* Inside, so that it cannot pass for the maximum; BTINT is off. */
    ds_layout_put(l->layout, l->area, DS_BTS_THRESHOLD, l->base);
    run_defer(run, leave, NULL);
}

static bool all_canaries(const uint8_t *from, const uint8_t *to)
{
    while (from < to)
        if (*from++ != CANARY_BYTE)
            return false;
    return true;
}

/* Only the index has moved, and only the records are written. */
static void expect_untouched(struct legacy *l, const uint8_t *before)
{
    unsigned field = l->layout->field_bytes;
    uint8_t *end = l->buffer + 64 + l->count * l->layout->record_bytes;

    EXPECT(l->run,
           memcmp(l->area, before, field) == 0 &&
               memcmp(l->area + 2 * field, before + 2 * field, PAGE_BYTES - 2 * field) == 0,
           "a byte of the area other than the index changed");
    EXPECT(l->run, all_canaries(l->buffer, l->buffer + 64), "a byte before the buffer changed");
    EXPECT(l->run, all_canaries(end, l->buffer + LOW_BUFFER_BYTES),
           "a byte behind the records changed");
}

static uint32_t call_legacy(const struct workload *w, enum legacy_mode mode)
{
    uint32_t low = (uint32_t)(uintptr_t)low_memory();
    struct legacy_call call = {
        .mode = mode,
        .base = low,
        .limit = LOW_AREA - 1, /* area and buffer lie beyond it */
        .entry = (uint32_t)w->entry,
        .stack = low_stack(),
        .argument = low_data(),
        .idt = low + (uint32_t)(guest_idt32 - __guest_start),
        .idt_limit = (uint16_t)(guest_idt32_end - guest_idt32 - 1),
    };

    if (mode == LEGACY_REAL) {
        call.idt = low + low_data() + DATA_VECTORS;
        call.idt_limit = 0x3FF;
    }
    return legacy_run(&call);
}

static void execute(struct legacy *l, const struct workload *w, enum legacy_mode mode)
{
    uint32_t low = (uint32_t)(uintptr_t)low_memory();
    uint32_t values[] = {MSR_IA32_DEBUGCTL, DEBUGCTL_TR | DEBUGCTL_BTS | l->filter,
                         MSR_IA32_DS_AREA, low + LOW_AREA};

    memcpy(low_memory() + low_data() + DATA_LEGACY, values, sizeof(values));
    NEED(l->run, broker_raw_write_ds_area(low + LOW_AREA) == 0, "IA32_DS_AREA faults");
    l->result = call_legacy(w, mode);
}

static void collect(struct legacy *l)
{
    uint64_t bytes;

    l->index = ds_layout_get(l->layout, l->area, DS_BTS_INDEX);
    bytes = l->index - l->base;
    REQUIRE(l->run,
            bytes % l->layout->record_bytes == 0 && bytes <= CAPACITY * l->layout->record_bytes,
            "the index is %llx, the buffer begins at %llx", (unsigned long long)l->index,
            (unsigned long long)l->base);
    l->count = bytes / l->layout->record_bytes;
    for (size_t i = 0; i < l->count; i++) {
        struct bts_record r =
            ds_layout_record_get(l->layout, l->buffer + 64 + i * l->layout->record_bytes);

        /* Upper halves are another check's. */
        l->records[i] = (struct trace_record){(uint32_t)r.from, (uint32_t)r.to, r.flags};
    }
}

static const struct expected_edge *resolve(struct run *run, const struct workload *w,
                                           size_t *count)
{
    static struct expected_edge edges[EDGES];
    struct guest_place place = guest_place(trace_guest(run), GUEST_COMPAT, 0);

    place.ring = 0;
    *count = edges_resolve(w, &place, edges, EDGES);
    NEED(run, *count <= EDGES, "%s has too many edges", w->name);
    return edges;
}

static void trace_legacy(struct run *run, struct legacy *l, const char *name,
                         enum legacy_mode mode, enum dtes64 dtes64)
{
    static uint8_t before[PAGE_BYTES];
    const struct workload *w = trace_find(run, name);
    struct compare_options options = {.keep_kernel = true};
    const struct expected_edge *edges;
    struct compare_result result;
    size_t count;

    prepare(run, l, dtes64, CAPACITY);
    memcpy(before, l->area, sizeof(before));
    execute(l, w, mode);
    collect(l);
    expect_untouched(l, before);
    edges = resolve(run, w, &count);
    compare_trace(edges, count, l->records, l->count, &options, &result);
    if (!EXPECT(run, result.same, "%s in %s: %s, expected edge %zu of %zu, record %zu of %zu",
                name, mode_names[mode], result.what, result.expected_index, count,
                result.record_index, l->count) &&
        result.record_index < l->count)
        run_detail(run, "record %zu: %llx -> %llx", result.record_index,
                   (unsigned long long)l->records[result.record_index].from,
                   (unsigned long long)l->records[result.record_index].to);
    run_deferred_now(run);
}

static void in_protected_mode(struct run *run, enum dtes64 dtes64)
{
    static const char *const names[] = {"legacy.near", "legacy.far", "legacy.events"};
    struct legacy l;

    for (enum legacy_mode mode = LEGACY_PROTECTED; mode <= LEGACY_PAE; mode++)
        for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
            trace_legacy(run, &l, names[i], mode, dtes64);
}

static void in_real_mode(struct run *run, enum dtes64 dtes64)
{
    static const char *const names[] = {"real.near", "real.far", "real.events"};
    struct legacy l;

    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        trace_legacy(run, &l, names[i], LEGACY_REAL, dtes64);
}

/* The way there and back by itself, traced by nobody; ring 3 runs afterwards as before. */
CHECK(modes, .name = "guest.run.legacy", .clauses = "", .kind = SOFTWARE)
{
    struct guest_run after = {.workload = trace_find(run, "int80.row"), .ring = 3};

    open_low(run);
    for (enum legacy_mode mode = LEGACY_PROTECTED; mode <= LEGACY_REAL; mode++) {
        bool paged = mode == LEGACY_PAGED || mode == LEGACY_PAE;
        const char *name = mode == LEGACY_REAL ? "real.mode" : "legacy.mode";
        uint32_t cr0 = call_legacy(trace_find(run, name), mode);

        EXPECT(run, !(cr0 & CR0_PE) == (mode == LEGACY_REAL) && !(cr0 & CR0_PG) == !paged,
               "%s: CR0 is %x", mode_names[mode], cr0);
    }
    guest_run(trace_guest(run), &after);
    EXPECT_EQ(run, after.result, 6, "result of a ring-3 run afterwards");
}

CHECK(protected_mode, .name = "bts.legacy.protected",
      .clauses = "ENUM-05 REC-01 REC-02 GEN-03 GEN-06 MEM-02", .kind = MUST, .needs = NEED_BTS)
{
    in_protected_mode(run, DTES64_AS_IT_IS);
}

CHECK(real_mode, .name = "bts.legacy.real", .clauses = "RST-03 ENUM-05 REC-02", .kind = MUST,
      .needs = NEED_BTS)
{
    in_real_mode(run, DTES64_AS_IT_IS);
}

CHECK(layout_32, .name = "bts.legacy.layout_32", .clauses = "LAY-02 REC-01 ENUM-05 BUF-01",
      .kind = MUST, .needs = NEED_BTS)
{
    in_protected_mode(run, WITHOUT_DTES64);
    in_real_mode(run, WITHOUT_DTES64);
}

/* A buffer that wraps: only then base and maximum are looked at. */
static void wrap(struct run *run, enum legacy_mode mode, const char *name, enum dtes64 dtes64)
{
    const struct workload *w = trace_find(run, name);
    const struct expected_edge *edges;
    struct legacy l;
    unsigned bytes;
    size_t count;

    prepare(run, &l, dtes64, FEW);
    execute(&l, w, mode);
    bytes = l.layout->record_bytes;
    edges = resolve(run, w, &count);
    NEED(run, count > FEW, "%s does not fill the buffer", name);
    for (size_t i = count - FEW; i < count; i++) {
        struct bts_record r = ds_layout_record_get(l.layout, l.buffer + 64 + i % FEW * bytes);

        EXPECT(run, (uint32_t)r.from == edges[i].from && (uint32_t)r.to == edges[i].to,
               "%s: edge %zu of %zu is not in its slot", mode_names[mode], i, count);
    }
    EXPECT(run, all_canaries(l.buffer + 64 + FEW * bytes, l.buffer + LOW_BUFFER_BYTES),
           "%s: a byte at or beyond the maximum changed", mode_names[mode]);
    run_deferred_now(run);
}

CHECK(wraps, .name = "bts.legacy.wrap", .clauses = "LAY-02 BUF-02 BUF-05", .kind = MUST,
      .needs = NEED_BTS)
{
    wrap(run, LEGACY_PROTECTED, "legacy.near", WITHOUT_DTES64);
    wrap(run, LEGACY_REAL, "real.near", WITHOUT_DTES64);
}

/* Bits 63:32 for IA32_DS_AREA. */
CHECK(area_high, .name = "bts.legacy.area_high", .clauses = "DCTL-06", .kind = CHARACTERISE,
      .needs = NEED_BTS)
{
    static const char *const seen[] = {"gp", "drop", "keep"};
    struct legacy l;

    prepare(run, &l, DTES64_AS_IT_IS, CAPACITY);
    execute(&l, trace_find(run, "legacy.high_half"), LEGACY_PROTECTED);
    REQUIRE(run, l.result < 3, "the program returned %x", l.result);
    run_observe(run, "bts.area-high", "%s", seen[l.result]);
}

/* The index lies two records on, but for its upper half. */
CHECK(upper_fields, .name = "bts.legacy.upper_fields", .clauses = "LAY-09",
      .kind = CHARACTERISE, .needs = NEED_BTS)
{
    const char *seen = "nothing stored";
    struct legacy l;
    const uint8_t *third;

    prepare(run, &l, DTES64_AS_IT_IS, CAPACITY);
    if (l.layout != &ds_layout_64) {
        run_skip(run, "the fields have 32 bits here");
        return;
    }
    third = l.buffer + 64 + 2 * sizeof(struct bts_record);
    ds_layout_put(l.layout, l.area, DS_BTS_INDEX,
                  (1ull << 32) + l.base + 2 * sizeof(struct bts_record));
    execute(&l, trace_find(run, "legacy.far"), LEGACY_PROTECTED);
    if (!all_canaries(l.buffer, third))
        seen = "whole";
    else if (!all_canaries(third, l.buffer + LOW_BUFFER_BYTES))
        seen = "cut";
    EXPECT(run, all_canaries(l.area + 64, l.area + PAGE_BYTES),
           "bytes behind the area changed");
    run_observe(run, "bts.upper-fields", "%s", seen);
}

CHECK(upper_half, .name = "bts.legacy.upper_half", .clauses = "REC-05", .kind = CHARACTERISE,
      .needs = NEED_BTS)
{
    uint64_t upper = 0;
    struct legacy l;

    prepare(run, &l, DTES64_AS_IT_IS, CAPACITY);
    if (l.layout != &ds_layout_64) {
        run_skip(run, "records have 32-bit words here");
        return;
    }
    execute(&l, trace_find(run, "legacy.near"), LEGACY_PROTECTED);
    collect(&l);
    for (size_t i = 0; i < l.count; i++) {
        const uint64_t *words = (const uint64_t *)(uintptr_t)l.base + 3 * i;

        upper |= (words[0] | words[1]) >> 32;
    }
    EXPECT(run, l.count > 5, "only %zu records", l.count);
    run_observe(run, "bts.upper-half-protected", "%s", upper ? "ones" : "zero");
}

/* Real mode counts as CPL 0. */
CHECK(real_filter, .name = "bts.legacy.real_filter", .clauses = "CPL-02", .kind = CHARACTERISE,
      .needs = NEED_BTS | NEED_DS_CPL)
{
    struct legacy l;
    size_t os, usr;

    prepare(run, &l, DTES64_AS_IT_IS, CAPACITY);
    l.filter = DEBUGCTL_BTS_OFF_OS;
    execute(&l, trace_find(run, "real.near"), LEGACY_REAL);
    collect(&l);
    os = l.count;
    run_deferred_now(run);
    prepare(run, &l, DTES64_AS_IT_IS, CAPACITY);
    l.filter = DEBUGCTL_BTS_OFF_USR;
    execute(&l, trace_find(run, "real.near"), LEGACY_REAL);
    collect(&l);
    usr = l.count;
    EXPECT(run, (os == 0) != (usr == 0), "records under BTS_OFF_OS: %zu, BTS_OFF_USR: %zu", os,
           usr);
    run_observe(run, "bts.real-mode-cpl", "%u", os == 0 ? 0u : 3u);
}
