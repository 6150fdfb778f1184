/* SPDX-License-Identifier: BSD-2-Clause */
/* The PMI handler against an engine that really stores, crosses thresholds and interrupts. */
#include "ds/broker.h"
#include "ds/bts.h"
#include "ds/pmi.h"
#include "harness/tests/fakes/fake_regs.h"
#include "harness/tests/fakes/unit.h"
#include "hw/irq.h"

#include <stdalign.h>

#define TR    0x40ull
#define ALL   0x1C0ull /* TR, BTS, BTINT */
#define SLOTS 10
#define MASK  0x10000u
#define FIXED 0xE2u
#define NMI   0x400u

static alignas(4096) struct ds_area area;
static struct bts_record slots[SLOTS];
static struct bts bts;
static struct pmi pmi;
static uint64_t got[4096];
static size_t got_count;
static enum pmi_verdict verdict;
static unsigned skid; /* branches that the handler itself takes before it looks */

static void keep(void *context, const struct bts_record *records, size_t count)
{
    EXPECT(context == &pmi);
    EXPECT_EQ(fake.debugctl & TR, 0);
    for (size_t i = 0; i < count; i++)
        got[got_count++] = records[i].from;
}

static void on_interrupt(void)
{
    fake_branches(0xF000, skid);
    verdict = pmi_handle(&pmi);
}

static void start(size_t threshold, uint32_t lvt)
{
    const struct bts_config config = {
        .base = (uintptr_t)slots,
        .bytes = sizeof(slots),
        .threshold_records = threshold,
        .interrupt = true,
        .break_rules = threshold == SLOTS, /* no record of margin: refused otherwise */
    };

    fake_reset();
    broker_init();
    memset(&area, 0, sizeof(area));
    bts = (struct bts){0};
    pmi = (struct pmi){.bts = &bts, .sink = keep, .context = &pmi};
    got_count = 0;
    skid = 0;
    verdict = (enum pmi_verdict)99;
    EXPECT_EQ(bts_setup(&bts, &area, &config, NULL), DS_OK);
    EXPECT_EQ(pmi_arm(&pmi, lvt), DS_OK);
    fake.interrupt = on_interrupt;
}

/* got holds first..first+count-1 and nothing else. */
static void expect_got(uint64_t first, size_t count)
{
    bool same = got_count == count;

    for (size_t i = 0; same && i < count; i++)
        same = got[i] == first + i;
    EXPECT(same);
}

/* --- arming */

static void test_arm(void)
{
    start(5, FIXED);
    EXPECT_EQ(fake.lvt, FIXED);
    EXPECT_EQ(pmi_arm(&pmi, FIXED), DS_EBUSY);
    fake.lvt |= MASK;
    pmi_disarm(&pmi);
    EXPECT_EQ(fake.lvt, MASK);
    fake.lvt = 0x123;
    pmi_disarm(&pmi);
    EXPECT_EQ(fake.lvt, 0x123);
    EXPECT_EQ(fake.lvt_bad_writes, 0);
}

static void test_arm_refuses(void)
{
    const uint32_t bad[] = {0,           15, 0x200 | FIXED, 0x500, 0x700 | FIXED, MASK | FIXED,
                            0x1000 | NMI};

    start(5, FIXED);
    pmi_disarm(&pmi);
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        EXPECT_EQ(pmi_arm(&pmi, bad[i]), DS_EINVAL);
    EXPECT_EQ(fake.lvt, MASK);
    fake.lvt = MASK | 0x33;
    fake.lvt_drops = 2;
    EXPECT_EQ(pmi_arm(&pmi, FIXED), DS_EIO);
    EXPECT(!pmi.armed);
    EXPECT_EQ(fake.lvt, MASK | 0x31);
    fake.lvt_drops = 0;
    EXPECT_EQ(pmi_arm(&pmi, 16), DS_OK);
    pmi_disarm(&pmi);
    pmi.bts = NULL;
    EXPECT_EQ(pmi_arm(&pmi, FIXED), DS_EINVAL);
}

/* --- claiming */

