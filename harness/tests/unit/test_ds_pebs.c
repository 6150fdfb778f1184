/* SPDX-License-Identifier: BSD-2-Clause */
/* The PEBS half on counters that really count: set-up and its refusals, samples, reading. */
#include "ds/refusal.h"
#include "harness/tests/fakes/pebs_fixture.h"

static struct pebs_memory saved;

/* --- set-up */

static void test_setup_fills_the_area(void)
{
    unsigned writes;

    for (unsigned format = 0; format < FORMATS; format++) {
        start_with(format);
        writes = fake.writes_ds_area + fake.writes_pebs + fake.writes_global;
        config.threshold_records = 6;
        EXPECT_EQ(pebs_setup(&pebs, &memory.area, &config, NULL), DS_OK);
        EXPECT_EQ(fake.writes_ds_area + fake.writes_pebs + fake.writes_global, writes);
        EXPECT_EQ(pebs.record_bytes, sizes[format]);
        EXPECT_EQ(pebs.capacity, RECORDS);
        EXPECT_EQ(memory.area.pebs_base, config.base);
        EXPECT_EQ(memory.area.pebs_index, config.base);
        EXPECT_EQ(memory.area.pebs_maximum, config.base + RECORDS * sizes[format]);
        EXPECT_EQ(memory.area.pebs_threshold, config.base + 6 * sizes[format]);
        EXPECT_EQ(memory.area.pebs_reset[0], MASK(48) - PERIOD + 1);
        EXPECT_EQ(memory.area.pebs_reset[1], 0);
        EXPECT_EQ(memory.area.bts_base, 0xA7A7A7A7A7A7A7A7);
        EXPECT_EQ(memory.area.bts_threshold, 0xA7A7A7A7A7A7A7A7);
        expect_canaries();
        config.threshold_records = 0;
        EXPECT_EQ(pebs_setup(&pebs, &memory.area, &config, NULL), DS_OK);
        EXPECT(memory.area.pebs_threshold > memory.area.pebs_maximum);
    }
}

/* Refused with exactly this reason, and not a byte or a register is different. */
static void expect_refused(enum ds_refusal refusal)
{
    struct pebs before = pebs;
    unsigned writes = fake.writes_ds_area + fake.writes_pebs + fake.writes_global;
    const char *why = NULL;

    memcpy(&saved, &memory, sizeof(memory));
    EXPECT_EQ(pebs_setup(&pebs, &memory.area, &config, &why), ds_refusal_error(refusal));
    EXPECT_STR(why, ds_refusal_reason(refusal));
    EXPECT(memcmp(&saved, &memory, sizeof(memory)) == 0);
    EXPECT(memcmp(&before, &pebs, sizeof(pebs)) == 0);
    EXPECT_EQ(fake.writes_ds_area + fake.writes_pebs + fake.writes_global, writes);
}

static void test_refuses_processors(void)
{
    start_with(0);
    config.pmc = NULL;
    expect_refused(DS_REFUSED_NO_PEBS);
    config.pmc = &pmc;
    fake.misc_enable |= 1ull << 12;
    pmc_identify(&pmc);
    expect_refused(DS_REFUSED_NO_PEBS);
    for (unsigned format = FORMATS; format < 16; format++) {
        start_with(0);
        fake.capabilities = 0x60C0 | format << 8;
        pmc_identify(&pmc);
        expect_refused(DS_REFUSED_FORMAT);
    }
}

static void test_refuses_groups(void)
{
    for (unsigned bit = 0; bit < 64; bit++) {
        start_with(3);
        config.groups = 1ull << bit;
        expect_refused(DS_REFUSED_GROUPS);
        start_with(4);
        config.groups = 1ull << bit;
        if (config.groups & ~PEBS_GROUPS)
            expect_refused(DS_REFUSED_GROUPS);
    }
}

