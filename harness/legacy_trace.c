/* SPDX-License-Identifier: BSD-2-Clause */
/* Setting a trace outside IA-32e mode up, running it, reading and judging it. */
#include "harness/legacy_trace.h"

#include "ds/broker.h"
#include "guest/abi.h"
#include "guest/low.h"
#include "harness/gate.h"
#include "hw/cpuid.h"
#include "hw/low.h"
#include "hw/msr.h"
#include "hw/paging.h"
#include "hw/string.h"

#define EDGES 40

const char *const legacy_mode_names[LEGACY_MODES] = {"protected mode", "32-bit paging",
                                                     "PAE paging", "real mode"};

static void leave(void *arg)
{
    (void)arg;
    broker_raw_write_debugctl(0);
    broker_resync();
}

void legacy_open(struct run *run)
{
    if (!legacy_possible()) {
        run_skip(run, "firmware has no free memory below 1 MiB");
        run_stop(run);
    }
    NEED(run, guest_open_low(trace_guest(run)), "no view below 1 MiB");
    NEED(run, low_stack() <= LOW_AREA, "the guest region is too large for low memory");
    low_reset(trace_guest(run), 0);
}

/* Area and buffer, empty, in the layout that holds outside IA-32e mode. */
void legacy_prepare(struct run *run, struct legacy *l, enum dtes64 dtes64, size_t capacity)
{
    if (dtes64 == WITHOUT_DTES64 && cpu_has_dtes64())
        gate_require(run, "no-dtes64");
    legacy_open(run);
    memset(l, 0, sizeof(*l));
    l->run = run;
    l->layout = cpu_has_dtes64() ? &ds_layout_64 : &ds_layout_32;
    l->area = low_memory() + LOW_AREA;
    l->buffer = low_memory() + LOW_BUFFER;
    l->base = (uint64_t)(uintptr_t)l->buffer + LEGACY_OFFSET;
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

bool legacy_canaries(const uint8_t *from, const uint8_t *to)
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
    uint8_t *end = l->buffer + LEGACY_OFFSET + l->count * l->layout->record_bytes;

    EXPECT(l->run,
           memcmp(l->area, before, field) == 0 &&
               memcmp(l->area + 2 * field, before + 2 * field, PAGE_BYTES - 2 * field) == 0,
           "a byte of the area other than the index changed");
    EXPECT(l->run, legacy_canaries(l->buffer, l->buffer + LEGACY_OFFSET),
           "a byte before the buffer changed");
    EXPECT(l->run, legacy_canaries(end, l->buffer + LOW_BUFFER_BYTES),
           "a byte behind the records changed");
}

uint32_t legacy_call_program(const struct workload *w, enum legacy_mode mode,
                             const struct legacy_landing *landing)
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
        .landing = landing,
        .tss = mode == LEGACY_REAL ? 0 : low + low_data() + DATA_TASKS,
    };

    if (mode == LEGACY_REAL) {
        call.idt = low + low_data() + DATA_VECTORS;
        call.idt_limit = 0x3FF;
    }
    return legacy_run(&call);
}

void legacy_execute(struct legacy *l, const struct workload *w, enum legacy_mode mode)
{
    uint32_t low = (uint32_t)(uintptr_t)low_memory();
    uint32_t values[] = {MSR_IA32_DEBUGCTL, DEBUGCTL_TR | DEBUGCTL_BTS | l->filter,
                         MSR_IA32_DS_AREA, low + LOW_AREA};

    memcpy(low_memory() + low_data() + DATA_LEGACY, values, sizeof(values));
    NEED(l->run, broker_raw_write_ds_area(low + LOW_AREA) == 0, "IA32_DS_AREA faults");
    l->result = legacy_call_program(w, mode, NULL);
}

void legacy_collect(struct legacy *l)
{
    uint64_t bytes;

    l->index = ds_layout_get(l->layout, l->area, DS_BTS_INDEX);
    bytes = l->index - l->base;
    REQUIRE(l->run,
            bytes % l->layout->record_bytes == 0 &&
                bytes <= LEGACY_CAPACITY * l->layout->record_bytes,
            "the index is %llx, the buffer begins at %llx", (unsigned long long)l->index,
            (unsigned long long)l->base);
    l->count = bytes / l->layout->record_bytes;
    for (size_t i = 0; i < l->count; i++) {
        struct bts_record r = ds_layout_record_get(l->layout, l->buffer + LEGACY_OFFSET +
                                                                  i * l->layout->record_bytes);

        /* Upper halves are another check's. */
        l->records[i] = (struct trace_record){(uint32_t)r.from, (uint32_t)r.to, r.flags};
    }
}

const struct expected_edge *legacy_edges(struct run *run, const struct workload *w,
                                         size_t *count)
{
    static struct expected_edge edges[EDGES];
    struct guest_place place = guest_place(trace_guest(run), GUEST_COMPAT, 0);

    place.ring = 0;
    *count = edges_resolve(w, &place, edges, EDGES);
    NEED(run, *count <= EDGES, "%s has too many edges", w->name);
    return edges;
}

struct compare_result legacy_trace(struct run *run, struct legacy *l, const char *name,
                                   enum legacy_mode mode, enum dtes64 dtes64)
{
    static uint8_t before[PAGE_BYTES];
    const struct workload *w = trace_find(run, name);
    struct compare_options options = {.keep_kernel = true};
    const struct expected_edge *edges;
    struct compare_result result;
    size_t count;

    legacy_prepare(run, l, dtes64, LEGACY_CAPACITY);
    memcpy(before, l->area, sizeof(before));
    legacy_execute(l, w, mode);
    legacy_collect(l);
    expect_untouched(l, before);
    edges = legacy_edges(run, w, &count);
    compare_trace(edges, count, l->records, l->count, &options, &result);
    if (!EXPECT(run, result.same, "%s in %s: %s, expected edge %zu of %zu, record %zu of %zu",
                name, legacy_mode_names[mode], result.what, result.expected_index, count,
                result.record_index, l->count) &&
        result.record_index < l->count)
        run_detail(run, "record %zu: %llx -> %llx", result.record_index,
                   (unsigned long long)l->records[result.record_index].from,
                   (unsigned long long)l->records[result.record_index].to);
    run_deferred_now(run);
    return result;
}