static void test_no_interrupt_below_threshold(void)
{
    start(5, FIXED);
    bts_start(&bts);
    fake_branches(1, 4);
    EXPECT_EQ(fake.delivered, 0);
    fake_branches(5, 1);
    EXPECT_EQ(fake.delivered, 1);
    EXPECT_EQ(verdict, PMI_CLAIMED);
    expect_got(1, 5);
    EXPECT_EQ(pmi.skid, 0);
    EXPECT_EQ(fake.debugctl, ALL);
    EXPECT_EQ(fake.lvt, FIXED);
    EXPECT_EQ(area.bts_index, (uintptr_t)slots);
}

/* N thresholds, N interrupts, every record once and in order; fixed and NMI, both habits. */
static void test_many(void)
{
    for (unsigned mode = 0; mode < 8; mode++) {
        for (size_t threshold = 1; threshold <= SLOTS; threshold++) {
            bool rests = mode & 2;

            if (threshold == SLOTS && !rests)
                continue; /* an index that wraps at once never reaches the maximum */
            start(threshold, mode & 1 ? NMI : FIXED);
            fake.rests_at_maximum = rests;
            fake.stops_when_full = mode & 4;
            bts_start(&bts);
            fake_branches(1, 30 * threshold);
            EXPECT_EQ(fake.delivered, 30);
            EXPECT_EQ(pmi.claimed, 30);
            EXPECT_EQ(pmi.records, 30 * threshold);
            EXPECT_EQ(pmi.foreign + pmi.deferred + pmi.bad, 0);
            EXPECT_EQ(pmi.lost, threshold == SLOTS ? 30 : 0);
            EXPECT_EQ(fake.dropped, 0);
            expect_got(1, 30 * threshold);
        }
    }
}

static void test_skid(void)
{
    start(4, FIXED);
    skid = 3;
    bts_start(&bts);
    fake_branches(1, 4);
    EXPECT_EQ(pmi.skid, 3);
    EXPECT_EQ(got_count, 7);
    EXPECT_EQ(got[4], 0xF000);
    EXPECT_EQ(fake.dropped, 3); /* asked for again while the entry was masked */
    skid = 1;
    fake_branches(1, 4);
    EXPECT_EQ(pmi.skid, 1);
    EXPECT_EQ(pmi.skid_most, 3);
    EXPECT_EQ(pmi.claimed, 2);
}

/* Interrupts off for longer than the buffer lasts. */
static void test_overrun(void)
{
    for (int stops = 0; stops < 2; stops++) {
        start(4, FIXED);
        fake.rests_at_maximum = true;
        fake.stops_when_full = stops;
        bts_start(&bts);
        fake.interrupts = false;
        fake_branches(1, SLOTS);
        EXPECT_EQ(fake.delivered, 0);
        if (stops)
            fake_branches(SLOTS + 1, 5);
        EXPECT(fake.pending);
        irq_restore(1);
        EXPECT_EQ(pmi.claimed, 1);
        EXPECT_EQ(pmi.lost, 1);
        expect_got(1, SLOTS);
        EXPECT_EQ(pmi.skid, SLOTS - 4);
    }
}

/* It wrapped before anybody looked: the index is below the threshold again. */
static void test_wrapped_past_threshold(void)
{
    start(4, FIXED);
    bts_start(&bts);
    fake.interrupts = false;
    fake_branches(1, SLOTS + 2);
    irq_restore(1);
    EXPECT_EQ(pmi.foreign, 1);
    EXPECT_EQ(pmi.rearmed, 1);
    EXPECT_EQ(fake.lvt, FIXED);
    fake_branches(SLOTS + 3, 2);
    EXPECT_EQ(pmi.claimed, 1);
    EXPECT_EQ(pmi.lost, 1);
    expect_got(5, SLOTS);
}

/* --- not ours */

static void test_foreign(void)
{
    start(5, FIXED);
    bts_start(&bts);
    fake_branches(1, 3);
    /* An NMI from elsewhere leaves the entry as it is, and so do we. */
    EXPECT_EQ(pmi_handle(&pmi), PMI_FOREIGN);
    EXPECT_EQ(pmi.foreign, 1);
    EXPECT_EQ(pmi.rearmed, 0);
    /* A counter's interrupt through our entry masked it. */
    fake.lvt |= MASK;
    EXPECT_EQ(pmi_handle(&pmi), PMI_FOREIGN);
    EXPECT_EQ(pmi.rearmed, 1);
    EXPECT_EQ(fake.lvt, FIXED);
    EXPECT_EQ(fake.debugctl, ALL);
    EXPECT_EQ(got_count, 0);
    EXPECT_EQ(area.bts_index, (uintptr_t)(slots + 3));
    fake_branches(4, 2);
    expect_got(1, 5);
}

