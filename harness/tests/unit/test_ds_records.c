/* SPDX-License-Identifier: BSD-2-Clause */
/* Self-describing records: marks in rings, streams, readers older and newer than a stream. */
#include "ds/records.h"
#include "harness/tests/fakes/session_fixture.h"

static uint8_t stream[8192];

static void test_marks(void)
{
    for (unsigned kind = RECORD_ARRIVES; kind < RECORD_KINDS; kind++) {
        struct record in = {.kind = (uint16_t)kind,
                            .bytes = (uint16_t)record_bytes(kind),
                            .detail = 0xFFFFFFFF - kind,
                            .exception = {~0ull, kind == RECORD_EXCEPTION ? 0x123456789 : 0}};
        struct bts_record slot = record_to_mark(&in);
        struct record out;

        EXPECT(record_from_mark(&slot, &out));
        EXPECT_EQ(out.kind, kind);
        EXPECT_EQ(out.detail, in.detail);
        EXPECT_EQ(out.clock, ~0ull);
        EXPECT_EQ(out.bytes, in.bytes);
        if (kind == RECORD_EXCEPTION)
            EXPECT_EQ(out.exception.error, 0x123456789);
        /* Under 48 bits 63:47 would all be alike, under 57 bits 63:56. */
        EXPECT(slot.from >> 56 != 0 && slot.from >> 56 != 0xFF);
        EXPECT(!bts_slot_empty(&slot));
    }
}

/* What a processor may store as an address, above all at the top: none is taken for a mark. */
static void test_no_collision(void)
{
    static const uint64_t addresses[] = {0,
                                         1,
                                         0x7FFFFFFFFFFF,
                                         0xFFFF800000000000,
                                         0x00FFFFFFFFFFFFFF,
                                         0xFF00000000000000,
                                         0xFFFFFFFFFFFFFFF0};
    struct record record;

    for (unsigned i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++)
        for (unsigned low = 0; low < 16; low++) {
            struct bts_record slot = {addresses[i] | low, 5, 0};

            EXPECT(!record_from_mark(&slot, &record));
        }
    for (uint64_t top = 0; top < 0x10000; top++) {
        struct bts_record slot = {top << 48, 5, 0};
        bool canonical = top < 0x100 || top >= 0xFF00;

        EXPECT(!(canonical && record_from_mark(&slot, &record)));
    }
}

static void test_translate(void)
{
    const struct record lost = {.kind = RECORD_LOST, .count = RECORD_UNKNOWN};
    struct bts_record slots[5] = {
        {0x1000, 0x2000, 0}, record_to_mark(&lost), {0, 0, 0}, {0x2000, 0x90000, 16}, {0}};
    struct record_filter filter = {true, 0x1000, 0x3000};
    struct record record;
    struct record_count c;
    size_t at = 0;

    memset(&slots[4], 0xA5, 24);
    c = records_translate(slots, 4, NULL, stream, sizeof(stream));
    EXPECT_EQ(c.records, 3);
    EXPECT_EQ(c.empty, 1);
    EXPECT_EQ(c.taken, 4);
    EXPECT_EQ(c.bytes, 32 + 16 + 32);
    EXPECT(records_next(stream, c.bytes, &at, &record) && record.kind == RECORD_BRANCH);
    EXPECT(record.branch.from == 0x1000 && record.branch.to == 0x2000);
    EXPECT(records_next(stream, c.bytes, &at, &record) && record.kind == RECORD_LOST);
    EXPECT_EQ(record.count, RECORD_UNKNOWN);
    EXPECT(records_next(stream, c.bytes, &at, &record) && record.branch.flags == 16);
    EXPECT(!records_next(stream, c.bytes, &at, &record));
    /* The crossing goes, and is counted. */
    c = records_translate(slots, 4, &filter, stream, sizeof(stream));
    EXPECT(c.records == 2 && c.filtered == 1 && c.taken == 4);
    /* Room for the first alone: the rest is not taken. */
    c = records_translate(slots, 4, NULL, stream, 47);
    EXPECT(c.records == 1 && c.taken == 1 && c.bytes == 32);
    EXPECT_EQ(records_translate(slots, 4, NULL, stream, 31).taken, 0);
}

/* A kind of the future, longer than all we know, between two that we know. */
static void test_skips_new_kinds(void)
{
    struct record branch = {.kind = RECORD_BRANCH, .bytes = 32, .branch = {1, 2, 0}}, record;
    uint16_t future[2] = {99, 72};
    size_t used = 0, at = 0, branches = 0, others = 0;

    EXPECT(records_append(stream, sizeof(stream), &used, &branch));
    memset(stream + used, 0xEE, 72);
    memcpy(stream + used, future, sizeof(future));
    used += 72;
    EXPECT(records_append(stream, sizeof(stream), &used, &branch));
    while (records_next(stream, used, &at, &record)) {
        branches += record.kind == RECORD_BRANCH;
        others += record.kind == 99;
    }
    EXPECT(branches == 2 && others == 1);
    EXPECT_EQ(at, used);
    /* In the ring as well. */
    record = (struct record){.kind = 99, .detail = 7, .clock = 8};
    {
        struct bts_record slot = record_to_mark(&record);

        EXPECT(record_from_mark(&slot, &record) && record.kind == 99 && record.clock == 8);
        EXPECT_EQ(record.bytes, 24);
    }
}

