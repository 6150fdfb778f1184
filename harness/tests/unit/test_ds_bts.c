/* SPDX-License-Identifier: BSD-2-Clause */
/* The BTS half: starting, stopping, and reading after every number of branches. */
#include "harness/tests/fakes/bts_fixture.h"

/* DS_EIO, and nothing drained, when there is too little room. */
static enum ds_error take_all(struct bts_record *to, size_t room, size_t *count)
{
    if (bts_count(&bts) > room)
        return DS_EIO;
    return bts_drain(&bts, bts_copy_sink, &to, count);
}

static void test_life(void)
{
    struct bts_record record;

    set_up();
    EXPECT(!bts_running(&bts));
    EXPECT_EQ(bts_stop(&bts), DS_OK);
    EXPECT_EQ(bts_start(&bts), DS_OK);
    EXPECT_EQ(fake.ds_area, (uintptr_t)&memory.area);
    EXPECT_EQ(fake.debugctl, TR_BTS);
    EXPECT(bts_running(&bts));
    EXPECT_EQ(bts_start(&bts), DS_EBUSY);
    fake_branches(7, 1);
    EXPECT_EQ(bts_get(&bts, 0, &record), DS_EBUSY);
    EXPECT_EQ(bts_reset(&bts), DS_EBUSY);
    EXPECT_EQ(bts_clear(&bts), DS_EBUSY);
    EXPECT_EQ(take_all(&record, 1, NULL), DS_EBUSY);
    EXPECT_EQ(bts_stop(&bts), DS_OK);
    EXPECT_EQ(bts_stop(&bts), DS_OK);
    EXPECT_EQ(fake.debugctl, 0);
    EXPECT_EQ(fake.ds_area, (uintptr_t)&memory.area);
    fake_branches(8, 1);
    EXPECT_EQ(bts_count(&bts), 1);
    EXPECT_EQ(bts_get(&bts, 0, &record), DS_OK);
    EXPECT_EQ(record.from, 7);
    EXPECT_EQ(record.to, 0x1000007);
    EXPECT_EQ(bts_start(&bts), DS_OK);
    EXPECT_EQ(bts_teardown(&bts), DS_OK);
    EXPECT_EQ(fake.ds_area, 0);
    EXPECT_EQ(fake.debugctl, 0);
    EXPECT_EQ(bts_start(&bts), DS_ESRCH);
    EXPECT_EQ(fake.crashes + fake.area_moves, 0);
}

static void test_nothing_without_setup(void)
{
    struct bts_record record;
    size_t slot;

    start();
    EXPECT_EQ(bts_start(&bts), DS_ESRCH);
    EXPECT_EQ(bts_stop(&bts), DS_ESRCH);
    EXPECT_EQ(bts_teardown(&bts), DS_ESRCH);
    EXPECT_EQ(bts_reset(&bts), DS_ESRCH);
    EXPECT_EQ(bts_clear(&bts), DS_ESRCH);
    EXPECT_EQ(bts_get(&bts, 0, &record), DS_ESRCH);
    EXPECT_EQ(bts_index(&bts, &slot), DS_ESRCH);
    EXPECT_EQ(take_all(&record, 1, NULL), DS_ESRCH);
    EXPECT_EQ(bts_bracket(&bts, NULL, NULL, NULL), DS_ESRCH);
    EXPECT_EQ(bts_count(&bts), 0);
    EXPECT(!bts_wrapped(&bts));
    EXPECT(!bts_running(&bts));
}

static uint64_t two_branches(void *arg)
{
    fake_branches((uintptr_t)arg, 2);
    return 5;
}

static void test_bracket(void)
{
    struct bts_record got[SLOTS];
    uint64_t value = 0;
    size_t count = 0;

    set_up();
    EXPECT_EQ(bts_bracket(&bts, two_branches, (void *)0x30, &value), DS_OK);
    EXPECT_EQ(value, 5);
    EXPECT(!bts_running(&bts));
    EXPECT_EQ(take_all(got, SLOTS, &count), DS_OK);
    ASSERT(count == 4);
    EXPECT_EQ(got[0].from, (uintptr_t)ds_bracket_call);
    EXPECT_EQ(got[1].from, 0x30);
    EXPECT_EQ(got[2].from, 0x31);
    EXPECT_EQ(got[3].to, (uintptr_t)ds_bracket_return);
    bts_start(&bts);
    EXPECT_EQ(bts_bracket(&bts, two_branches, NULL, NULL), DS_EBUSY);
}

/* --- reading */

