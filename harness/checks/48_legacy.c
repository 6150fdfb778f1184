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
#include "guest/low_view.h"
#include "harness/fixture/legacy_trace.h"
#include "hw/msr.h"

#define FEW 4

/* CR0 as the manual has it. */
#define CR0_PE 1u
#define CR0_PG 0x80000000u

static void in_protected_mode(struct run *run, enum dtes64 dtes64)
{
    static const char *const names[] = {"legacy.near", "legacy.far", "legacy.events"};
    struct legacy l;

    for (enum legacy_mode mode = LEGACY_PROTECTED; mode <= LEGACY_PAE; mode++)
        for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
            legacy_trace(run, &l, names[i], mode, dtes64);
}

static void in_real_mode(struct run *run, enum dtes64 dtes64)
{
    static const char *const names[] = {"real.near", "real.far", "real.events"};
    struct legacy l;

    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        legacy_trace(run, &l, names[i], LEGACY_REAL, dtes64);
}

/* The way there and back by itself, traced by nobody; ring 3 runs afterwards as before. */
CHECK("guest.run.legacy", SOFTWARE, "", NEED_NOTHING)
{
    struct guest_run after = {.workload = trace_find(run, "int80.row"), .ring = 3};

    legacy_open(run);
    for (enum legacy_mode mode = LEGACY_PROTECTED; mode <= LEGACY_REAL; mode++) {
        bool paged = mode == LEGACY_PAGED || mode == LEGACY_PAE;
        const char *name = mode == LEGACY_REAL ? "real.mode" : "legacy.mode";
        uint32_t cr0 = legacy_call_program(trace_find(run, name), mode, NULL);

        EXPECT(run, !(cr0 & CR0_PE) == (mode == LEGACY_REAL) && !(cr0 & CR0_PG) == !paged,
               "%s: CR0 is %x", legacy_mode_names[mode], cr0);
    }
    guest_run(trace_guest(run), &after);
    EXPECT_EQ(run, after.result, 6, "result of a ring-3 run afterwards");
}

CHECK("bts.legacy.protected", MUST, "ENUM-05 REC-01 REC-02 GEN-03 GEN-06 MEM-02", NEED_BTS)
{
    in_protected_mode(run, DTES64_AS_IT_IS);
}

CHECK("bts.legacy.real", MUST, "RST-03 ENUM-05 REC-02", NEED_BTS)
{
    in_real_mode(run, DTES64_AS_IT_IS);
}

CHECK("bts.legacy.layout_32", MUST, "LAY-02 REC-01 ENUM-05 BUF-01", NEED_BTS)
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

    legacy_prepare(run, &l, dtes64, FEW);
    legacy_execute(&l, w, mode);
    bytes = l.layout->record_bytes;
    edges = legacy_edges(run, w, &count);
    NEED(run, count > FEW, "%s does not fill the buffer", name);
    for (size_t i = count - FEW; i < count; i++) {
        struct bts_record r =
            ds_layout_record_get(l.layout, l.buffer + LEGACY_OFFSET + i % FEW * bytes);

        EXPECT(run, (uint32_t)r.from == edges[i].from && (uint32_t)r.to == edges[i].to,
               "%s: edge %zu of %zu is not in its slot", legacy_mode_names[mode], i, count);
    }
    EXPECT(run,
           legacy_canaries(l.buffer + LEGACY_OFFSET + FEW * bytes, l.buffer + LOW_BUFFER_BYTES),
           "%s: a byte at or beyond the maximum changed", legacy_mode_names[mode]);
    run_deferred_now(run);
}

CHECK("bts.legacy.wrap", MUST, "LAY-02 BUF-02 BUF-05", NEED_BTS)
{
    wrap(run, LEGACY_PROTECTED, "legacy.near", WITHOUT_DTES64);
    wrap(run, LEGACY_REAL, "real.near", WITHOUT_DTES64);
}

CHECK("bts.legacy.task_switch", CHARACTERISE, "GEN-13", NEED_BTS)
{
    static const char *const names[] = {"task.jump", "task.call"};
    uint32_t seen = 0, absent = 0;
    struct legacy l;

    for (enum legacy_mode mode = LEGACY_PROTECTED; mode <= LEGACY_PAE; mode++)
        for (unsigned i = 0; i < 2; i++) {
            struct compare_result r = legacy_trace(run, &l, names[i], mode, DTES64_AS_IT_IS);

            seen |= r.optional_seen;
            absent |= r.optional_absent;
        }
    run_observe(run, "bts.task-record", "%s",
                seen && absent ? "differs by kind"
                : seen         ? "yes"
                               : "no");
}