static void test_refuses_counters(void)
{
    start_with(3);
    config.counter_count = 0;
    expect_refused(DS_REFUSED_NO_COUNTER);
    config.counter_count = PEBS_COUNTERS_MOST + 1;
    expect_refused(DS_REFUSED_COUNTERS_MANY);
    config.counter_count = 1;
    for (unsigned counter = 4; counter < 80; counter++) {
        counters[0].counter = counter;
        expect_refused(counter >= 32 && counter < 35 ? DS_REFUSED_COUNTER_NO_PEBS
                                                     : DS_REFUSED_COUNTER_ABSENT);
    }
    counters[0].counter = UINT32_MAX;
    expect_refused(DS_REFUSED_COUNTER_ABSENT);
    counters[0].counter = 0;
    counters[1] = counters[0];
    config.counter_count = 2;
    expect_refused(DS_REFUSED_COUNTER_TWICE);
    config.counter_count = 1;
    counters[0].event = PMC_EVENTS_KNOWN;
    expect_refused(DS_REFUSED_COUNTER_EVENT);
    start_with(4);
    counters[0].counter = PMC_FIXED;
    counters[0].event = PMC_BRANCHES;
    expect_refused(DS_REFUSED_COUNTER_EVENT);
    counters[0].event = PMC_INSTRUCTIONS;
    EXPECT_EQ(pebs_setup(&pebs, &memory.area, &config, NULL), DS_OK);
}

static void test_refuses_resets(void)
{
    start_with(3);
    counters[0].reset = 0;
    expect_refused(DS_REFUSED_RESET_ZERO);
    for (unsigned bit = 48; bit < 64; bit++) {
        counters[0].reset = 1ull << bit | 1ull << 47;
        expect_refused(DS_REFUSED_RESET_WIDTH);
    }
    counters[0].reset = UINT64_MAX;
    expect_refused(DS_REFUSED_RESET_WIDTH);
    for (unsigned bit = 0; bit < 47; bit++) {
        counters[0].reset = 1ull << bit;
        expect_refused(DS_REFUSED_RESET_SIGN);
    }
    counters[0].reset = MASK(47);
    expect_refused(DS_REFUSED_RESET_SIGN);
    counters[0].reset = 1ull << 47;
    EXPECT_EQ(pebs_setup(&pebs, &memory.area, &config, NULL), DS_OK);
    /* A processor that takes 32 bits and extends them cannot begin so far away. */
    fake.capabilities &= ~0x2000ull;
    pmc_identify(&pmc);
    expect_refused(DS_REFUSED_RESET_REACH);
    counters[0].reset = pebs_reset_value(&pmc, 0, (1ull << 31) + 1);
    expect_refused(DS_REFUSED_RESET_REACH);
    counters[0].reset = pebs_reset_value(&pmc, 0, 1ull << 31);
    EXPECT_EQ(pebs_setup(&pebs, &memory.area, &config, NULL), DS_OK);
    counters[0].reset = pebs_reset_value(&pmc, 0, 1);
    EXPECT_EQ(counters[0].reset, MASK(48));
    EXPECT_EQ(pebs_setup(&pebs, &memory.area, &config, NULL), DS_OK);
}

