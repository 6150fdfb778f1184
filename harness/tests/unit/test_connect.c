/* SPDX-License-Identifier: BSD-2-Clause */
/* Connectivity and sources of a trace, over a few bytes of code with known branches. */
#include "harness/oracle/compare.h"
#include "harness/tests/fakes/unit.h"

#define BASE 0x7000ull

/* Offsets below are the instructions' places in this code. */
static const uint8_t code[] = {
    0x90,                      /* 00 nop */
    0x74, 0x02,                /* 01 je 05 */
    0x31, 0xC0,                /* 03 xor eax, eax */
    0xE8, 0x06, 0,    0,    0, /* 05 call 10 */
    0xEB, 0xF4,                /* 0a jmp 00 */
    0x90, 0x90, 0x90, 0x90,    /* 0c */
    0xCD, 0x80,                /* 10 int 80 */
    0xC3,                      /* 12 ret */
    0x06,                      /* 13 undefined */
    0x90                       /* 14 */
};

static size_t fetch(void *context, uint64_t linear, uint8_t bytes[15])
{
    size_t count = 0;

    (void)context;
    for (; count < 15 && linear + count - BASE < sizeof code; count++)
        bytes[count] = code[linear + count - BASE];
    return count;
}

static struct trace_record record(uint64_t from, uint64_t to)
{
    return (struct trace_record){BASE + from, BASE + to, 0};
}

#define ENTRY (BASE + 0x14)

static bool is_event(void *context, uint64_t to)
{
    (void)context;
    return to == ENTRY;
}

static const char *reason;

static size_t first_gap(const struct trace_record *r, size_t count)
{
    const char *why = NULL;
    size_t at = trace_connected(r, count, fetch, is_event, NULL, &why);

    EXPECT((at == count) == (!why));
    reason = why;
    return at;
}

static void connected(void)
{
    struct trace_record taken[] = {record(0x0A, 0x00), record(0x01, 0x05), record(0x05, 0x10),
                                   record(0x10, 0x12), record(0x12, 0x0A), record(0x0A, 0x00)};
    struct trace_record not_taken[] = {record(0x0A, 0x00), record(0x05, 0x10)};
    struct trace_record fault[] = {record(0x0A, 0x00), record(0x03, 0x10)};
    struct trace_record after_int[] = {record(0x05, 0x10), record(0x12, 0x14)};

    EXPECT_EQ(first_gap(taken, 6), 6);
    EXPECT_EQ(first_gap(not_taken, 2), 2); /* a Jcc may fall through */
    EXPECT_EQ(first_gap(fault, 2), 2);     /* events arrive at any boundary */
    EXPECT_EQ(first_gap(taken, 0), 0);
    /* INT n may be recorded with its return address, but only right behind it. */
    EXPECT_EQ(first_gap(after_int, 2), 2);
}

static void gaps_are_found(void)
{
    struct trace_record lost_jump[] = {record(0x12, 0x0A), record(0x12, 0x0C)};
    struct trace_record lost_call[] = {record(0x01, 0x05), record(0x0A, 0x00)};
    struct trace_record middle[] = {record(0x0A, 0x00), record(0x04, 0x10)};
    struct trace_record backward[] = {record(0x05, 0x10), record(0x05, 0x10)};
    struct trace_record undefined[] = {record(0x05, 0x13), record(0x14, 0x00)};
    struct trace_record lost_int[] = {record(0x05, 0x10), record(0x12, 0x0A)};
    struct trace_record nowhere[] = {record(0x05, 0x1000), record(0x1001, 0x00)};

    EXPECT_EQ(first_gap(lost_jump, 2), 1);
    EXPECT_STR(reason, "a branch between the records left no record");
    EXPECT_EQ(first_gap(lost_call, 2), 1);
    EXPECT_EQ(first_gap(middle, 2), 1);
    EXPECT_EQ(first_gap(backward, 2), 1);
    EXPECT_STR(reason, "from lies before the instruction it should follow");
    EXPECT_EQ(first_gap(undefined, 2), 1);
    EXPECT_STR(reason, "code between the records does not decode");
    EXPECT_EQ(first_gap(lost_int, 2), 1);
    EXPECT_EQ(first_gap(nowhere, 2), 1);
}

static void sources(void)
{
    struct trace_record good[] = {record(0x01, 0x05), record(0x05, 0x10), record(0x12, 0x0A),
                                  record(0x03, 0x14), record(0x1000, 0x14)};
    struct trace_record bad[] = {record(0x01, 0x05), record(0x03, 0x05)};
    struct trace_record outside[] = {record(0x1000, 0x05)};

    EXPECT_EQ(trace_sources(good, 5, fetch, is_event, NULL), 5);
    EXPECT_EQ(trace_sources(bad, 2, fetch, is_event, NULL), 1);
    EXPECT_EQ(trace_sources(outside, 1, fetch, is_event, NULL), 0);
}

int main(void)
{
    RUN(connected);
    RUN(gaps_are_found);
    RUN(sources);
    UNIT_END();
}
