/* SPDX-License-Identifier: BSD-2-Clause */
/* Ranges of linear addresses at their exact edges, and which pages a touch reaches. */
#include "ds/range.h"
#include "harness/tests/fakes/fake_regs.h"
#include "harness/tests/fakes/unit.h"

#include <sys/mman.h>

#define EDGE48 0x0000800000000000ull
#define HIGH48 0xFFFF800000000000ull

static void test_place_64(void)
{
    fake_reset();
    EXPECT_EQ(range_place(&ds_layout_64, 0, 1), RANGE_GOOD);
    EXPECT_EQ(range_place(&ds_layout_64, EDGE48 - 2, 1), RANGE_GOOD);
    EXPECT_EQ(range_place(&ds_layout_64, EDGE48 - 1, 1), RANGE_EDGE);
    EXPECT_EQ(range_place(&ds_layout_64, EDGE48, 1), RANGE_NOT_CANONICAL);
    EXPECT_EQ(range_place(&ds_layout_64, HIGH48 - 1, 1), RANGE_NOT_CANONICAL);
    EXPECT_EQ(range_place(&ds_layout_64, HIGH48, 1), RANGE_GOOD);
    /* From the lower half right into the upper: both ends are canonical. */
    EXPECT_EQ(range_place(&ds_layout_64, 0x1000, HIGH48), RANGE_EDGE);
    EXPECT_EQ(range_place(&ds_layout_64, -24ull, 23), RANGE_GOOD);
    EXPECT_EQ(range_place(&ds_layout_64, -24ull, 24), RANGE_WRAPS);
    EXPECT_EQ(range_place(&ds_layout_64, UINT64_MAX, 1), RANGE_WRAPS);
    EXPECT_EQ(range_place(&ds_layout_64, HIGH48, UINT64_MAX), RANGE_WRAPS);
    fake.linear_bits = 57;
    EXPECT_EQ(range_place(&ds_layout_64, EDGE48, 1), RANGE_GOOD);
    EXPECT_EQ(range_place(&ds_layout_64, 1ull << 56, 1), RANGE_NOT_CANONICAL);
    EXPECT_EQ(range_place(&ds_layout_64, (1ull << 56) - 1, 1), RANGE_EDGE);
}

/* In the 32-bit layout the fields cannot hold what lies at or above 4 GiB. */
static void test_place_32(void)
{
    fake_reset();
    EXPECT_EQ(range_place(&ds_layout_32, 0xFFFFFFE8, 23), RANGE_GOOD);
    EXPECT_EQ(range_place(&ds_layout_32, 0xFFFFFFE8, 24), RANGE_WRAPS);
    EXPECT_EQ(range_place(&ds_layout_32, 0xFFFFFFFF, 1), RANGE_WRAPS);
    EXPECT_EQ(range_place(&ds_layout_32, 0x100000000, 1), RANGE_NOT_CANONICAL);
    EXPECT_EQ(range_place(&ds_layout_32, 0x1000, UINT64_MAX), RANGE_WRAPS);
}

static void test_overlap(void)
{
    EXPECT(!range_overlap(100, 10, 110, 5));
    EXPECT(!range_overlap(110, 5, 100, 10));
    EXPECT(range_overlap(100, 11, 110, 5));
    EXPECT(range_overlap(110, 5, 100, 11));
    EXPECT(range_overlap(100, 50, 110, 5));
    EXPECT(range_overlap(110, 5, 100, 50));
    EXPECT(range_overlap(100, 1, 100, 1));
}

/* Every page of a range is walked, and none outside it. */
static void test_pages_walked(void)
{
    const uint64_t base = 0x7000000;
    const struct {
        uint64_t first, bytes, pages;
    } cases[] = {{base, 1, 1},          {base, 4096, 1},       {base, 4097, 2},
                 {base + 4095, 1, 1},   {base + 4095, 2, 2},   {base + 4095, 4098, 3},
                 {base + 100, 8192, 3}, {base + 100, 8092, 2}, {base + 100, 8093, 3}};

    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        fake_reset();
        EXPECT_EQ(range_pages(1, cases[i].first, cases[i].bytes, true), RANGE_GOOD);
        EXPECT_EQ(fake.walks, cases[i].pages);
        for (uint64_t page = 0; page < 5; page++) {
            bool inside = page >= 1 && page <= cases[i].pages;

            fake.page_count = 0;
            fake_page((struct fake_page){.first = base - 4096 + page * 4096, .bytes = 4096});
            EXPECT_EQ(range_pages(1, cases[i].first, cases[i].bytes, true),
                      inside ? RANGE_NOT_MAPPED : RANGE_GOOD);
        }
    }
    /* The last page of the address space must not make the walk go round. */
    fake_reset();
    EXPECT_EQ(range_pages(1, -4096ull, 4096, true), RANGE_GOOD);
    EXPECT_EQ(fake.walks, 1);
}

/* Fresh pages become resident when they are touched. */
static void test_touch(void)
{
    for (size_t offset = 4095; offset <= 4097; offset++) {
        for (size_t bytes = 1; bytes <= 8194; bytes += bytes < 4 ? 1 : 4095) {
            unsigned char resident[5];
            uint8_t *map = mmap(NULL, 5 * 4096, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            bool same = true;

            ASSERT(map != MAP_FAILED);
            madvise(map, 5 * 4096, MADV_NOHUGEPAGE);
            range_touch((uintptr_t)map + offset, bytes);
            ASSERT(mincore(map, 5 * 4096, resident) == 0);
            for (size_t page = 0; page < 5; page++)
                same &= (resident[page] & 1) ==
                        (page >= offset / 4096 && page <= (offset + bytes - 1) / 4096);
            EXPECT(same);
            for (size_t i = 0; i < 5 * 4096; i++)
                same &= map[i] == 0;
            EXPECT(same);
            munmap(map, 5 * 4096);
        }
    }
}

int main(void)
{
    RUN(test_place_64);
    RUN(test_place_32);
    RUN(test_overlap);
    RUN(test_pages_walked);
    RUN(test_touch);
    UNIT_END();
}