static void test_refuses_buffers(void)
{
    size_t bytes;

    start_with(1);
    bytes = config.bytes;
    config.bytes = 0;
    expect_refused(DS_REFUSED_NO_BUFFER);
    config.bytes = sizes[1] - 1;
    expect_refused(DS_REFUSED_TOO_SMALL);
    config.bytes = sizes[1];
    expect_refused(DS_REFUSED_TOO_SMALL);
    config.bytes = bytes + 8;
    expect_refused(DS_REFUSED_NOT_WHOLE);
    config.bytes = bytes;
    config.base += 2;
    expect_refused(DS_REFUSED_BASE_ALIGNMENT);
    config.base -= 2;
    config.threshold_records = RECORDS;
    expect_refused(DS_REFUSED_THRESHOLD_OUTSIDE);
    config.threshold_records = 0;
    config.user = false;
    expect_refused(DS_REFUSED_NO_RINGS);
    config.user = true;
    config.base = 1ull << 47;
    expect_refused(DS_REFUSED_BUFFER_NOT_CANONICAL);
    config.base = (uintptr_t)&memory.area;
    expect_refused(DS_REFUSED_OVERLAP);
    config.base = (uintptr_t)memory.buffer;
    memory.area.bts_base = config.base + bytes - 1;
    memory.area.bts_maximum = config.base + bytes;
    expect_refused(DS_REFUSED_OTHER_HALF);
    memory.area.bts_base++;
    memory.area.bts_maximum++;
    EXPECT_EQ(pebs_setup(&pebs, &memory.area, &config, NULL), DS_OK);
    fake_page((struct fake_page){.first = config.base & ~4095ull, .bytes = 4096});
    expect_refused(DS_REFUSED_BUFFER_NOT_MAPPED);
}

/* --- sampling */

/* A record every PERIOD instructions, in every format, with all that it holds. */
static void test_samples(void)
{
    for (unsigned format = 0; format < FORMATS; format++) {
        size_t count = 0;

        set_up_with(format);
        got_count = 0;
        EXPECT_EQ(pebs_start(&pebs), DS_OK);
        EXPECT(pebs_running(&pebs));
        fake_retire_some(0x1000, 3 * PERIOD + 2);
        EXPECT_EQ(pebs_drain(&pebs, SIZE_MAX, keep, NULL, &count), DS_EBUSY);
        EXPECT_EQ(pebs_stop(&pebs), DS_OK);
        EXPECT_EQ(fake.pebs_enable | fake.global_control | fake.selects[0], 0);
        EXPECT_EQ(pebs_count(&pebs), 3);
        EXPECT_EQ(pebs_drain(&pebs, SIZE_MAX, keep, NULL, &count), DS_OK);
        EXPECT_EQ(count, 3);
        for (unsigned i = 0; i < 3; i++) {
            uint64_t ip = 0x1000 + (i + 1) * PERIOD - 1;

            EXPECT_EQ(got[i].bytes, sizes[format]);
            EXPECT_EQ(got[i].ip, ip + 1);
            EXPECT_EQ(pebs_sample_address(&got[i]), format >= 2 ? ip : ip + 1);
            EXPECT_EQ(got[i].flags, 0x202);
            for (unsigned k = 0; k < 16; k++)
                EXPECT_EQ(got[i].gprs[k], ip << 8 | k);
            EXPECT_EQ(got[i].applicable, format >= 3);
            EXPECT_EQ(got[i].tsc, format >= 3 ? 1000 + ip : 0);
            EXPECT((got[i].valid & PEBS_TSC) == (format >= 3 ? PEBS_TSC : 0));
        }
        expect_canaries();
        EXPECT_EQ(pebs_teardown(&pebs), DS_OK);
        EXPECT_EQ(fake.ds_area, 0);
        EXPECT_EQ(memory.area.pebs_base | memory.area.pebs_reset[0], 0);
        EXPECT_EQ(fake.area_moves + fake.sampling_crashes, 0);
    }
}

/* One page is all, whoever asks; and only the first counter. */
static void test_refuses_by_quirk(void)
{
    start_with(0);
    pmc.pebs_one_page = true;
    config.bytes = 28 * 0x90;
    EXPECT_EQ(pebs_setup(&pebs, &memory.area, &config, NULL), DS_OK);
    start_with(0);
    pmc.pebs_one_page = true;
    config.bytes = 29 * 0x90;
    config.break_rules = true;
    expect_refused(DS_REFUSED_TOO_LONG);
    start_with(0);
    pmc.pebs_first_only = true;
    counters[0].counter = 1;
    expect_refused(DS_REFUSED_COUNTER_NO_PEBS);
}

