/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Format of a record.
 *
 * Claim: SDM Vol. 3, "BTS and DS Save Area", "64 Bit Format of the DS Save Area". In IA-32e
 * mode a record is from, to and flags, 8 bytes each; addresses are linear, canonical, and
 * `from` is the first byte of the branch instruction, prefixes included. How: raw quadwords of
 * a trace whose branches are known by their labels. Wrong if: the flags word is compared: only
 * bit 4 has a meaning, and not everywhere, so it is observed and never judged.
 */
#define CHECK_GROUP "22 bts.record"
#include "ds/broker.h"
#include "harness/fixture/trace.h"
#include "hw/paging.h"
#include "hw/string.h"

CHECK("bts.record.size", MUST, "REC-01 BUF-01", NEED_BTS)
{
    const struct workload *w = trace_find(run, "bench.loop");

    for (unsigned count = 1; count < 40; count += 3) {
        struct guest_run r = {.argument = count};
        struct trace t;
        size_t edges;

        trace_open(run, &t, &(struct trace_setup){.records = 64});
        trace_workload(&t, w, 0, &r);
        trace_expected(run, w, 0, count, &edges);
        EXPECT_EQ(run, t.index - t.base, edges * 24, "bytes the index advanced");
        run_deferred_now(run);
    }
}

CHECK("bts.record.fields", MUST, "REC-01 GEN-03", NEED_BTS)
{
    const struct workload *w = trace_find(run, "jmp.rel32");
    const struct expected_edge *e;
    const uint64_t *raw;
    struct trace t;
    size_t count;

    trace_open(run, &t, &(struct trace_setup){.records = 64});
    trace_workload(&t, w, 0, NULL);
    e = trace_expected(run, w, 0, 0, &count);
    raw = (const uint64_t *)(uintptr_t)t.base;
    REQUIRE(run, t.count == count, "%zu records, want %zu", t.count, count);
    for (size_t i = 0; i < count; i++, raw += 3) {
        trace_state_difference(run, raw[0], raw[1], e[i].from, e[i].to);
        EXPECT(run, raw[0] == e[i].from, "record %zu: quadword 0 is %lx, want from %lx", i,
               raw[0], e[i].from);
        EXPECT(run, raw[1] == e[i].to, "record %zu: quadword 1 is %lx, want to %lx", i, raw[1],
               e[i].to);
    }
}

CHECK("bts.record.flags", CHARACTERISE, "REC-03 REC-04", NEED_BTS)
{
    struct guest_run r = {.argument = 400};
    uint64_t any = 0, all = ~0ull;
    size_t predicted = 0;
    struct trace t;

    trace_open(run, &t, &(struct trace_setup){.records = 1024});
    trace_workload(&t, trace_find(run, "bench.loop"), 0, &r);
    REQUIRE(run, t.count >= 400, "only %zu records", t.count);
    for (size_t i = 0; i < t.count; i++) {
        any |= t.records[i].flags;
        all &= t.records[i].flags;
        predicted += (t.records[i].flags & BTS_FLAGS_PREDICTED) != 0;
    }
    run_observe(run, "bts.flags-or", "%lx", any);
    run_observe(run, "bts.flags-and", "%lx", all);
    run_observe(run, "bts.predicted-bit",
                predicted == 0         ? "0"
                : predicted == t.count ? "1"
                                       : "varies");
}

CHECK("bts.record.prefixes", MUST, "REC-07", NEED_BTS)
{
    static const char *const names[] = {"prefix.jmp", "prefix.jcc", "prefix.loop",
                                        "prefix.call", "prefix.longest"};

    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const struct workload *w = trace_find(run, names[i]);

        for (unsigned ring = 0; ring <= 3; ring += 3) {
            struct trace t;

            trace_open(run, &t, &(struct trace_setup){.records = 512});
            trace_workload(&t, w, ring, NULL);
            trace_expect_workload(&t, w, ring, NULL);
            run_deferred_now(run);
        }
    }
}

/* The guest region once more, at an address whose upper half is all ones. */
static void unmap_high(void *arg)
{
    (void)arg;
    for (uint64_t at = HIGH_WINDOW; at < HIGH_WINDOW + (uint64_t)(__guest_end - __guest_start);
         at += PAGE_BYTES)
        paging_unmap(paging_kernel_space(), at);
}

CHECK("bts.record.sign_extended", MUST, "REC-06", NEED_BTS)
{
    const struct workload *w = trace_find(run, "call.relative");
    struct guest_place place;
    static struct expected_edge edges[64];
    uint64_t at = HIGH_WINDOW;
    struct trace t;
    size_t count;

    trace_open(run, &t, &(struct trace_setup){.records = 64});
    run_defer(run, unmap_high, NULL);
    for (const uint8_t *code = __guest_start; code < __guest_end;
         code += PAGE_BYTES, at += PAGE_BYTES)
        NEED(run,
             paging_map(paging_kernel_space(), at, (uint64_t)(uintptr_t)code,
                        PAGE_PRESENT | PAGE_ACCESSED),
             "no page table for the high window");
    place = guest_place(trace_guest(run), 0, 0);
    place.base = HIGH_WINDOW;
    place.caller = (uint64_t)(uintptr_t)ds_bracket_call;
    place.back = (uint64_t)(uintptr_t)ds_bracket_return;
    count = edges_resolve(w, &place, edges, 64);
    NEED(run, count <= 64, "%s has too many edges", w->name);
    trace_call(&t, (uint64_t(*)(void *))(uintptr_t)(HIGH_WINDOW + (uint64_t)w->entry), NULL);
    REQUIRE(run, t.count == count, "%zu records, want %zu", t.count, count);
    for (size_t i = 0; i < count; i++) {
        trace_state_difference(run, t.records[i].from, t.records[i].to, edges[i].from,
                               edges[i].to);
        EXPECT(run, t.records[i].from == edges[i].from && t.records[i].to == edges[i].to,
               "record %zu: %lx -> %lx, want %lx -> %lx", i, t.records[i].from, t.records[i].to,
               edges[i].from, edges[i].to);
    }
}