static void test_bad_sizes(void)
{
    static const uint16_t sizes[] = {0, 4, 7, 9, 12, 40, 65535};
    struct record record;

    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        uint16_t header[2] = {RECORD_BRANCH, sizes[i]};
        size_t at = 0;

        memset(stream, 0, 32);
        memcpy(stream, header, sizeof(header));
        EXPECT(!records_next(stream, 32, &at, &record));
        EXPECT_EQ(at, 0);
    }
    for (size_t bytes = 0; bytes < 8; bytes++) {
        size_t at = 0;

        EXPECT(!records_next(stream, bytes, &at, &record));
    }
}

/* Any bytes at all: a reader ends, within the buffer. */
static void test_any_bytes(void)
{
    static struct bts_record slots[64];
    uint64_t state = 88172645463325252ull;

    for (unsigned round = 0; round < 20000; round++) {
        struct record record;
        struct record_count c;
        size_t at = 0, seen = 0, bytes = round % 512;

        for (size_t i = 0; i < sizeof(slots); i++) {
            state ^= state << 13, state ^= state >> 7, state ^= state << 17;
            ((uint8_t *)slots)[i] = (uint8_t)state;
        }
        if (round & 1)
            for (unsigned i = 0; i < 64; i++)
                ((uint8_t *)&slots[i])[7] = 0xA6;
        memcpy(stream, slots, bytes);
        while (records_next(stream, bytes, &at, &record))
            seen++;
        EXPECT(at <= bytes && seen <= bytes / 8);
        c = records_translate(slots, 64, NULL, stream, sizeof(stream));
        EXPECT(c.taken == 64 && c.records + c.empty == 64);
    }
}

static uint64_t ticks;
static uint64_t clock(void)
{
    return ++ticks;
}

/* DEPARTS goes into the old ring and ARRIVES into the new one, with nothing stored between. */
static void test_switch_marks(void)
{
    struct bts_record slots[8];
    struct record record;
    session_id a, b;
    size_t count;

    start();
    machine.clock = clock;
    session_init(&machine);
    task_a.id = 11;
    task_b.id = 22;
    request.marks = true;
    request.task = &task_a;
    a = ask();
    request.task = &task_b;
    request.owner = &profiler;
    b = ask();
    session_switch(NULL, &task_a);
    fake_branch(0xA000, 1, 3);
    session_switch(&task_a, &task_b);
    session_switch(&task_b, NULL);
    EXPECT_EQ(session_drain(a, &debugger, slots, 8, 8, &count), DS_OK);
    EXPECT_EQ(count, 3);
    EXPECT(record_from_mark(&slots[0], &record) && record.kind == RECORD_ARRIVES);
    EXPECT_EQ(record.detail, 11);
    EXPECT_EQ(slots[1].from, 0xA000);
    EXPECT(record_from_mark(&slots[2], &record) && record.kind == RECORD_DEPARTS);
    EXPECT(record.detail == 11 && record.clock == 2);
    EXPECT_EQ(session_drain(b, &profiler, slots, 8, 8, &count), DS_OK);
    EXPECT_EQ(count, 2);
    EXPECT(record_from_mark(&slots[0], &record) && record.detail == 22 && record.clock == 3);
    /* Another processor: it says from where to where. */
    fake.cpu = 0;
    session_switch(NULL, &task_a);
    session_switch(&task_a, NULL);
    EXPECT_EQ(session_drain(a, &debugger, slots, 8, 8, &count), DS_OK);
    EXPECT_EQ(count, 2);
    session_release(a, &debugger);
    session_release(b, &profiler);
    /* The processor's session gets both marks of a switch. */
    request.task = NULL;
    request.owner = &debugger;
    a = ask();
    session_switch(NULL, &task_a);
    fake_branch(0xA000, 1, 3);
    session_switch(&task_a, &task_b);
    session_suspend(a, &debugger);
    EXPECT_EQ(session_drain(a, &debugger, slots, 8, 8, &count), DS_OK);
    EXPECT_EQ(count, 4);
    EXPECT(record_from_mark(&slots[0], &record) && record.detail == 11);
    EXPECT(record_from_mark(&slots[2], &record) && record.kind == RECORD_DEPARTS);
    EXPECT(record_from_mark(&slots[3], &record) && record.detail == 22);
    session_release(a, &debugger);
    session_switch(&task_b, NULL);
    expect_nothing_left();
}

/* Marks wrap as the processor's records do. */
static void test_marks_wrap(void)
{
    struct bts_record slots[SLOTS];
    struct session_status status;
    struct record record;
    session_id a;
    size_t count;

    start();
    request.marks = true;
    request.task = &task_a;
    a = ask();
    for (unsigned i = 0; i < SLOTS; i++) {
        session_switch(NULL, &task_a);
        fake_branch(0xA000 + i, 1, 3);
        session_switch(&task_a, NULL);
    }
    status = status_of(a);
    EXPECT(status.full && status.records == SLOTS);
    EXPECT_EQ(session_drain(a, &debugger, slots, SLOTS, SLOTS, &count), DS_OK);
    EXPECT(record_from_mark(&slots[SLOTS - 1], &record) && record.kind == RECORD_DEPARTS);
    EXPECT_EQ(slots[SLOTS - 2].from, 0xA000 + SLOTS - 1);
    session_release(a, &debugger);
    expect_nothing_left();
}

int main(void)
{
    RUN(test_marks);
    RUN(test_no_collision);
    RUN(test_translate);
    RUN(test_skips_new_kinds);
    RUN(test_bad_sizes);
    RUN(test_any_bytes);
    RUN(test_switch_marks);
    RUN(test_marks_wrap);
    UNIT_END();
}