/* Every group at once, made by hand: each is found behind the one before it. */
static void test_long_record(void)
{
    const struct pebs_format *format = pebs_format_find(&ds_layout_64, 4);
    uint64_t raw[4 + 4 + 18 + 32 + 2 * 3];
    const unsigned xmms = 4 + 4 + 18, lbrs = xmms + 32;
    struct pebs_sample sample;
    size_t at = 0;

    for (unsigned i = 1; i < sizeof(raw) / 8; i++)
        raw[i] = i;
    raw[0] = PEBS_GROUP_MEMORY | PEBS_GROUP_GPRS | PEBS_GROUP_XMMS | PEBS_GROUP_BRANCHES(2) |
             (uint64_t)sizeof(raw) << 48;
    EXPECT(pebs_next(format, raw, sizeof(raw), &at, &sample));
    EXPECT_EQ(at, sizeof(raw));
    EXPECT_EQ(sample.lbr_count, 2);
    EXPECT(sample.valid & PEBS_XMMS && sample.valid & PEBS_LBRS);
    EXPECT_EQ(pebs_sample_xmm(&sample, 15).high, xmms + 31);
    EXPECT_EQ(pebs_sample_xmm(&sample, 16).low, 0);
    EXPECT_EQ(pebs_sample_branch(&sample, 0).from, lbrs);
    EXPECT_EQ(pebs_sample_branch(&sample, 1).info, lbrs + 5);
    EXPECT_EQ(pebs_sample_branch(&sample, 2).to, 0);
    raw[0] &= ~PEBS_GROUP_XMMS; /* the size is then that of other groups */
    at = 0;
    EXPECT(!pebs_next(format, raw, sizeof(raw), &at, &sample));
    raw[0] = (uint64_t)32 << 48;
    EXPECT(pebs_next(format, raw, sizeof(raw), &at, &sample));
    EXPECT_EQ(pebs_sample_xmm(&sample, 0).low, 0);
}

/* Without its registers an adaptive record is the first group alone. */
static void test_basic_group(void)
{
    start_with(4);
    config.groups = 0;
    config.bytes = RECORDS * 32;
    counters[0].counter = PMC_FIXED;
    EXPECT_EQ(pebs_setup(&pebs, &memory.area, &config, NULL), DS_OK);
    EXPECT_EQ(memory.area.pebs_reset[8], MASK(48) - PERIOD + 1);
    got_count = 0;
    EXPECT_EQ(pebs_start(&pebs), DS_OK);
    fake_retire_some(0x1000, 2 * PERIOD);
    EXPECT_EQ(pebs_stop(&pebs), DS_OK);
    EXPECT_EQ(fake.fixed_control, 0);
    EXPECT_EQ(pebs_drain(&pebs, SIZE_MAX, keep, NULL, NULL), DS_OK);
    EXPECT_EQ(got_count, 2);
    EXPECT_EQ(got[1].valid, PEBS_EVENTING_IP | PEBS_APPLICABLE | PEBS_TSC);
    EXPECT_EQ(got[1].eventing_ip, 0x1000 + 2 * PERIOD - 1);
    EXPECT_EQ(got[1].applicable, 1ull << 32);
}

/* Stopping in the middle of a period loses none of it. */
static void test_period_goes_on(void)
{
    set_up_with(2);
    got_count = 0;
    for (unsigned i = 0; i < 5 * PERIOD; i++) {
        EXPECT_EQ(pebs_start(&pebs), DS_OK);
        fake_retire_some(i, 1);
        EXPECT_EQ(pebs_stop(&pebs), DS_OK);
        fake_retire_some(0xDEAD, 3);
    }
    EXPECT_EQ(pebs_drain(&pebs, SIZE_MAX, keep, NULL, NULL), DS_OK);
    EXPECT_EQ(got_count, 5);
    EXPECT_EQ(got[4].eventing_ip, 5 * PERIOD - 1);
}