/* With TF, with TF and BTF. */
CHECK("bts.legacy.task_step", MUST, "BTF-03", NEED_BTS)
{
    for (uint32_t btf = 0; btf <= 1; btf++) {
        struct legacy l;

        legacy_prepare(run, &l, DTES64_AS_IT_IS, LEGACY_CAPACITY);
        l.filter = btf ? DEBUGCTL_BTF : 0;
        legacy_execute(&l, trace_find(run, "task.step"), LEGACY_PROTECTED);
        EXPECT_EQ(run, l.result, 1 + btf, "1: first trap behind an instruction, 2: a branch");
        run_deferred_now(run);
    }
}

/* Bits 63:32 for IA32_DS_AREA. */
CHECK("bts.legacy.area_high", CHARACTERISE, "DCTL-06", NEED_BTS)
{
    static const char *const seen[] = {"gp", "drop", "keep"};
    struct legacy l;

    legacy_prepare(run, &l, DTES64_AS_IT_IS, LEGACY_CAPACITY);
    legacy_execute(&l, trace_find(run, "legacy.high_half"), LEGACY_PROTECTED);
    REQUIRE(run, l.result < 3, "the program returned %x", l.result);
    run_observe(run, "bts.area-high", "%s", seen[l.result]);
}

/* The index lies two records on, but for its upper half. */
CHECK("bts.legacy.upper_fields", CHARACTERISE, "LAY-09", NEED_BTS)
{
    const char *seen = "nothing stored";
    struct legacy l;
    const uint8_t *third;

    legacy_prepare(run, &l, DTES64_AS_IT_IS, LEGACY_CAPACITY);
    if (l.layout != &ds_layout_64) {
        run_skip(run, "the fields have 32 bits here");
        return;
    }
    third = l.buffer + LEGACY_OFFSET + 2 * sizeof(struct bts_record);
    ds_layout_put(l.layout, l.area, DS_BTS_INDEX,
                  (1ull << 32) + l.base + 2 * sizeof(struct bts_record));
    legacy_execute(&l, trace_find(run, "legacy.far"), LEGACY_PROTECTED);
    if (!legacy_canaries(l.buffer, third))
        seen = "whole";
    else if (!legacy_canaries(third, l.buffer + LOW_BUFFER_BYTES))
        seen = "cut";
    EXPECT(run, legacy_canaries(l.area + 64, l.area + PAGE_BYTES),
           "bytes behind the area changed");
    run_observe(run, "bts.upper-fields", "%s", seen);
}

CHECK("bts.legacy.upper_half", CHARACTERISE, "REC-05", NEED_BTS)
{
    uint64_t upper = 0;
    struct legacy l;

    legacy_prepare(run, &l, DTES64_AS_IT_IS, LEGACY_CAPACITY);
    if (l.layout != &ds_layout_64) {
        run_skip(run, "records have 32-bit words here");
        return;
    }
    legacy_execute(&l, trace_find(run, "legacy.near"), LEGACY_PROTECTED);
    legacy_collect(&l);
    for (size_t i = 0; i < l.count; i++) {
        const uint64_t *words = (const uint64_t *)(uintptr_t)l.base + 3 * i;

        upper |= (words[0] | words[1]) >> 32;
    }
    EXPECT(run, l.count > 5, "only %zu records", l.count);
    run_observe(run, "bts.upper-half-protected", "%s", upper ? "ones" : "zero");
}

/* Real mode counts as CPL 0. */
CHECK("bts.legacy.real_filter", CHARACTERISE, "CPL-02", NEED_BTS | NEED_DS_CPL)
{
    struct legacy l;
    size_t os, usr;

    legacy_prepare(run, &l, DTES64_AS_IT_IS, LEGACY_CAPACITY);
    l.filter = DEBUGCTL_BTS_OFF_OS;
    legacy_execute(&l, trace_find(run, "real.near"), LEGACY_REAL);
    legacy_collect(&l);
    os = l.count;
    run_deferred_now(run);
    legacy_prepare(run, &l, DTES64_AS_IT_IS, LEGACY_CAPACITY);
    l.filter = DEBUGCTL_BTS_OFF_USR;
    legacy_execute(&l, trace_find(run, "real.near"), LEGACY_REAL);
    legacy_collect(&l);
    usr = l.count;
    EXPECT(run, (os == 0) != (usr == 0), "records under BTS_OFF_OS: %zu, BTS_OFF_USR: %zu", os,
           usr);
    run_observe(run, "bts.real-mode-cpl", "%u", os == 0 ? 0u : 3u);
}