/* Latched, then the index was reset by a drain: must not cost us all later interrupts. */
static void test_stale_then_alive(void)
{
    start(3, FIXED);
    bts_start(&bts);
    fake.interrupts = false;
    fake_branches(1, 3);
    EXPECT(fake.pending);
    EXPECT_EQ(bts_stop(&bts), DS_OK);
    EXPECT_EQ(bts_drain(&bts, keep, &pmi, NULL), DS_OK);
    EXPECT_EQ(bts_start(&bts), DS_OK);
    irq_restore(1);
    EXPECT_EQ(verdict, PMI_FOREIGN);
    fake_branches(4, 3);
    EXPECT_EQ(pmi.claimed, 1);
    expect_got(1, 6);
}

static void test_foreign_without_setup(void)
{
    start(5, FIXED);
    bts_teardown(&bts);
    EXPECT_EQ(pmi_handle(&pmi), PMI_FOREIGN);
    EXPECT(!pmi_poll(&pmi));
    EXPECT_EQ(fake.debugctl, 0);
}

/* --- not now */

static void interrupted_sink(void *context, const struct bts_record *records, size_t count)
{
    keep(context, records, count);
    fake.lvt |= MASK;
    EXPECT_EQ(pmi_handle(&pmi), PMI_DEFERRED);
    EXPECT_EQ(fake.lvt, NMI);
    EXPECT(!pmi_poll(&pmi));
}

static void test_nmi_inside_drain(void)
{
    start(5, NMI);
    fake.interrupt = NULL;
    bts_start(&bts);
    fake_branches(1, 6);
    bts_stop(&bts);
    EXPECT_EQ(bts_drain(&bts, interrupted_sink, &pmi, NULL), DS_OK);
    expect_got(1, 6);
    EXPECT_EQ(pmi.deferred, 1);
    EXPECT_EQ(pmi.claimed, 0);
    EXPECT(!pmi_poll(&pmi));
}

/* The handler itself interrupted in its sink by an NMI that runs the same handler. */
static void test_handler_inside_handler(void)
{
    start(5, NMI);
    pmi.sink = interrupted_sink;
    bts_start(&bts);
    fake_branches(1, 10);
    EXPECT_EQ(pmi.claimed, 2);
    EXPECT_EQ(pmi.deferred, 2);
    expect_got(1, 10);
    EXPECT_EQ(fake.debugctl, ALL);
}

/* --- other outcomes */

static void test_poll_finds_a_lost_one(void)
{
    start(5, FIXED);
    fake.interrupt = NULL;
    bts_start(&bts);
    EXPECT(!pmi_poll(&pmi));
    fake.lvt = MASK;
    fake_branches(1, 7);
    EXPECT(pmi_poll(&pmi));
    EXPECT_EQ(pmi.polled, 1);
    EXPECT_EQ(pmi.claimed, 0);
    expect_got(1, 7);
    EXPECT_EQ(fake.lvt, FIXED);
    EXPECT_EQ(fake.debugctl, ALL);
}

static void test_one_shot(void)
{
    start(5, FIXED);
    pmi.one_shot = true;
    bts_start(&bts);
    fake_branches(1, 20);
    EXPECT_EQ(pmi.claimed, 1);
    expect_got(1, 5);
    EXPECT(!bts_running(&bts));
    EXPECT_EQ(bts_count(&bts), 0);
    EXPECT_EQ(fake.lvt, FIXED);
}

/* Without a sink the records wait in the buffer and nothing more is stored. */
static void test_keeps_without_sink(void)
{
    start(5, FIXED);
    pmi.sink = NULL;
    bts_start(&bts);
    fake_branches(1, 20);
    EXPECT_EQ(pmi.claimed, 1);
    EXPECT_EQ(pmi.records, 0);
    EXPECT_EQ(bts_count(&bts), 5);
    EXPECT(!bts_running(&bts));
    EXPECT_EQ(fake.lvt, FIXED);
    EXPECT_EQ(bts_stop(&bts), DS_OK);
    EXPECT_EQ(fake.debugctl, 0);
}