static void test_full(void)
{
    set_up_with(0);
    got_count = 0;
    pebs_start(&pebs);
    fake_retire_some(0, (RECORDS - 1) * PERIOD);
    EXPECT(!pebs_full(&pebs));
    fake_retire_some(0, 5 * PERIOD);
    EXPECT(pebs_full(&pebs));
    EXPECT_EQ(fake.pebs_skipped, 4);
    pebs_stop(&pebs);
    EXPECT_EQ(pebs_drain(&pebs, SIZE_MAX, keep, NULL, NULL), DS_OK);
    EXPECT_EQ(got_count, RECORDS);
    EXPECT(!pebs_full(&pebs));
    expect_canaries();
}

static void test_drains_some(void)
{
    size_t count;

    set_up_with(3);
    got_count = 0;
    pebs_start(&pebs);
    fake_retire_some(0, 8 * PERIOD);
    pebs_stop(&pebs);
    for (unsigned i = 0; i < 3; i++) {
        EXPECT_EQ(pebs_drain(&pebs, 3, keep, NULL, &count), DS_OK);
        EXPECT_EQ(count, i < 2 ? 3 : 2);
    }
    EXPECT_EQ(pebs_count(&pebs), 0);
    for (unsigned i = 0; i < 8; i++)
        EXPECT_EQ(got[i].eventing_ip, (i + 1) * PERIOD - 1);
    fake_retire_some(0, PERIOD);
    EXPECT_EQ(pebs_count(&pebs), 0);
    pebs_start(&pebs);
    fake_retire_some(0, PERIOD);
    pebs_stop(&pebs);
    EXPECT_EQ(pebs_count(&pebs), 1);
    EXPECT_EQ(pebs_reset(&pebs), DS_OK);
    EXPECT_EQ(pebs_count(&pebs), 0);
}

/* Two counters at once, each with its own period; the ring filter is obeyed. */
static void test_two_counters(void)
{
    unsigned of[2] = {0};

    start_with(3);
    counters[1] = (struct pebs_counter){3, PMC_BRANCHES, -5ull & MASK(48)};
    config.counter_count = 2;
    EXPECT_EQ(pebs_setup(&pebs, &memory.area, &config, NULL), DS_OK);
    EXPECT_EQ(memory.area.pebs_reset[3], MASK(48) - 4);
    got_count = 0;
    pebs_start(&pebs);
    EXPECT_EQ(fake.pebs_enable, 9);
    fake_retire(&(struct fake_state){0}, true, 0);
    EXPECT_EQ(fake.counters[0], counters[0].reset);
    fake_retire_some(0, 4 * PERIOD);
    pebs_stop(&pebs);
    pebs_drain(&pebs, SIZE_MAX, keep, NULL, NULL);
    for (size_t i = 0; i < got_count; i++)
        of[got[i].applicable == 8]++;
    EXPECT_EQ(of[0], 4);
    EXPECT_EQ(of[1], 4 * PERIOD / 2 / 5);
}

static void test_resets(void)
{
    const char *why = NULL;
    uint64_t reset = MASK(48) - PERIOD + 1;

    set_up_with(1);
    for (unsigned counter = 1; counter < 80; counter++) {
        EXPECT_EQ(pebs_set_reset(&pebs, counter, reset, &why), DS_EINVAL);
        EXPECT_STR(why, "the processor has no such counter");
    }
    EXPECT_EQ(pebs_set_reset(&pebs, 0, 0, &why), DS_EINVAL);
    EXPECT_STR(why, "the counter reset is 0");
    EXPECT_EQ(pebs_set_reset(&pebs, 0, 1, &why), DS_EINVAL);
    EXPECT_STR(why, "the counter reset is not negative");
    EXPECT_EQ(pebs_set_reset(&pebs, 0, 1ull << 48, &why), DS_EINVAL);
    EXPECT_STR(why, "the counter reset is wider than the counter");
    EXPECT_EQ(memory.area.pebs_reset[0], MASK(48) - PERIOD + 1);
    pebs_start(&pebs);
    fake_retire_some(0, 3);
    EXPECT_EQ(pebs_set_reset(&pebs, 0, pebs_reset_value(&pmc, 0, 2), &why), DS_OK);
    fake_retire_some(0, PERIOD - 3 + 2);
    EXPECT_EQ(pebs_count(&pebs), 2);
}