static void expect_last(unsigned written, size_t want)
{
    struct bts_record record;

    EXPECT_EQ(bts_count(&bts), want);
    for (size_t i = 0; i < want; i++) {
        EXPECT_EQ(bts_get(&bts, i, &record), DS_OK);
        EXPECT_EQ(record.from, written - i);
    }
    EXPECT_EQ(bts_get(&bts, want, &record), DS_EINVAL);
    EXPECT_EQ(bts_get(&bts, want * 24, &record), DS_EINVAL);
    EXPECT_EQ(bts_get(&bts, SIZE_MAX, &record), DS_EINVAL);
}

/* n branches for every n up to three rings, under both habits at the end of the buffer. */
static void test_every_fill(void)
{
    for (int rests = 0; rests < 2; rests++) {
        for (unsigned n = 0; n <= 3 * SLOTS; n++) {
            struct bts_record got[SLOTS + 1];
            size_t want = n < SLOTS ? n : SLOTS, count = 99, slot = 99;

            set_up();
            fake.rests_at_maximum = rests;
            bts_start(&bts);
            fake_branches(1, n);
            bts_stop(&bts);
            EXPECT_EQ(bts_index(&bts, &slot), DS_OK);
            EXPECT_EQ(slot % SLOTS, n % SLOTS);
            EXPECT_EQ(bts_wrapped(&bts), n >= SLOTS);
            expect_last(n, want);

            /* Too little room: nothing is taken. */
            if (want)
                EXPECT_EQ(take_all(got, want - 1, &count), DS_EIO);
            expect_last(n, want);
            got[want].from = 0x77;
            EXPECT_EQ(take_all(got, want, &count), DS_OK);
            EXPECT_EQ(count, want);
            EXPECT_EQ(got[want].from, 0x77);
            for (size_t i = 0; i < want; i++)
                EXPECT_EQ(got[i].from, n - want + 1 + i);
            EXPECT_EQ(bts_count(&bts), 0);
            EXPECT(!bts_wrapped(&bts));

            /* The drained ring starts afresh, old records notwithstanding. */
            bts_start(&bts);
            fake_branches(1001, 2);
            bts_stop(&bts);
            expect_last(1002, 2);
            expect_canaries();
        }
    }
}

static void count_runs(void *context, const struct bts_record *records, size_t count)
{
    size_t *runs = context;

    EXPECT(count > 0 && records);
    EXPECT_EQ(bts_reset(&bts), DS_EBUSY);
    (*runs)++;
}

static void test_drain_runs(void)
{
    size_t runs = 0;

    set_up();
    EXPECT_EQ(bts_drain(&bts, count_runs, &runs, NULL), DS_OK);
    EXPECT_EQ(runs, 0);
    bts_start(&bts);
    fake_branches(1, SLOTS);
    bts_stop(&bts);
    EXPECT_EQ(bts_drain(&bts, count_runs, &runs, NULL), DS_OK);
    EXPECT_EQ(runs, 1);
    bts_start(&bts);
    fake_branches(1, SLOTS + 3);
    bts_stop(&bts);
    EXPECT_EQ(bts_drain(&bts, count_runs, &runs, NULL), DS_OK);
    EXPECT_EQ(runs, 3);
    EXPECT(!bts.reading);
}

static uint64_t seen;

static void expect_next(void *context, const struct bts_record *records, size_t count)
{
    (void)context;
    for (size_t i = 0; i < count; i++)
        EXPECT_EQ(records[i].from, ++seen);
}

/*
 * All of it against a plain count: write some, take some, over and over. seen is the number of
 * the last record that was taken, or that a ring of this size must have forgotten.
 */
static void partial_drains(bool interrupt, bool rests, size_t write, size_t take)
{
    uint64_t written = 0;

    start();
    config.interrupt = interrupt;
    EXPECT_EQ(bts_setup(&bts, &memory.area, &config, NULL), DS_OK);
    fake.rests_at_maximum = rests;
    seen = 0;
    for (unsigned round = 0; round < 12; round++) {
        size_t held, count = 99;
        struct bts_record record;

        bts_start(&bts);
        fake_branches(written + 1, write);
        bts_stop(&bts);
        written += write;
        if (written - seen > SLOTS)
            seen = written - SLOTS;
        held = written - seen;
        EXPECT_EQ(bts_count(&bts), held);
        EXPECT_EQ(bts_wrapped(&bts), held == SLOTS);
        for (size_t i = 0; i < held; i++) {
            EXPECT_EQ(bts_get(&bts, i, &record), DS_OK);
            EXPECT_EQ(record.from, written - i);
        }
        EXPECT_EQ(bts_drain_some(&bts, take, expect_next, NULL, &count), DS_OK);
        EXPECT_EQ(count, take < held ? take : held);
        EXPECT_EQ(seen, written - held + count);
        EXPECT_EQ(bts_count(&bts), held - count);
    }
    expect_canaries();
}