static void test_bad_index(void)
{
    start(5, FIXED);
    bts_start(&bts);
    area.bts_index = area.bts_threshold + 7;
    EXPECT_EQ(pmi_handle(&pmi), PMI_CLAIMED);
    area.bts_index = UINT64_MAX;
    EXPECT_EQ(pmi_handle(&pmi), PMI_CLAIMED);
    EXPECT_EQ(pmi.bad, 2);
    EXPECT_EQ(got_count, 0);
    EXPECT_EQ(area.bts_index, (uintptr_t)slots);
    fake_branches(1, 5);
    expect_got(1, 5);
}

/* A register that will not stop: the buffer is left alone and the handler comes to an end. */
static void test_cannot_stop(void)
{
    start(5, FIXED);
    bts_start(&bts);
    fake.debugctl_faults = UINT64_MAX;
    fake_branches(1, 5);
    EXPECT_EQ(pmi.bad, 1);
    EXPECT_EQ(got_count, 0);
    EXPECT_EQ(area.bts_index, (uintptr_t)(slots + 5));
}

/* A trace that was stopped before its interrupt came stays stopped. */
static void test_stays_stopped(void)
{
    start(5, FIXED);
    bts_start(&bts);
    fake.interrupts = false;
    fake_branches(1, 5);
    bts_stop(&bts);
    irq_restore(1);
    EXPECT_EQ(verdict, PMI_CLAIMED);
    expect_got(1, 5);
    EXPECT_EQ(fake.debugctl, 0);
}

/* Threshold beyond the maximum: full rings and no interrupt. */
static void test_beyond_never_interrupts(void)
{
    start(0, FIXED);
    bts_start(&bts);
    fake_branches(1, 5 * SLOTS);
    EXPECT_EQ(fake.delivered + fake.dropped, 0);
}

static unsigned order;

/* The manual's order, seen from the registers: TR off, drain, index, mask, TR on. */
static void watch(enum fake_point point)
{
    bool off = !(fake.debugctl & TR);
    bool drained = got_count == 5;
    bool rewound = area.bts_index == (uintptr_t)slots;

    if (point == FAKE_AFTER_WRITE && order == 0 && off && !drained)
        order = 1;
    else if (point == FAKE_APIC && order == 1 && off && drained && rewound && fake.lvt & MASK)
        order = 2;
    else if (point == FAKE_BEFORE_WRITE && order == 2 && off && !(fake.lvt & MASK))
        order = 3;
    else if (point == FAKE_AFTER_WRITE && order == 3 && !off)
        order = 4;
}

static void test_order(void)
{
    start(5, FIXED);
    bts_start(&bts);
    EXPECT_EQ(fake.lvt_bad_writes, 0);
    order = 0;
    fake.hook = watch;
    fake_branches(1, 5);
    EXPECT_EQ(order, 4);
}

static uint64_t branches_in_bracket(void *arg)
{
    fake_branches(1, 12);
    return (uintptr_t)arg;
}

static void test_inside_bracket(void)
{
    start(5, NMI);
    EXPECT_EQ(bts_bracket(&bts, branches_in_bracket, NULL, NULL), DS_OK);
    EXPECT_EQ(pmi.claimed, 2);
    EXPECT_EQ(got_count, 10);
    EXPECT_EQ(got[0], (uintptr_t)ds_bracket_call);
    EXPECT_EQ(got[9], 9);
    EXPECT_EQ(bts_count(&bts), 4);
    EXPECT_EQ(fake.debugctl, 0);
}

int main(void)
{
    RUN(test_arm);
    RUN(test_arm_refuses);
    RUN(test_no_interrupt_below_threshold);
    RUN(test_many);
    RUN(test_skid);
    RUN(test_overrun);
    RUN(test_wrapped_past_threshold);
    RUN(test_foreign);
    RUN(test_stale_then_alive);
    RUN(test_foreign_without_setup);
    RUN(test_nmi_inside_drain);
    RUN(test_handler_inside_handler);
    RUN(test_poll_finds_a_lost_one);
    RUN(test_one_shot);
    RUN(test_keeps_without_sink);
    RUN(test_bad_index);
    RUN(test_cannot_stop);
    RUN(test_stays_stopped);
    RUN(test_beyond_never_interrupts);
    RUN(test_order);
    RUN(test_inside_bracket);
    UNIT_END();
}