static void test_bad_index(void)
{
    const uint64_t bad[] = {0, 1, sizes[1] - 1, RECORDS * sizes[1] + sizes[1], UINT64_MAX};

    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        set_up_with(1);
        memory.area.pebs_index = i ? config.base + bad[i] : 0;
        EXPECT_EQ(pebs_count(&pebs), 0);
        got_count = 0;
        EXPECT_EQ(pebs_drain(&pebs, SIZE_MAX, keep, NULL, NULL), DS_EIO);
        EXPECT_EQ(got_count, 0);
        EXPECT_EQ(memory.area.pebs_index, config.base);
    }
    /* A record in the middle that says that it is longer. */
    set_up_with(4);
    got_count = 0;
    pebs_start(&pebs);
    fake_retire_some(0, 5 * PERIOD);
    pebs_stop(&pebs);
    memory.buffer[3 * sizes[4] + 6]++;
    EXPECT_EQ(pebs_drain(&pebs, SIZE_MAX, keep, NULL, NULL), DS_EIO);
    EXPECT_EQ(got_count, 3);
    EXPECT_EQ(pebs_count(&pebs), 0);
}

static void test_without_setup(void)
{
    start_with(0);
    EXPECT_EQ(pebs_start(&pebs), DS_ESRCH);
    EXPECT_EQ(pebs_stop(&pebs), DS_ESRCH);
    EXPECT_EQ(pebs_teardown(&pebs), DS_ESRCH);
    EXPECT_EQ(pebs_reset(&pebs), DS_ESRCH);
    EXPECT_EQ(pebs_drain(&pebs, 1, keep, NULL, NULL), DS_ESRCH);
    EXPECT_EQ(pebs_set_reset(&pebs, 0, 1, NULL), DS_ESRCH);
    EXPECT(!pebs_running(&pebs) && !pebs_full(&pebs) && !pebs_at_threshold(&pebs));
}

/* Every register that can refuse: nothing is left on, and DS_AREA stays good. */
static void test_registers_refuse(void)
{
    set_up_with(3);
    fake.pebs_faults = 1;
    EXPECT_EQ(pebs_start(&pebs), DS_EOPNOTSUPP);
    EXPECT_EQ(fake.pebs_enable | fake.global_control | fake.selects[0], 0);
    fake.pebs_faults = 0;
    fake.global_faults = 1;
    EXPECT_EQ(pebs_start(&pebs), DS_EOPNOTSUPP);
    EXPECT_EQ(fake.pebs_enable | fake.global_control | fake.selects[0], 0);
    EXPECT(!pebs_running(&pebs));
    fake.global_faults = 0;
    EXPECT_EQ(pebs_start(&pebs), DS_OK);
    EXPECT_EQ(pebs_start(&pebs), DS_EBUSY);
    EXPECT_EQ(pebs_setup(&pebs, &memory.area, &config, NULL), DS_EBUSY);
    EXPECT_EQ(pebs_teardown(&pebs), DS_OK);
    EXPECT_EQ(fake.sampling_crashes + fake.area_moves, 0);
}

int main(void)
{
    RUN(test_setup_fills_the_area);
    RUN(test_refuses_processors);
    RUN(test_refuses_groups);
    RUN(test_refuses_counters);
    RUN(test_refuses_resets);
    RUN(test_refuses_buffers);
    RUN(test_samples);
    RUN(test_refuses_by_quirk);
    RUN(test_long_record);
    RUN(test_basic_group);
    RUN(test_period_goes_on);
    RUN(test_full);
    RUN(test_drains_some);
    RUN(test_two_counters);
    RUN(test_resets);
    RUN(test_bad_index);
    RUN(test_without_setup);
    RUN(test_registers_refuse);
    UNIT_END();
}
