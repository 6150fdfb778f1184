/* SPDX-License-Identifier: BSD-2-Clause */
/* The BTS half: every refusal of the set-up, then reading after every number of branches. */
#include "ds/broker.h"
#include "ds/bts.h"
#include "ds/refusal.h"
#include "harness/tests/fake_regs.h"
#include "harness/tests/unit.h"
#include "hw/paging.h"

#include <stdalign.h>
#include <sys/mman.h>

#define TR_BTS 0xc0ull
#define SLOTS  8

/* Canaries on both sides of the buffer, in pages of their own. */
static struct {
    alignas(4096) struct ds_area area;
    alignas(4096) uint8_t before[4096 - 24 * SLOTS / 2];
    struct bts_record slots[SLOTS]; /* straddles a page boundary */
    uint8_t after[4096];
} memory, saved;
static struct bts bts;
static struct bts_config config;

static void start(void)
{
    fake_reset();
    broker_init();
    memset(&memory, 0xa7, sizeof(memory));
    bts = (struct bts){0};
    config = (struct bts_config){
        .base = (uintptr_t)memory.slots,
        .bytes = sizeof(memory.slots),
    };
}

static void set_up(void)
{
    const char *why = NULL;

    start();
    EXPECT_EQ(bts_setup(&bts, &memory.area, &config, &why), DS_OK);
    EXPECT_STR(why, "none");
}

static void expect_canaries(void)
{
    for (size_t i = 0; i < sizeof(memory.before); i++)
        if (memory.before[i] != 0xa7)
            EXPECT(!"a byte before the buffer changed");
    for (size_t i = 0; i < sizeof(memory.after); i++)
        if (memory.after[i] != 0xa7)
            EXPECT(!"a byte after the buffer changed");
}

/* --- set-up */

static void test_setup_fills_the_area(void)
{
    unsigned writes;

    start();
    writes = fake.writes_debugctl + fake.writes_ds_area;
    EXPECT_EQ(bts_setup(&bts, &memory.area, &config, NULL), DS_OK);
    EXPECT_EQ(fake.writes_debugctl + fake.writes_ds_area, writes);
    EXPECT_EQ(memory.area.bts_base, (uintptr_t)memory.slots);
    EXPECT_EQ(memory.area.bts_index, (uintptr_t)memory.slots);
    EXPECT_EQ(memory.area.bts_maximum, (uintptr_t)(memory.slots + SLOTS));
    EXPECT_EQ(memory.area.bts_threshold, (uintptr_t)(memory.slots + SLOTS + 1));
    EXPECT_EQ(memory.area.pebs_base, 0xa7a7a7a7a7a7a7a7);
    EXPECT_EQ(memory.area.pebs_reset[0], 0xa7a7a7a7a7a7a7a7);
    EXPECT_EQ(bts.debugctl, TR_BTS);
    expect_canaries();

    config.interrupt = true;
    config.threshold_records = 5;
    config.off_os = true;
    EXPECT_EQ(bts_setup(&bts, &memory.area, &config, NULL), DS_OK);
    EXPECT_EQ(memory.area.bts_threshold, (uintptr_t)(memory.slots + 5));
    EXPECT_EQ(bts.debugctl, TR_BTS | 0x100 | 0x200);
    config.off_os = false;
    config.off_usr = true;
    config.threshold_records = SLOTS - 1;
    EXPECT_EQ(bts_setup(&bts, &memory.area, &config, NULL), DS_OK);
    EXPECT_EQ(memory.area.bts_threshold, memory.area.bts_maximum - 24);
    EXPECT_EQ(bts.debugctl, TR_BTS | 0x100 | 0x400);
}

/* Refused with exactly this reason, and not a byte, register or mask is different. */
static void expect_refused_at(struct ds_area *area, enum ds_refusal refusal)
{
    struct bts before = bts;
    struct fake_machine machine = fake;
    const char *why = NULL;

    memcpy(&saved, &memory, sizeof(memory));
    EXPECT_EQ(bts_setup(&bts, area, &config, &why), ds_refusal_error(refusal));
    EXPECT_STR(why, ds_refusal_reason(refusal));
    EXPECT(memcmp(&saved, &memory, sizeof(memory)) == 0);
    EXPECT(memcmp(&before, &bts, sizeof(bts)) == 0);
    EXPECT_EQ(fake.debugctl, machine.debugctl);
    EXPECT_EQ(fake.ds_area, machine.ds_area);
    EXPECT_EQ(fake.writes_debugctl, machine.writes_debugctl);
    EXPECT_EQ(fake.writes_ds_area, machine.writes_ds_area);
}

static void expect_refused(enum ds_refusal refusal)
{
    expect_refused_at(&memory.area, refusal);
}

