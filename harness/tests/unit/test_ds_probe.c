/* SPDX-License-Identifier: BSD-2-Clause */
/* The gate against a good processor and against each known kind of false promise. */
#include "ds/broker.h"
#include "ds/probe.h"
#include "harness/tests/fakes/fake_regs.h"
#include "harness/tests/fakes/unit.h"
#include "hw/paging.h"

#define LBR 0x1ull
#define TR  0x40ull
#define BTS 0x80ull

static struct ds_probe_report report;
static uint64_t ever;       /* DEBUGCTL bits that were ever set */
static uint64_t values[16]; /* each value that was written to it */
static unsigned value_count;
static bool tr_without_area, tr_with_interrupts, tr_unmasked;

static void watch(enum fake_point point)
{
    if (point != FAKE_AFTER_WRITE)
        return;
    ever |= fake.debugctl;
    if (value_count < 16 && (!value_count || values[value_count - 1] != fake.debugctl))
        values[value_count++] = fake.debugctl;
    if (fake.debugctl & TR) {
        tr_without_area |= !fake.ds_area;
        tr_with_interrupts |= fake.interrupts;
        tr_unmasked |= !(fake.lvt & 0x10000);
    }
}

static void start(void)
{
    fake_reset();
    fake.debugctl = 0x2000;
    broker_init();
    broker_set(BROKER_LBR, LBR);
    fake.lvt = 0xE5;
    fake.hook = watch;
    ever = value_count = 0;
    tr_without_area = tr_with_interrupts = tr_unmasked = false;
}

/* The verdict, and a machine that is afterwards as it was. */
static void expect_result(enum ds_probe_result result, unsigned stage, int vector)
{
    uint64_t debugctl = fake.debugctl, area = fake.ds_area;
    bool interrupts = fake.interrupts;

    EXPECT_EQ(ds_probe(&report), result);
    EXPECT_EQ(report.result, result);
    EXPECT_EQ(report.stage, stage);
    EXPECT_EQ(report.vector, vector);
    EXPECT_STR(report.reason, ds_probe_reason(result));
    EXPECT_EQ(fake.debugctl, debugctl);
    EXPECT_EQ(fake.ds_area, area);
    EXPECT_EQ(fake.lvt, 0xE5);
    EXPECT_EQ(fake.interrupts, interrupts);
    EXPECT_EQ(fake.crashes + fake.area_moves + fake.records, 0);
    EXPECT_EQ(fake.lvt_bad_writes, 0);
    EXPECT(!tr_without_area && !tr_with_interrupts && !tr_unmasked);
}

static void test_present(void)
{
    start();
    expect_result(DS_PROBE_PRESENT, 2, 0);
    EXPECT_EQ(ever & (TR | BTS), TR | BTS);
    EXPECT_EQ(report.moved, 0);
    EXPECT(report.dtes64 && report.ds_cpl);
    EXPECT_EQ(report.debugctl & (TR | BTS), TR | BTS);
    fake.interrupts = false;
    expect_result(DS_PROBE_PRESENT, 2, 0);
    fake.ds_cpl = fake.dtes64 = false;
    expect_result(DS_PROBE_PRESENT, 2, 0);
    EXPECT(!report.dtes64 && !report.ds_cpl);
}

/* Bit 7 alone, TR alone, both, with nothing left on in between. */
static void test_steps(void)
{
    const uint64_t kept = 0x2000 | LBR;
    const uint64_t want[] = {kept | BTS, kept, kept | TR, kept, kept | TR | BTS, kept};

    start();
    EXPECT_EQ(ds_probe(&report), DS_PROBE_PRESENT);
    ASSERT(value_count == 6);
    EXPECT(memcmp(values, want, sizeof(want)) == 0);
}

static void store_at_read(enum fake_point point)
{
    if (point == FAKE_READ)
        fake_branch(1, 2, 0);
}

/* A record out of nothing is reported, and left to a check to judge. */
static void test_stores_unasked(void)
{
    start();
    fake.hook = store_at_read;
    EXPECT_EQ(ds_probe(&report), DS_PROBE_PRESENT);
    EXPECT_EQ(report.moved, 24);
}

/* Nothing is written where enumeration already says no. */
static void test_enumeration(void)
{
    unsigned writes;

    start();
    writes = fake.writes_debugctl + fake.writes_ds_area;
    fake.ds = false;
    expect_result(DS_PROBE_NO_DS, 0, 0);
    fake.ds = true;
    fake.misc_enable = 1u << 11 | 1;
    expect_result(DS_PROBE_BTS_UNAVAILABLE, 0, 0);
    EXPECT_EQ(report.misc_enable, 1u << 11 | 1);
    fake.no_misc_enable = true;
    expect_result(DS_PROBE_NO_MISC_ENABLE, 0, 13);
    fake.no_misc_enable = false;
    fake.misc_enable = ~(uint64_t)(1u << 11);
    EXPECT_EQ(fake.writes_debugctl + fake.writes_ds_area, writes);
    expect_result(DS_PROBE_PRESENT, 2, 0);
    fake.no_debugctl = true;
    EXPECT_EQ(ds_probe(&report), DS_PROBE_NO_DEBUGCTL);
}

