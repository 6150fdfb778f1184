/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tracer's commands on a fake processor: order of errors, resizes that fail, any arguments.
 */
#include "ds/interface.h"
#include "harness/tests/fakes/session_fixture.h"

#define ROOM 4096
#define AT   0x400000ull

static uint8_t user[ROOM]; /* the tracer's memory, at AT */
static struct interface_trace trace;
static struct interface_call call;
static const uint64_t tables[] = {0x1000};
static unsigned signalled;

static bool may_write(void *context, uint64_t address, size_t bytes)
{
    (void)context;
    return address >= AT && bytes <= ROOM && address - AT <= ROOM - bytes;
}
static bool copy_in(void *context, void *to, uint64_t address, size_t bytes)
{
    if (!may_write(context, address, bytes))
        return false;
    memcpy(to, user + (address - AT), bytes);
    return true;
}
static bool copy_out(void *context, uint64_t address, const void *from, size_t bytes)
{
    if (!may_write(context, address, bytes))
        return false;
    memcpy(user + (address - AT), from, bytes);
    return true;
}
static void raise_signal(void *context, unsigned signal)
{
    (void)context;
    signalled = signal;
}

static void begin(void)
{
    start();
    memset(&trace, 0, sizeof(trace));
    memset(user, 0, sizeof(user));
    fake.cr3 = tables[0];
    signalled = 0;
    call = (struct interface_call){
        .trace = &trace,
        .pool = &pool,
        .tracer = &debugger,
        .target = &task_a,
        .low = 0xA000,
        .high = 0xB000,
        .tables = tables,
        .signal = raise_signal,
        .may_write = may_write,
        .copy_in = copy_in,
        .copy_out = copy_out,
    };
}

static int64_t ask_for(enum interface_command command, uint64_t address, uint64_t data)
{
    call.command = command;
    call.address = address;
    call.data = data;
    return interface_call(&call);
}

static int64_t config(uint32_t bytes, uint32_t flags, uint32_t signal)
{
    struct interface_config c = {bytes, flags, signal, 0};

    memcpy(user, &c, sizeof(c));
    return ask_for(INTERFACE_CONFIG, AT, sizeof(c));
}

static void branches(unsigned n)
{
    session_switch(NULL, &task_a);
    for (unsigned i = 0; i < n; i++)
        fake_branch(0xA000 + i, 0xA800, 3);
    session_switch(&task_a, NULL);
}

#define ON (INTERFACE_ALLOC | INTERFACE_TRACE)

static void test_commands(void)
{
    struct record record;

    begin();
    EXPECT_EQ(ask_for(INTERFACE_SIZE, 0, 0), -DS_ESRCH);
    EXPECT_EQ(config(24 * 8, ON, 0), 16);
    branches(5);
    session_switch(NULL, &task_a);
    fake_branch(0xA005, 0x500000, 3); /* a crossing: not shown */
    session_switch(&task_a, NULL);
    EXPECT_EQ(ask_for(INTERFACE_SIZE, 0, 0), 5);
    EXPECT_EQ(ask_for(INTERFACE_GET, AT, 0), 32);
    memcpy(&record, user, sizeof(record));
    EXPECT_EQ(record.branch.from, 0xA004);
    EXPECT_EQ(ask_for(INTERFACE_GET, AT, 5), -DS_EINVAL);
    EXPECT_EQ(ask_for(INTERFACE_GET, AT + ROOM - 31, 0), -DS_EFAULT);
    EXPECT_EQ(ask_for(INTERFACE_DRAIN, AT, 2 * 32), 2);
    memcpy(&record, user, sizeof(record));
    EXPECT_EQ(record.branch.from, 0xA000);
    EXPECT_EQ(ask_for(INTERFACE_DRAIN, AT, ROOM), 3);
    EXPECT_EQ(ask_for(INTERFACE_SIZE, 0, 0), 0);
    call.tracer = &profiler;
    EXPECT_EQ(ask_for(INTERFACE_SIZE, 0, 0), -DS_EPERM);
    EXPECT_EQ(ask_for(INTERFACE_STATUS, AT, 16), 16);
    EXPECT_EQ(config(24 * 8, ON, 0), -DS_EBUSY);
    call.tracer = &debugger;
    EXPECT_EQ(config(0, INTERFACE_ALLOC, 0), 16);
    expect_nothing_left();
}

static struct record seen(unsigned i)
{
    struct record record;

    memcpy(&record, user + i * sizeof(record), sizeof(record));
    return record;
}