static void test_setup_refuses_sizes(void)
{
    start();
    config.base = 0;
    expect_refused(DS_REFUSED_NO_BUFFER);
    start();
    config.bytes = 0;
    expect_refused(DS_REFUSED_NO_BUFFER);
    for (size_t bytes = 1; bytes < 24; bytes++) {
        config.bytes = bytes;
        expect_refused(DS_REFUSED_TOO_SMALL);
    }
    config.bytes = 24;
    expect_refused(DS_REFUSED_TOO_SMALL);
    for (size_t bytes = 25; bytes < 24 * SLOTS; bytes++) {
        config.bytes = bytes;
        if (bytes % 24)
            expect_refused(DS_REFUSED_NOT_WHOLE);
    }
    config.bytes = 48;
    EXPECT_EQ(bts_setup(&bts, &memory.area, &config, NULL), DS_OK);
    EXPECT_EQ(bts.capacity, 2);
}

static void test_setup_refuses_settings(void)
{
    start();
    expect_refused_at(NULL, DS_REFUSED_NO_AREA);
    expect_refused_at((struct ds_area *)((char *)&memory.area + 4), DS_REFUSED_AREA_ALIGNMENT);
    config.base += 2;
    config.bytes -= 24;
    expect_refused(DS_REFUSED_BASE_ALIGNMENT);
    config.base += 2; /* a doubleword, not a quadword: allowed */
    EXPECT_EQ(bts_setup(&bts, &memory.area, &config, NULL), DS_OK);

    start();
    config.interrupt = true;
    for (size_t threshold = SLOTS; threshold < SLOTS + 2; threshold++) {
        config.threshold_records = threshold;
        expect_refused(DS_REFUSED_THRESHOLD_OUTSIDE);
    }
    config.threshold_records = SIZE_MAX;
    expect_refused(DS_REFUSED_THRESHOLD_OUTSIDE);
    config.threshold_records = 1;
    config.interrupt = false;
    expect_refused(DS_REFUSED_THRESHOLD_CIRCULAR);
    config.threshold_records = 0;
    config.off_os = config.off_usr = true;
    expect_refused(DS_REFUSED_NOTHING_STORED);
    config.off_os = false;
    fake.ds_cpl = false;
    expect_refused(DS_REFUSED_NO_CPL_FILTER);
}

static void test_setup_may_break_rules(void)
{
    start();
    config.break_rules = true;
    config.threshold_records = 3;
    config.off_os = config.off_usr = true;
    config.bytes = 24 * 3 + 5;
    EXPECT_EQ(bts_setup(&bts, &memory.area, &config, NULL), DS_OK);
    EXPECT_EQ(bts.capacity, 3);
    EXPECT_EQ(memory.area.bts_maximum, (uintptr_t)memory.slots + 24 * 3 + 5);
    EXPECT_EQ(((uint8_t *)&memory.slots[3])[0], 0xa7);
    /* Never the rules about addresses. */
    config.base = (uintptr_t)&memory.area;
    expect_refused(DS_REFUSED_OVERLAP);
    config.base = 0x0000800000000000;
    expect_refused(DS_REFUSED_BUFFER_NOT_CANONICAL);
    config.bytes = 23;
    expect_refused(DS_REFUSED_TOO_SMALL);
    config.base = (uintptr_t)memory.slots;
    config.bytes = 24;
    EXPECT_EQ(bts_setup(&bts, &memory.area, &config, NULL), DS_OK);
    EXPECT_EQ(bts.capacity, 1);
}

static void test_setup_refuses_places(void)
{
    const uint64_t edge = 0x0000800000000000;

    start();
    config.base = edge;
    expect_refused(DS_REFUSED_BUFFER_NOT_CANONICAL);
    config.base = 0xffff7ffffffffffc;
    expect_refused(DS_REFUSED_BUFFER_NOT_CANONICAL);
    config.base = edge - 4096;
    config.bytes = 4096 / 24 * 24 + 24;
    expect_refused(DS_REFUSED_BUFFER_EDGE);
    /* The threshold past the maximum must be an address as well. */
    config.base = edge - 24 * 8;
    config.bytes = 24 * 8;
    expect_refused(DS_REFUSED_BUFFER_EDGE);
    config.base = -(uint64_t)24 * 8;
    expect_refused(DS_REFUSED_BUFFER_WRAPS);
    config.bytes = 24 * 7;
    expect_refused(DS_REFUSED_BUFFER_WRAPS);
    config.base = (uintptr_t)memory.slots;
    config.bytes = SIZE_MAX / 24 * 24;
    expect_refused(DS_REFUSED_BUFFER_WRAPS);
    config.bytes = SIZE_MAX / 48 * 24;
    expect_refused(DS_REFUSED_BUFFER_EDGE);

    start();
    expect_refused_at((struct ds_area *)edge, DS_REFUSED_AREA_NOT_CANONICAL);
    expect_refused_at((struct ds_area *)(edge - 8), DS_REFUSED_AREA_EDGE);
    expect_refused_at((struct ds_area *)-8ull, DS_REFUSED_AREA_WRAPS);
    /* One byte of overlap at either end, and none. */
    config.base = (uintptr_t)(&memory.area + 1) - 8;
    expect_refused(DS_REFUSED_OVERLAP);
    config.base = (uintptr_t)&memory.area - sizeof(memory.slots) + 4;
    expect_refused(DS_REFUSED_OVERLAP);
    config.base = (uintptr_t)(&memory.area + 1);
    EXPECT_EQ(bts_setup(&bts, &memory.area, &config, NULL), DS_OK);
}

