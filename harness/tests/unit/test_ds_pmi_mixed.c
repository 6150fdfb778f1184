/* SPDX-License-Identifier: BSD-2-Clause */
/* One interrupt for BTS, PEBS and counters that just count, in every combination. */
#include "ds/bts.h"
#include "ds/pmi.h"
#include "harness/tests/fakes/pebs_fixture.h"
#include "hw/irq.h"

#define TR       0x40ull
#define ALL      0x1C0ull
#define UNMASKED 0xE2u
#define MASKED   0x10000u
#define SLOTS    10
#define LIMIT    5 /* records at which either half interrupts */
#define COUNTER  2 /* the one that just counts */

static struct bts_record slots[SLOTS];
static struct bts bts;
static struct pmi pmi;
static enum pmi_verdict verdict;
static size_t branches;
static uint64_t overflowed;

static void keep_branches(void *context, const struct bts_record *records, size_t count)
{
    (void)context;
    (void)records;
    EXPECT_EQ(fake.debugctl & TR, 0);
    EXPECT(!pmi.pebs || !(fake.pebs_enable | fake.global_control));
    branches += count;
}

static void keep_samples(void *context, const struct pebs_sample *sample)
{
    EXPECT_EQ(fake.debugctl & TR, 0);
    EXPECT_EQ(fake.pebs_enable | fake.global_control, 0);
    keep(context, sample);
}

static void on_overflow(void *context, uint64_t which)
{
    EXPECT(context == &pmi);
    EXPECT_EQ(fake.global_control, 0);
    overflowed |= which;
    pmc_write(&pmc, COUNTER, pebs_reset_value(&pmc, COUNTER, 11));
}

static void on_interrupt(void)
{
    verdict = pmi_handle(&pmi);
}

enum { WITH_BTS = 1, WITH_PEBS = 2, WITH_COUNTER = 4 };

static void start(unsigned with, uint32_t lvt)
{
    const struct bts_config branch_config = {.base = (uintptr_t)slots,
                                             .bytes = sizeof(slots),
                                             .threshold_records = LIMIT,
                                             .interrupt = true};

    start_with(3);
    memset(&memory.area, 0, sizeof(memory.area));
    bts = (struct bts){0};
    pmi = (struct pmi){0};
    got_count = branches = overflowed = 0;
    verdict = (enum pmi_verdict)99;
    config.threshold_records = LIMIT;
    fake.interrupt = on_interrupt;
    if (with & WITH_BTS) {
        EXPECT_EQ(bts_setup(&bts, &memory.area, &branch_config, NULL), DS_OK);
        pmi.bts = &bts;
        pmi.sink = keep_branches;
    }
    if (with & WITH_PEBS) {
        EXPECT_EQ(pebs_setup(&pebs, &memory.area, &config, NULL), DS_OK);
        pmi.pebs = &pebs;
        pmi.samples = keep_samples;
    }
    if (with & WITH_COUNTER) {
        pmi.counters = 1 << COUNTER;
        pmi.overflow = on_overflow;
        pmi.overflow_context = &pmi;
    }
    EXPECT_EQ(pmi_arm(&pmi, lvt), DS_OK);
    if (with & WITH_PEBS)
        EXPECT_EQ(pebs_start(&pebs), DS_OK);
    if (with & WITH_COUNTER) {
        pmc_write(&pmc, COUNTER, pebs_reset_value(&pmc, COUNTER, 11));
        EXPECT_EQ(pmc_program(COUNTER, PMC_INSTRUCTIONS, PMC_USR | PMC_INT), 0);
        EXPECT_EQ(broker_count(BROKER_COUNTERS, 1 << COUNTER), DS_OK);
    }
    if (with & WITH_BTS)
        EXPECT_EQ(bts_start(&bts), DS_OK);
}

/* As before the interrupt, all that was on is on again, and nothing is left of it. */
static void expect_armed(unsigned with)
{
    EXPECT_EQ(fake.debugctl, with & WITH_BTS ? ALL : 0);
    EXPECT_EQ(fake.pebs_enable, with & WITH_PEBS ? 1 : 0);
    EXPECT_EQ(fake.global_control,
              (with & WITH_PEBS ? 1 : 0) | (with & WITH_COUNTER ? 1 << COUNTER : 0));
    EXPECT_EQ(fake.lvt, UNMASKED);
    EXPECT_EQ(fake.status, 0);
    EXPECT_EQ(fake.sampling_crashes + fake.area_moves + fake.crashes, 0);
}