/* The ring says before its oldest record that it was full, once for each time. */
static void test_wrap(void)
{
    begin();
    EXPECT_EQ(config(24 * 8, ON, 0), 16);
    branches(12);
    EXPECT_EQ(ask_for(INTERFACE_SIZE, 0, 0), 9);
    EXPECT_EQ(ask_for(INTERFACE_GET, AT, 8), 32);
    EXPECT_EQ(seen(0).kind, RECORD_WRAP);
    EXPECT_EQ(seen(0).bytes, RECORD_HEADER_BYTES);
    EXPECT_EQ(ask_for(INTERFACE_GET, AT, 9), -DS_EINVAL);
    /* Room for it alone: the ring is as it was, and does not say so again. */
    EXPECT_EQ(ask_for(INTERFACE_DRAIN, AT, 32), 1);
    EXPECT_EQ(seen(0).kind, RECORD_WRAP);
    EXPECT_EQ(ask_for(INTERFACE_SIZE, 0, 0), 8);
    EXPECT_EQ(ask_for(INTERFACE_GET, AT, 8), -DS_EINVAL);
    EXPECT_EQ(ask_for(INTERFACE_DRAIN, AT, 3 * 32), 3);
    EXPECT_EQ(seen(0).branch.from, 0xA004);
    EXPECT_EQ(ask_for(INTERFACE_SIZE, 0, 0), 5);
    EXPECT_EQ(ask_for(INTERFACE_DRAIN, AT, ROOM), 5);
    branches(20);
    EXPECT_EQ(ask_for(INTERFACE_DRAIN, AT, ROOM), 9);
    EXPECT_EQ(seen(0).kind, RECORD_WRAP);
    EXPECT_EQ(seen(1).branch.from, 0xA000 + 12);
    branches(20);
    EXPECT_EQ(ask_for(INTERFACE_DRAIN, AT, 32), 1);
    EXPECT_EQ(ask_for(INTERFACE_CLEAR, 0, 0), 0);
    branches(20);
    EXPECT_EQ(ask_for(INTERFACE_SIZE, 0, 0), 9);
    interface_release(&trace, &pool);
    expect_nothing_left();
}

/* Each refusal of the layers below, in the middle of a resize: the old trace goes on. */
static void test_failed_resize(void)
{
    begin();
    EXPECT_EQ(config(24 * 8, ON, 0), 16);
    branches(3);
    purse.limit_pages = purse.charged_pages;
    EXPECT_EQ(config(24 * 400, ON, 0), -DS_ENOMEM);
    EXPECT_EQ(ask_for(INTERFACE_SIZE, 0, 0), 3);
    purse.limit_pages = 40;
    EXPECT_EQ(config(24 * 8, ON | 0x40, 0), -DS_EINVAL);
    EXPECT_EQ(config(24 * 8, ON, 5), -DS_EINVAL);
    EXPECT_EQ(config(24 * 8, ON | INTERFACE_SIGNAL, 64), -DS_EINVAL);
    EXPECT_EQ(config(24 * 3, ON, 0), -DS_EINVAL);
    branches(2);
    EXPECT_EQ(ask_for(INTERFACE_SIZE, 0, 0), 5);
    interface_release(&trace, &pool);
    expect_nothing_left();
}

static void test_signal(void)
{
    begin();
    EXPECT_EQ(config(24 * 8, ON | INTERFACE_SIGNAL, 9), 16);
    branches(8);
    EXPECT_EQ(signalled, 9);
    EXPECT(ask_for(INTERFACE_SIZE, 0, 0) >= 6);
    EXPECT(ask_for(INTERFACE_DRAIN, AT, ROOM) >= 6);
    signalled = 0;
    branches(7);
    EXPECT_EQ(signalled, 9);
    interface_release(&trace, &pool);
    expect_nothing_left();
}

/* Any arguments at all, in any order: nothing leaks, nothing is written outside. */
static void test_any_arguments(void)
{
    uint64_t state = 88172645463325252ull;

    begin();
    for (unsigned round = 0; round < 40000; round++) {
        struct interface_config c;

        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        c = (struct interface_config){(uint32_t)(state >> 8) % 3000, state >> 40 & 0x1F,
                                      state >> 50 & 0x47, 0};
        memcpy(user, &c, sizeof(c));
        call.tracer = state >> 60 & 3 ? &debugger : &profiler;
        ask_for((enum interface_command)(39 + (state >> 20) % 9),
                state & 0x10 ? AT : state >> 3, state & 0x20 ? 16 : state >> 30 & 0xFFF);
        if (state & 7)
            branches(round % 11);
        EXPECT(pool_used(&pool) <= 3);
    }
    interface_release(&trace, &pool);
    expect_nothing_left();
}

int main(void)
{
    RUN(test_commands);
    RUN(test_wrap);
    RUN(test_failed_resize);
    RUN(test_signal);
    RUN(test_any_arguments);
    UNIT_END();
}