static void test_la57_moves_the_edge(void)
{
    start();
    fake.linear_bits = 57;
    config.base = 0x0000800000000000;
    fake_page((struct fake_page){.first = config.base, .bytes = 4096});
    expect_refused(DS_REFUSED_BUFFER_NOT_MAPPED);
    config.base = 0x0100000000000000;
    expect_refused(DS_REFUSED_BUFFER_NOT_CANONICAL);
}

/* Each page of area and buffer in turn gets each fault. */
static void test_setup_refuses_pages(void)
{
    static const struct {
        unsigned flags;
        uint64_t phys;
        enum ds_refusal area, buffer;
    } cases[] = {
        {0, 0, DS_REFUSED_AREA_NOT_MAPPED, DS_REFUSED_BUFFER_NOT_MAPPED},
        {PAGE_PRESENT, 0, DS_REFUSED_AREA_READ_ONLY, DS_REFUSED_BUFFER_READ_ONLY},
        {PAGE_PRESENT | PAGE_WRITE | PAGE_USER, 0, DS_REFUSED_AREA_USER,
         DS_REFUSED_BUFFER_USER},
        {PAGE_PRESENT | PAGE_WRITE | PAGE_ACCESSED | PAGE_DIRTY, 0xfee00000,
         DS_REFUSED_AREA_DEVICE, DS_REFUSED_BUFFER_DEVICE},
        {PAGE_PRESENT | PAGE_WRITE, 0, DS_REFUSED_AREA_NOT_DIRTY, DS_REFUSED_BUFFER_NOT_DIRTY},
        {PAGE_PRESENT | PAGE_WRITE | PAGE_ACCESSED, 0, DS_REFUSED_AREA_NOT_DIRTY,
         DS_REFUSED_BUFFER_NOT_DIRTY},
        {PAGE_PRESENT | PAGE_WRITE | PAGE_DIRTY, 0, DS_REFUSED_AREA_NOT_DIRTY,
         DS_REFUSED_BUFFER_NOT_DIRTY},
    };
    const uint64_t pages[] = {(uintptr_t)&memory.area, (uintptr_t)memory.before,
                              (uintptr_t)memory.before + 4096};

    for (unsigned c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        for (unsigned p = 0; p < 3; p++) {
            start();
            fake_page((struct fake_page){.first = pages[p],
                                         .bytes = 4096,
                                         .flags = cases[c].flags,
                                         .phys = cases[c].phys});
            expect_refused(p == 0 ? cases[c].area : cases[c].buffer);
        }
    }
}

/* Fresh pages of the host: they count as dirty once something was stored in them. */
static void test_setup_sets_dirty_bits(void)
{
    const size_t bytes = 4 * 4096;
    uint8_t *map;

    start();
    map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT(map != MAP_FAILED);
    madvise(map, bytes, MADV_NOHUGEPAGE);
    fake_page((struct fake_page){.first = (uintptr_t)map,
                                 .bytes = bytes,
                                 .flags = PAGE_PRESENT | PAGE_WRITE,
                                 .dirty_if_backed = true});
    config.base = (uintptr_t)map + 4096;
    config.bytes = 3 * 4096;
    EXPECT_EQ(bts_setup(&bts, (struct ds_area *)map, &config, NULL), DS_OK);
    EXPECT_EQ(bts.capacity, 512);
    munmap(map, bytes);
}