static void test_in_use(void)
{
    start();
    broker_raw_write_debugctl(TR);
    tr_without_area = tr_with_interrupts = tr_unmasked = false;
    EXPECT_EQ(ds_probe(&report), DS_PROBE_IN_USE);
    EXPECT_EQ(fake.debugctl, TR);
}

/* Stage 1 decides: TR was never set. */
static void test_bit_7(void)
{
    start();
    fake.debugctl_faults = BTS;
    expect_result(DS_PROBE_BTS_FAULTS, 1, 13);
    fake.debugctl_faults = 0;
    fake.debugctl_drops = BTS;
    expect_result(DS_PROBE_BTS_DROPPED, 1, 0);
    EXPECT_EQ(report.debugctl & BTS, 0);
    EXPECT_EQ(ever & TR, 0);
}

/* An emulator that ignores both registers. */
static void test_everything_dropped(void)
{
    fake_reset();
    fake.debugctl_drops = UINT64_MAX;
    fake.ds_area_drops = true;
    broker_init();
    fake.lvt = 0xE5;
    expect_result(DS_PROBE_BTS_DROPPED, 1, 0);
}

static void test_stage_2(void)
{
    start();
    fake.no_ds_area = true;
    expect_result(DS_PROBE_DS_AREA_FAULTS, 2, 13);
    EXPECT_EQ(ever & TR, 0);
    fake.no_ds_area = false;
    fake.ds_area_drops = true;
    expect_result(DS_PROBE_DS_AREA_DROPPED, 2, 0);
    EXPECT_EQ(ever & TR, 0);
    fake.ds_area_drops = false;
    fake.debugctl_faults = TR;
    expect_result(DS_PROBE_TR_FAULTS, 2, 13);
    fake.debugctl_faults = 0;
    fake.debugctl_drops = TR;
    expect_result(DS_PROBE_TR_DROPPED, 2, 0);
    EXPECT_EQ(ever & TR, 0);
}

static void test_area_unusable(void)
{
    start();
    fake_page((struct fake_page){.first = 0x1000, .bytes = 0x7FFF00000000, .flags = 0});
    expect_result(DS_PROBE_AREA_UNUSABLE, 2, 0);
    fake.pages[0].flags = PAGE_PRESENT | PAGE_WRITE | PAGE_USER;
    expect_result(DS_PROBE_AREA_UNUSABLE, 2, 0);
    EXPECT_EQ(ever & TR, 0);
}

/* One record, and a machine that is afterwards as it was. */
static void test_first_record(void)
{
    struct ds_first_record found;
    uint64_t debugctl, area;

    start();
    debugctl = fake.debugctl;
    area = fake.ds_area;
    ds_probe_first_record(&found);
    EXPECT_EQ(found.result, DS_PROBE_PRESENT);
    EXPECT_EQ(found.bytes, 24);
    EXPECT(found.expected);
    EXPECT_EQ(fake.debugctl, debugctl);
    EXPECT_EQ(fake.ds_area, area);
    EXPECT_EQ(fake.lvt, 0xE5);
    EXPECT_EQ(fake.crashes, 0);
    EXPECT(!tr_without_area && !tr_with_interrupts && !tr_unmasked);
    fake.debugctl_drops = TR;
    ds_probe_first_record(&found);
    EXPECT_EQ(found.bytes, 0);
    EXPECT(!found.expected);
    fake.debugctl_drops = 0;
    fake.ds_area_drops = true;
    ds_probe_first_record(&found);
    EXPECT_EQ(found.result, DS_PROBE_DS_AREA_DROPPED);
    EXPECT(!found.expected);
}

static void test_reasons_differ(void)
{
    for (int a = 0; a < DS_PROBE_RESULTS; a++) {
        EXPECT(strcmp(ds_probe_reason(a), "?") != 0);
        for (int b = 0; b < a; b++)
            EXPECT(strcmp(ds_probe_reason(a), ds_probe_reason(b)) != 0);
    }
    EXPECT_STR(ds_probe_reason(DS_PROBE_RESULTS), "?");
}

int main(void)
{
    RUN(test_present);
    RUN(test_steps);
    RUN(test_stores_unasked);
    RUN(test_enumeration);
    RUN(test_in_use);
    RUN(test_bit_7);
    RUN(test_everything_dropped);
    RUN(test_stage_2);
    RUN(test_area_unusable);
    RUN(test_first_record);
    RUN(test_reasons_differ);
    UNIT_END();
}
