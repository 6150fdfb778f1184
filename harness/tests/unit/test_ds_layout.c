/* SPDX-License-Identifier: BSD-2-Clause */
/* Layout descriptors and the reader, on raw bytes put together here by hand. */
#include "ds/error.h"
#include "ds/layout.h"
#include "ds/reader.h"
#include "ds/refusal.h"
#include "harness/tests/fakes/unit.h"

/* Values that show a lost half, a sign extension or a swapped order. */
static const uint64_t patterns[] = {
    0, 1, 0x80000000, 0xFFFFFFFF, 0x0123456789ABCDEF, 0xFFFF800012345678, UINT64_MAX,
};
#define PATTERNS (sizeof(patterns) / sizeof(patterns[0]))

static uint64_t little_endian(const uint8_t *bytes, unsigned count)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < count; i++)
        value |= (uint64_t)bytes[i] << (8 * i);
    return value;
}

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

static void test_records(void)
{
    for (unsigned p = 0; p < PATTERNS; p++) {
        struct bts_record record = {patterns[p], ~patterns[p], patterns[PATTERNS - 1 - p]};
        struct bts_record back;
        uint8_t raw[25] = {0};

        raw[24] = 0x77;
        ds_layout_record_put(&ds_layout_64, raw, &record);
        EXPECT_EQ(little_endian(raw, 8), record.from);
        EXPECT_EQ(little_endian(raw + 8, 8), record.to);
        EXPECT_EQ(little_endian(raw + 16, 8), record.flags);
        back = ds_layout_record_get(&ds_layout_64, raw);
        EXPECT(memcmp(&back, &record, sizeof(back)) == 0);

        raw[12] = 0x77;
        ds_layout_record_put(&ds_layout_32, raw, &record);
        EXPECT_EQ(raw[12], 0x77);
        back = ds_layout_record_get(&ds_layout_32, raw);
        EXPECT_EQ(back.from, record.from & 0xFFFFFFFF);
        EXPECT_EQ(back.to, record.to & 0xFFFFFFFF);
        EXPECT_EQ(back.flags, record.flags & 0xFFFFFFFF);
        EXPECT_EQ(raw[24], 0x77);
    }
}

/* A buffer of slots records whose from is the slot's number. */
static void number(const struct ds_layout *layout, uint8_t *bytes, size_t slots)
{
    for (size_t slot = 0; slot < slots; slot++) {
        struct bts_record record = {slot, 100 + slot, 0};

        ds_layout_record_put(layout, bytes + slot * layout->record_bytes, &record);
    }
}

/* Every index, wrapped or not, in a heap block of exactly the size: ASan watches the ends. */
static void test_reader_order(void)
{
    const struct ds_layout *layouts[] = {&ds_layout_64, &ds_layout_32};

    for (unsigned l = 0; l < 2; l++) {
        const size_t slots = 7, width = layouts[l]->record_bytes;
        uint8_t *bytes = malloc(slots * width);

        number(layouts[l], bytes, slots);
        for (size_t next = 0; next <= slots; next++) {
            for (int wrapped = 0; wrapped < 2; wrapped++) {
                size_t count = wrapped ? slots : next;
                size_t first = wrapped ? next % slots : 0;
                struct reader reader;
                struct bts_record record;

                EXPECT(reader_open(&reader, layouts[l], bytes, slots * width, next * width,
                                   wrapped));
                EXPECT_EQ(reader.count, count);
                for (size_t i = 0; i < count; i++) {
                    EXPECT(reader_oldest(&reader, i, &record));
                    EXPECT_EQ(record.from, (first + i) % slots);
                    EXPECT(reader_newest(&reader, i, &record));
                    EXPECT_EQ(record.from, (first + count - 1 - i) % slots);
                }
                EXPECT(!reader_oldest(&reader, count, &record));
                EXPECT(!reader_newest(&reader, count, &record));
                EXPECT(!reader_oldest(&reader, SIZE_MAX, &record));
                EXPECT(!reader_newest(&reader, SIZE_MAX, &record));
                EXPECT(!reader_newest(&reader, count * 24, &record) || count == 0);
            }
        }
        free(bytes);
    }
}

static void test_reader_refuses(void)
{
    uint8_t bytes[50] = {0};
    struct reader reader;
    struct bts_record record;

    EXPECT(!reader_open(&reader, &ds_layout_64, bytes, 48, 1, false));
    EXPECT(!reader_open(&reader, &ds_layout_64, bytes, 48, 72, false));
    EXPECT(!reader_open(&reader, &ds_layout_64, bytes, 48, SIZE_MAX - 15, false));
    EXPECT(!reader_open(&reader, &ds_layout_32, bytes, 48, 13, true));
    /* A part of a record at the end is no slot. */
    EXPECT(reader_open(&reader, &ds_layout_64, bytes, 50, 48, true));
    EXPECT_EQ(reader.count, 2);
    EXPECT(!reader_open(&reader, &ds_layout_64, bytes, 47, 48, true));
    /* Nothing at all. */
    EXPECT(reader_open(&reader, &ds_layout_64, bytes, 0, 0, true));
    EXPECT(!reader_oldest(&reader, 0, &record));
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
    RUN(test_reader_order);
    RUN(test_reader_refuses);
    RUN(test_names);
    UNIT_END();
}