/* Everything that is on runs for a while; each cause comes as often as it must. */
static void test_every_combination(void)
{
    for (unsigned with = 1; with < 8; with++) {
        start(with, UNMASKED);
        for (unsigned i = 0; i < 385 * PERIOD; i++) {
            fake_retire_some(i, 1);
            fake_branch(i, i + 1, 3);
        }
        EXPECT_EQ(pmi.claimed, with & WITH_BTS ? 385 * PERIOD / LIMIT : 0);
        EXPECT_EQ(branches, with & WITH_BTS ? 385 * PERIOD : 0);
        EXPECT_EQ(pmi.sampled.claimed, with & WITH_PEBS ? 385 / LIMIT : 0);
        EXPECT_EQ(got_count, with & WITH_PEBS ? 385 : 0);
        EXPECT_EQ(pmi.overflows, with & WITH_COUNTER ? 385 * PERIOD / 11 : 0);
        EXPECT_EQ(overflowed, with & WITH_COUNTER ? 1 << COUNTER : 0);
        EXPECT_EQ(pmi.foreign + pmi.stray + pmi.stuck + pmi.lost + pmi.bad + pmi.deferred, 0);
        EXPECT_EQ(pmi.sampled.lost + pmi.sampled.bad, 0);
        EXPECT_EQ(fake.dropped, 0);
        expect_armed(with);
        for (unsigned i = 0; i < got_count; i++)
            EXPECT_EQ(got[i].eventing_ip, (i + 1) * PERIOD - 1);
    }
}

/* All three at once, while interrupts were off: one interrupt serves them all. */
static void test_all_at_once(void)
{
    start(7, UNMASKED);
    fake.interrupts = false;
    fake_retire_some(0, LIMIT * PERIOD);
    for (unsigned i = 0; i < LIMIT; i++)
        fake_branch(i, i, 3);
    irq_restore(1);
    EXPECT_EQ(fake.delivered, 1);
    EXPECT_EQ(verdict, PMI_CLAIMED);
    EXPECT_EQ(pmi.claimed, 1);
    EXPECT_EQ(pmi.sampled.claimed, 1);
    EXPECT_EQ(pmi.overflows, 1);
    EXPECT_EQ(branches, LIMIT);
    EXPECT_EQ(got_count, LIMIT);
    expect_armed(7);
}

static unsigned order;

/* Counting off, PEBS off, status cleared, buffer read, entry unmasked, PEBS on, counting on. */
static void watch(enum fake_point point)
{
    bool counting = fake.global_control, sampling = fake.pebs_enable;
    bool rewound = memory.area.pebs_index == config.base;
    static const unsigned next[] = {1, 2, 3, 4, 5, 6, 7};
    bool now = false;

    switch (order) {
    case 0:
        now = point == FAKE_AFTER_WRITE && !counting && sampling;
        break;
    case 1:
        now = point == FAKE_AFTER_WRITE && !counting && !sampling && fake.status;
        break;
    case 2:
        now = point == FAKE_AFTER_WRITE && !fake.status && !rewound && !counting && !sampling;
        break;
    case 3:
        now = point == FAKE_APIC && rewound && !sampling && fake.lvt & MASKED;
        break;
    case 4:
        now = point == FAKE_BEFORE_WRITE && !(fake.lvt & MASKED) && !counting && !sampling;
        break;
    case 5:
        now = point == FAKE_AFTER_WRITE && sampling && !counting;
        break;
    case 6:
        now = point == FAKE_AFTER_WRITE && sampling && counting;
        break;
    }
    if (now)
        order = next[order];
}

static void test_order(void)
{
    start(WITH_PEBS, UNMASKED);
    order = 0;
    fake.hook = watch;
    fake_retire_some(0, LIMIT * PERIOD);
    EXPECT_EQ(order, 7);
    EXPECT_EQ(pmi.sampled.claimed, 1);
}

/* --- whose it is not */

