/* SPDX-License-Identifier: BSD-2-Clause */
/* Setting the BTS half up: what is filled in, and refusals, each of which changes nothing. */
#include "ds/refusal.h"
#include "harness/tests/fakes/bts_fixture.h"
#include "hw/paging.h"

#include <sys/mman.h>

static struct bts_memory saved;

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
    EXPECT_EQ(memory.area.pebs_base, 0xA7A7A7A7A7A7A7A7);
    EXPECT_EQ(memory.area.pebs_reset[0], 0xA7A7A7A7A7A7A7A7);
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
    EXPECT_EQ(((uint8_t *)&memory.slots[3])[0], 0xA7);
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
    config.base = 0xFFFF7FFFFFFFFFFC;
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
        {PAGE_PRESENT | PAGE_WRITE | PAGE_ACCESSED | PAGE_DIRTY, 0xFEE00000,
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
    UNIT_END();
}