static void test_partial_drains(void)
{
    for (unsigned mode = 0; mode < 4; mode++)
        for (size_t write = 0; write <= SLOTS + 3; write++)
            for (size_t take = 0; take <= SLOTS + 1; take++)
                partial_drains(mode & 1, mode & 2, write, take);
}

static void test_reset_and_clear(void)
{
    set_up();
    for (size_t i = 0; i < SLOTS; i++)
        EXPECT(bts_slot_empty(&memory.slots[i]));
    bts_start(&bts);
    fake_branches(1, SLOTS + 2);
    bts_stop(&bts);
    EXPECT_EQ(bts_reset(&bts), DS_OK);
    EXPECT_EQ(bts_count(&bts), 0);
    EXPECT_EQ(memory.slots[0].from, SLOTS + 1);
    EXPECT(!bts_slot_empty(&memory.slots[SLOTS - 2]));
    EXPECT_EQ(bts_clear(&bts), DS_OK);
    for (size_t i = 0; i < SLOTS; i++)
        EXPECT(bts_slot_empty(&memory.slots[i]));
    expect_canaries();
    /* A record that was written in part is no empty slot. */
    for (unsigned word = 0; word < 3; word++) {
        struct bts_record slot = memory.slots[0];

        ((uint64_t *)&slot)[word] = 0;
        EXPECT(!bts_slot_empty(&slot));
    }
}

/* An index that the processor, or a bug, left anywhere: never followed. */
static void test_bad_index(void)
{
    const uint64_t base = (uintptr_t)memory.slots;
    const uint64_t bad[] = {0,
                            base - 24,
                            base + 1,
                            base + 23,
                            base + 24 * SLOTS + 24,
                            base + 24 * SLOTS + 1,
                            UINT64_MAX,
                            base + (1ull << 63)};

    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct bts_record got[SLOTS];
        size_t slot = 99, count = 99;

        set_up();
        memory.area.bts_index = bad[i];
        EXPECT_EQ(bts_index(&bts, &slot), DS_EIO);
        EXPECT_EQ(bts_count(&bts), 0);
        EXPECT_EQ(bts_get(&bts, 0, got), DS_EIO);
        EXPECT_EQ(take_all(got, SLOTS, &count), DS_EIO);
        EXPECT_EQ(count, 99);
        EXPECT_EQ(memory.area.bts_index, bad[i]);
        EXPECT_EQ(bts_reset(&bts), DS_OK);
        EXPECT_EQ(take_all(got, SLOTS, &count), DS_OK);
        EXPECT_EQ(count, 0);
    }
}

/* A base on a doubleword only: UBSan objects to any direct access. */
static void test_doubleword_base(void)
{
    struct bts_record got[SLOTS];
    size_t count = 0;

    start();
    config.base += 4;
    config.bytes -= 24;
    EXPECT_EQ(bts_setup(&bts, &memory.area, &config, NULL), DS_OK);
    bts_start(&bts);
    fake_branches(1, SLOTS + 1);
    bts_stop(&bts);
    EXPECT_EQ(bts_count(&bts), SLOTS - 1);
    EXPECT_EQ(take_all(got, SLOTS, &count), DS_OK);
    EXPECT_EQ(count, SLOTS - 1);
    EXPECT_EQ(got[0].from, 3);
    expect_canaries();
}

static void test_filter_reaches_the_register(void)
{
    start();
    config.off_os = true;
    EXPECT_EQ(bts_setup(&bts, &memory.area, &config, NULL), DS_OK);
    bts_start(&bts);
    fake_branch(1, 2, 0);
    fake_branch(3, 4, 3);
    bts_stop(&bts);
    EXPECT_EQ(bts_count(&bts), 1);
    EXPECT_EQ(memory.slots[0].from, 3);
}

int main(void)
{
    RUN(test_life);
    RUN(test_nothing_without_setup);
    RUN(test_bracket);
    RUN(test_every_fill);
    RUN(test_drain_runs);
    RUN(test_partial_drains);
    RUN(test_reset_and_clear);
    RUN(test_bad_index);
    RUN(test_doubleword_base);
    RUN(test_filter_reaches_the_register);
    UNIT_END();
}