static void test_foreign(void)
{
    start(WITH_PEBS | WITH_COUNTER, UNMASKED);
    fake_retire_some(0, PERIOD);
    fake.lvt |= MASKED;
    EXPECT_EQ(pmi_handle(&pmi), PMI_FOREIGN);
    EXPECT_EQ(pmi.foreign, 1);
    EXPECT_EQ(pmi.rearmed, 1);
    EXPECT_EQ(pmi.stray, 0);
    expect_armed(WITH_PEBS | WITH_COUNTER);
    /* A counter that is nobody's, the condition-changed bit: cleared and counted. */
    fake.status = 1ull << 63 | 2;
    EXPECT_EQ(pmi_handle(&pmi), PMI_FOREIGN);
    EXPECT_EQ(pmi.foreign, 2);
    EXPECT_EQ(pmi.stray, 1);
    EXPECT_EQ(pmi.stray_bits, 1ull << 63 | 2);
    expect_armed(WITH_PEBS | WITH_COUNTER);
    EXPECT_EQ(pebs_count(&pebs), 1);
    /* One that cannot be cleared ends the handler all the same. */
    fake.status = fake.status_stuck = 1ull << 55;
    EXPECT_EQ(pmi_handle(&pmi), PMI_FOREIGN);
    EXPECT_EQ(pmi.stuck, 1);
    EXPECT_EQ(fake.status_clears, 2);
}

/* Beside BTS alone the counters' registers are somebody else's. */
static void test_counters_of_others(void)
{
    unsigned reads;

    start(WITH_BTS, UNMASKED);
    fake.status = 1;
    fake.global_control = 3;
    reads = fake.writes_global + fake.status_clears;
    for (unsigned i = 0; i < LIMIT; i++)
        fake_branch(i, i, 3);
    EXPECT_EQ(pmi.claimed, 1);
    EXPECT_EQ(fake.writes_global + fake.status_clears, reads);
    EXPECT_EQ(fake.status, 1);
    EXPECT_EQ(fake.global_control, 3);
}

/* What was enabled beside us stands still in the handler and goes on after it. */
static void test_others_go_on(void)
{
    start_with(3);
    fake.global_control = 0x8;
    memset(&memory.area, 0, sizeof(memory.area));
    config.threshold_records = LIMIT;
    pmi = (struct pmi){.pebs = &pebs, .samples = keep_samples};
    got_count = 0;
    fake.interrupt = on_interrupt;
    EXPECT_EQ(pebs_setup(&pebs, &memory.area, &config, NULL), DS_OK);
    EXPECT_EQ(pmi_arm(&pmi, UNMASKED), DS_OK);
    EXPECT_EQ(pebs_start(&pebs), DS_OK);
    EXPECT_EQ(fake.global_control, 9);
    fake_retire_some(0, LIMIT * PERIOD);
    EXPECT_EQ(got_count, LIMIT);
    EXPECT_EQ(fake.global_control, 9);
    EXPECT_EQ(pebs_teardown(&pebs), DS_OK);
    EXPECT_EQ(fake.global_control, 8);
}

/* --- halves apart */

static void test_one_half_goes(void)
{
    start(WITH_BTS | WITH_PEBS, UNMASKED);
    EXPECT_EQ(bts_teardown(&bts), DS_OK);
    EXPECT_EQ(fake.ds_area, (uintptr_t)&memory.area);
    fake_retire_some(0, LIMIT * PERIOD);
    EXPECT_EQ(got_count, LIMIT);
    expect_armed(WITH_PEBS);
    EXPECT_EQ(pebs_teardown(&pebs), DS_OK);
    EXPECT_EQ(fake.ds_area, 0);

    start(WITH_BTS | WITH_PEBS, UNMASKED);
    EXPECT_EQ(pebs_teardown(&pebs), DS_OK);
    EXPECT_EQ(fake.ds_area, (uintptr_t)&memory.area);
    for (unsigned i = 0; i < LIMIT; i++)
        fake_branch(i, i, 3);
    EXPECT_EQ(branches, LIMIT);
    EXPECT_EQ(bts_teardown(&bts), DS_OK);
    EXPECT_EQ(fake.ds_area, 0);
    EXPECT_EQ(fake.area_moves + fake.crashes + fake.sampling_crashes, 0);
}

/* The area stays while either half is at work. */
static void test_area_stays(void)
{
    start(WITH_PEBS, UNMASKED);
    EXPECT_EQ(broker_set_ds_area(NULL), DS_EBUSY);
    EXPECT_EQ(pebs_stop(&pebs), DS_OK);
    EXPECT_EQ(broker_set_ds_area(NULL), DS_OK);
    EXPECT_EQ(broker_count(BROKER_PEBS, 1), DS_EFAULT);
    EXPECT_EQ(broker_count(BROKER_BTS, 1), DS_EINVAL);
    EXPECT_EQ(fake.pebs_enable, 0);
}

