/* SPDX-License-Identifier: BSD-2-Clause */
/* Layout descriptors, on raw bytes put together here by hand. */
#include "ds/error.h"
#include "ds/layout.h"
#include "ds/refusal.h"
#include "harness/tests/fakes/unit.h"

/* Values that show a lost half, a sign extension or a swapped order. */
static const uint64_t patterns[] = {
    0, 1, 0x80000000, 0xFFFFFFFF, 0x0123456789ABCDEF, 0xFFFF800012345678, UINT64_MAX,
};
#define PATTERNS (sizeof(patterns) / sizeof(patterns[0]))

/* Each field alone, into a filled area: right place, right width, nothing else touched. */
static void fields_round_trip(const struct ds_layout *layout, unsigned width)
{
    for (int field = 0; field < DS_FIELD_COUNT; field++) {
        for (unsigned p = 0; p < PATTERNS; p++) {
            uint64_t mask = width == 4 ? 0xFFFFFFFF : UINT64_MAX;
            uint8_t area[129], want[129];

            memset(area, 0xC3, sizeof(area));
            memset(want, 0xC3, sizeof(want));
            for (unsigned i = 0; i < width; i++)
                want[1 + field * width + i] = (uint8_t)(patterns[p] >> (8 * i));
            ds_layout_put(layout, area + 1, field, patterns[p]);
            EXPECT(memcmp(area, want, sizeof(area)) == 0);
            EXPECT_EQ(ds_layout_get(layout, area + 1, field), patterns[p] & mask);
        }
    }
}

static void test_fields(void)
{
    fields_round_trip(&ds_layout_64, 8);
    fields_round_trip(&ds_layout_32, 4);
    EXPECT_EQ(ds_layout_64.reset_offset, 0x40);
    EXPECT_EQ(ds_layout_32.reset_offset, 0x20);
    EXPECT_EQ(ds_layout_64.record_bytes, 24);
    EXPECT_EQ(ds_layout_32.record_bytes, 12);
}

/* Three words of so many bytes each, and one byte behind them that must not matter. */
static void put_words(uint8_t *raw, size_t bytes, const uint64_t *words)
{
    for (size_t i = 0; i < 3; i++)
        memcpy(raw + i * bytes, &words[i], bytes);
    raw[3 * bytes] = 0x77;
}

static void test_records(void)
{
    for (unsigned p = 0; p < PATTERNS; p++) {
        const uint64_t words[] = {patterns[p], ~patterns[p], patterns[PATTERNS - 1 - p]};
        struct bts_record back;
        uint8_t raw[25];

        put_words(raw, 8, words);
        back = ds_layout_record_get(&ds_layout_64, raw);
        EXPECT_EQ(back.from, words[0]);
        EXPECT_EQ(back.to, words[1]);
        EXPECT_EQ(back.flags, words[2]);

        put_words(raw, 4, words);
        back = ds_layout_record_get(&ds_layout_32, raw);
        EXPECT_EQ(back.from, words[0] & 0xFFFFFFFF);
        EXPECT_EQ(back.to, words[1] & 0xFFFFFFFF);
        EXPECT_EQ(back.flags, words[2] & 0xFFFFFFFF);
    }
}

static void test_names(void)
{
    EXPECT_STR(ds_strerror(DS_OK), "OK");
    EXPECT_STR(ds_strerror(DS_EOPNOTSUPP), "EOPNOTSUPP");
    EXPECT_STR(ds_strerror(DS_ERROR_COUNT), "?");
    for (int a = 0; a < DS_ERROR_COUNT; a++)
        for (int b = 0; b < a; b++)
            EXPECT(strcmp(ds_strerror(a), ds_strerror(b)) != 0);
    /* Every refusal has words of its own. */
    for (int a = 0; a < DS_REFUSAL_COUNT; a++) {
        EXPECT(strcmp(ds_refusal_reason(a), "?") != 0);
        EXPECT((ds_refusal_error(a) == DS_OK) == (a == DS_REFUSED_NONE));
        for (int b = 0; b < a; b++)
            EXPECT(strcmp(ds_refusal_reason(a), ds_refusal_reason(b)) != 0);
    }
}

int main(void)
{
    RUN(test_fields);
    RUN(test_records);
    RUN(test_names);
    UNIT_END();
}