/* A page table that lacks the buffer, or where it was never touched, while another has it. */
static void test_setup_walks_every_table(void)
{
    const uint64_t tables[] = {0x1000, 0x2000, 0x3000};

    start();
    config.tables = tables;
    config.table_count = 3;
    EXPECT_EQ(bts_setup(&bts, &memory.area, &config, NULL), DS_OK);
    fake_page((struct fake_page){
        .cr3 = 0x3000, .first = (uintptr_t)memory.before + 4096, .bytes = 4096});
    expect_refused(DS_REFUSED_BUFFER_NOT_MAPPED);
    fake.pages[0].flags = PAGE_PRESENT | PAGE_WRITE;
    expect_refused(DS_REFUSED_BUFFER_NOT_DIRTY);
    fake.pages[0].flags = PAGE_PRESENT | PAGE_WRITE | PAGE_ACCESSED | PAGE_DIRTY;
    EXPECT_EQ(bts_setup(&bts, &memory.area, &config, NULL), DS_OK);
    config.table_count = 2;
    fake.pages[0].flags = 0;
    EXPECT_EQ(bts_setup(&bts, &memory.area, &config, NULL), DS_OK);
}

/* Mapped everywhere, but not to the same frame: a switch of tables would lose the records. */
static void test_setup_wants_the_same_frames(void)
{
    const uint64_t tables[] = {0x1000, 0x2000};
    const uint64_t pages[] = {(uintptr_t)&memory.area, (uintptr_t)memory.before,
                              (uintptr_t)memory.before + 4096};

    for (unsigned p = 0; p < 3; p++) {
        start();
        config.tables = tables;
        config.table_count = 2;
        fake_page(
            (struct fake_page){.cr3 = 0x2000,
                               .first = pages[p],
                               .bytes = 4096,
                               .flags = PAGE_PRESENT | PAGE_WRITE | PAGE_ACCESSED | PAGE_DIRTY,
                               .phys = 0x7000});
        expect_refused(p == 0 ? DS_REFUSED_AREA_ELSEWHERE : DS_REFUSED_BUFFER_ELSEWHERE);
        config.table_count = 1;
        EXPECT_EQ(bts_setup(&bts, &memory.area, &config, NULL), DS_OK);
    }
}

/* A byte of code on any of the pages. */
static void test_setup_refuses_code(void)
{
    const uint64_t pages[] = {(uintptr_t)&memory.area, (uintptr_t)memory.before,
                              (uintptr_t)memory.before + 4096};

    for (unsigned p = 0; p < 3; p++) {
        start();
        fake.code = (pages[p] & ~4095ull) + 4095;
        fake.code_bytes = 1;
        expect_refused(p == 0 ? DS_REFUSED_AREA_CODE : DS_REFUSED_BUFFER_CODE);
    }
}

static void test_setup_refuses_while_running(void)
{
    set_up();
    EXPECT_EQ(bts_start(&bts), DS_OK);
    fake_branches(1, 3);
    expect_refused(DS_REFUSED_RUNNING);
    EXPECT(bts_running(&bts));
    EXPECT_EQ(bts_stop(&bts), DS_OK);
    EXPECT_EQ(bts_count(&bts), 3);
    EXPECT_EQ(bts_setup(&bts, &memory.area, &config, NULL), DS_OK);
}

/* --- start and stop */

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
    EXPECT_EQ(bts_copy_out(&bts, &record, 1, NULL), DS_EBUSY);
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
    EXPECT_EQ(bts_copy_out(&bts, &record, 1, NULL), DS_ESRCH);
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
    EXPECT_EQ(bts_copy_out(&bts, got, SLOTS, &count), DS_OK);
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
                EXPECT_EQ(bts_copy_out(&bts, got, want - 1, &count), DS_EIO);
            expect_last(n, want);
            got[want].from = 0x77;
            EXPECT_EQ(bts_copy_out(&bts, got, want, &count), DS_OK);
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

    EXPECT(count > 0 && records != NULL);
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
        EXPECT_EQ(bts_copy_out(&bts, got, SLOTS, &count), DS_EIO);
        EXPECT_EQ(count, 99);
        EXPECT_EQ(memory.area.bts_index, bad[i]);
        EXPECT_EQ(bts_reset(&bts), DS_OK);
        EXPECT_EQ(bts_copy_out(&bts, got, SLOTS, &count), DS_OK);
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
    EXPECT_EQ(bts_copy_out(&bts, got, SLOTS, &count), DS_OK);
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
    RUN(test_setup_fills_the_area);
    RUN(test_setup_refuses_sizes);
    RUN(test_setup_refuses_settings);
    RUN(test_setup_may_break_rules);
    RUN(test_setup_refuses_places);
    RUN(test_la57_moves_the_edge);
    RUN(test_setup_refuses_pages);
    RUN(test_setup_sets_dirty_bits);
    RUN(test_setup_walks_every_table);
    RUN(test_setup_wants_the_same_frames);
    RUN(test_setup_refuses_code);
    RUN(test_setup_refuses_while_running);
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