/* One counter has one client. */
static void test_counter_is_taken(void)
{
    start(WITH_COUNTER, UNMASKED);
    counters[0].counter = COUNTER;
    EXPECT_EQ(pebs_setup(&pebs, &memory.area, &config, NULL), DS_OK);
    EXPECT_EQ(pebs_start(&pebs), DS_EBUSY);
    EXPECT_EQ(fake.selects[COUNTER], 0x5100C0);
    EXPECT_EQ(broker_count(BROKER_COUNTERS, 0), DS_OK);
    EXPECT_EQ(pebs_start(&pebs), DS_OK);
    EXPECT_EQ(broker_count(BROKER_COUNTERS, 1 << COUNTER), DS_EBUSY);
    EXPECT_EQ(pebs_teardown(&pebs), DS_OK);
}

/* --- not now, not ever */

static void interrupted_sink(void *context, const struct pebs_sample *sample)
{
    keep_samples(context, sample);
    if (got_count == 1) {
        fake.lvt |= MASKED;
        EXPECT_EQ(pmi_handle(&pmi), PMI_DEFERRED);
        EXPECT_EQ(fake.lvt, UNMASKED);
        EXPECT(!pmi_poll(&pmi));
        EXPECT_EQ(fake.pebs_enable | fake.global_control, 0);
    }
}

static void test_handler_inside_handler(void)
{
    start(WITH_PEBS | WITH_COUNTER, UNMASKED);
    pmi.samples = interrupted_sink;
    fake_retire_some(0, LIMIT * PERIOD);
    EXPECT_EQ(pmi.sampled.claimed, 1);
    EXPECT_EQ(pmi.deferred, 1);
    EXPECT_EQ(got_count, LIMIT);
    expect_armed(WITH_PEBS | WITH_COUNTER);
}

static void test_keeps_without_sink(void)
{
    start(WITH_BTS | WITH_PEBS, UNMASKED);
    pmi.samples = NULL;
    fake_retire_some(0, 20 * PERIOD);
    EXPECT_EQ(pmi.sampled.claimed, 1);
    EXPECT_EQ(pebs_count(&pebs), LIMIT);
    EXPECT(!pebs_running(&pebs));
    expect_armed(WITH_BTS);
    for (unsigned i = 0; i < LIMIT; i++)
        fake_branch(i, i, 3);
    EXPECT_EQ(branches, LIMIT);
    EXPECT_EQ(pmi.sampled.claimed, 1); /* the records that wait are not claimed again */
}

static void test_poll(void)
{
    start(WITH_PEBS, UNMASKED);
    fake.interrupt = NULL;
    EXPECT(!pmi_poll(&pmi));
    fake.lvt = MASKED;
    fake_retire_some(0, 7 * PERIOD);
    EXPECT(pmi_poll(&pmi));
    EXPECT_EQ(pmi.polled, 1);
    EXPECT_EQ(got_count, 7);
    expect_armed(WITH_PEBS);
}

static void test_overrun(void)
{
    start(WITH_PEBS, UNMASKED);
    fake.interrupts = false;
    fake_retire_some(0, (RECORDS + 3) * PERIOD);
    irq_restore(1);
    EXPECT_EQ(pmi.sampled.claimed, 1);
    EXPECT_EQ(pmi.sampled.lost, 1);
    EXPECT_EQ(got_count, RECORDS);
    expect_armed(WITH_PEBS);
}

static void test_bad_index(void)
{
    start(WITH_PEBS, UNMASKED);
    memory.area.pebs_index = memory.area.pebs_threshold + 3;
    EXPECT_EQ(pmi_handle(&pmi), PMI_CLAIMED);
    EXPECT_EQ(pmi.sampled.bad, 1);
    EXPECT_EQ(got_count, 0);
    fake_retire_some(0, LIMIT * PERIOD);
    EXPECT_EQ(got_count, LIMIT);
    expect_armed(WITH_PEBS);
}

int main(void)
{
    RUN(test_every_combination);
    RUN(test_all_at_once);
    RUN(test_order);
    RUN(test_foreign);
    RUN(test_counters_of_others);
    RUN(test_others_go_on);
    RUN(test_one_half_goes);
    RUN(test_area_stays);
    RUN(test_counter_is_taken);
    RUN(test_handler_inside_handler);
    RUN(test_keeps_without_sink);
    RUN(test_poll);
    RUN(test_overrun);
    RUN(test_bad_index);
    UNIT_END();
}
