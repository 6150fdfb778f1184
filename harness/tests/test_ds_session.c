/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sessions on the fake processor: errors in their order, ownership, reading, the switch, the
 * interrupt, and a balance of zero in the end.
 */
#include "ds/broker.h"
#include "ds/session.h"
#include "harness/tests/fake_regs.h"
#include "harness/tests/unit.h"

#include <stdalign.h>

#define TR     0x40ull
#define TR_BTS 0xc0ull
#define LVT    0xe2u
#define PAGES  64
#define SLOTS  32

static alignas(4096) uint8_t memory[PAGES * 4096];
static struct pool pool;
static struct pool_payer purse = {.name = "debugger's purse"};
static struct pool_payer other_purse = {.name = "profiler's purse"};
static const struct ds_owner debugger = {1, "debugger", &purse};
static const struct ds_owner profiler = {2, "profiler", &other_purse};
static struct ds_task task_a, task_b;
static struct session_machine machine;
static struct session_request request;
static struct session_result result;

static void on_interrupt(void)
{
    /* What a dispatcher does with an interrupt that is nobody's. */
    if (!session_pmi())
        fake.lvt = LVT;
}

static void start(void)
{
    fake_reset();
    for (fake.cpu = 4; fake.cpu-- > 0;) {
        fake.debugctl = fake.ds_area = 0;
        broker_init();
        if (!fake.cpu)
            break;
    }
    fake.interrupt = on_interrupt;
    purse.limit_pages = other_purse.limit_pages = 40;
    purse.charged_pages = other_purse.charged_pages = 0;
    EXPECT_EQ(pool_init(&pool, memory, sizeof(memory)), DS_OK);
    machine = (struct session_machine){
        .pool = &pool, .has_bts = true, .interrupts = true, .lvt = LVT};
    session_init(&machine);
    task_a = task_b = (struct ds_task){0};
    request = (struct session_request){
        .owner = &debugger,
        .bytes = 24 * SLOTS,
        .threshold = SESSION_NO_THRESHOLD,
        .user = true,
        .kernel = true,
    };
}

/* Nothing is left anywhere. */
static void expect_nothing_left(void)
{
    EXPECT_EQ(pool_used(&pool), 0);
    EXPECT_EQ(purse.charged_pages, 0);
    EXPECT_EQ(other_purse.charged_pages, 0);
    EXPECT_EQ(fake.ds_area, 0);
    EXPECT_EQ(fake.debugctl, 0);
    EXPECT(task_a.context == NULL && task_b.context == NULL);
    EXPECT_EQ(fake.crashes + fake.area_moves, 0);
    EXPECT(fake.interrupts);
}

static session_id ask(void)
{
    EXPECT_EQ(session_request(&request, &result), DS_OK);
    EXPECT(result.id != 0);
    return result.id;
}

static void expect_refused(enum ds_error error)
{
    size_t used = pool_used(&pool);
    uint64_t debugctl = fake.debugctl, area = fake.ds_area;

    EXPECT_EQ(session_request(&request, &result), error);
    EXPECT_EQ(result.id, 0);
    EXPECT(strcmp(result.why, "none") != 0);
    EXPECT_EQ(pool_used(&pool), used);
    EXPECT_EQ(fake.debugctl, debugctl);
    EXPECT_EQ(fake.ds_area, area);
}

static size_t size_of(session_id id)
{
    size_t records = 999;

    EXPECT_EQ(session_size(id, &debugger, &records), DS_OK);
    return records;
}

static struct session_status status_of(session_id id)
{
    struct session_status status = {0};

    EXPECT_EQ(session_status(id, &status), DS_OK);
    return status;
}

/* --- request and release */

static void test_request_and_release(void)
{
    session_id id;
    struct session_status status;

    start();
    id = ask();
    EXPECT_EQ(fake.debugctl, TR_BTS);
    EXPECT(fake.ds_area != 0);
    EXPECT_EQ(purse.charged_pages, 2);
    fake_branches(1, 5);
    EXPECT_EQ(size_of(id), 5);
    status = status_of(id);
    EXPECT(status.owner == &debugger && status.task == NULL && status.running);
    EXPECT_EQ(status.capacity, SLOTS);
    EXPECT_EQ(status.records, 5);
    EXPECT_EQ(status.threshold, SESSION_NO_THRESHOLD);
    EXPECT(!status.full && !status.overflowed && status.user && status.kernel);
    EXPECT_EQ(session_release(id, &profiler), DS_EPERM);
    EXPECT_EQ(session_release(id + SESSIONS_MOST, &debugger), DS_ESRCH);
    EXPECT_EQ(fake.debugctl, TR_BTS);
    EXPECT_EQ(session_release(id, &debugger), DS_OK);
    EXPECT_EQ(session_release(id, &debugger), DS_ESRCH);
    EXPECT_EQ(session_status(id, &status), DS_ESRCH);
    expect_nothing_left();
    /* The same entry, another id. */
    EXPECT(ask() != id);
    EXPECT_EQ(session_suspend(id, &debugger), DS_ESRCH);
    EXPECT_EQ(session_release(result.id, &debugger), DS_OK);
    expect_nothing_left();
}

/* Everything wrong at once; each step mends what was complained of and meets the next. */
static void test_error_order(void)
{
    session_id holder, ids[SESSIONS_MOST];
    static struct ds_task tasks[SESSIONS_MOST];
    struct session_request good;

    start();
    good = request;
    good.bytes = 48;
    /* Entries and the processor are all taken. */
    holder = 0;
    memset(tasks, 0, sizeof(tasks));
    purse.limit_pages = 2 * SESSIONS_MOST;
    machine.interrupts = false;
    session_init(&machine);

    request.overflow = (session_overflow *)1;
    request.threshold = 99;
    request.bytes = 0;
    request.user = request.kernel = false;
    request.task = &task_a;
    expect_refused(DS_EOPNOTSUPP);
    EXPECT_STR(result.why, "there is no interrupt to be had");

    start();
    holder = ask();
    request.threshold = 99;
    request.bytes = 0;
    request.user = request.kernel = false;
    request.task = &task_a;
    expect_refused(DS_EPERM);
    EXPECT_EQ(session_release(holder, &debugger), DS_OK);

    /* One page of area and one of buffer for each: share the buffer's page to fill the table.
     */
    purse.limit_pages = PAGES;
    for (unsigned i = 0; i < SESSIONS_MOST; i++)
        ids[i] = 0;
    machine.has_bts = false;
    session_init(&machine);
    expect_refused(DS_EOPNOTSUPP);
    EXPECT_STR(result.why, "the processor has no BTS");
    machine.has_bts = true;
    session_init(&machine);
    expect_refused(DS_EINVAL);
    EXPECT_STR(result.why, "no buffer given");
    request.bytes = 47;
    expect_refused(DS_EINVAL);
    EXPECT_STR(result.why, "the buffer is smaller than two records");
    request.bytes = 24 * SLOTS + 1;
    expect_refused(DS_EINVAL);
    EXPECT_STR(result.why, "the threshold lies outside the buffer");
    request.threshold = 5;
    expect_refused(DS_EINVAL);
    EXPECT_STR(result.why, "neither user nor kernel: nothing would be stored");
    request.user = true;
    request.task = NULL;
    holder = 0;
    {
        struct session_request first = good;

        first.owner = &profiler;
        EXPECT_EQ(session_request(&first, &result), DS_OK);
        holder = result.id;
    }
    purse.limit_pages = 0;
    expect_refused(DS_ENOMEM);
    purse.limit_pages = 40;
    expect_refused(DS_EBUSY);
    EXPECT(result.holder == &profiler);
    EXPECT_EQ(session_release(holder, &profiler), DS_OK);
    expect_refused(DS_EINVAL);
    EXPECT_STR(result.why, "the buffer is not a whole number of records");
    request.bytes = 24 * SLOTS;
    fake.ds_cpl = false;
    expect_refused(DS_EOPNOTSUPP);
    EXPECT_STR(result.why, "the processor has no CPL filter");
    fake.ds_cpl = true;
    ids[0] = ask();
    EXPECT_EQ(session_release(ids[0], &debugger), DS_OK);
    expect_nothing_left();
}

static void test_table_full(void)
{
    static struct ds_task tasks[SESSIONS_MOST];
    static uint8_t buffer[48];
    static struct pool large;
    static alignas(4096) uint8_t pages[SESSIONS_MOST * 4096];
    session_id ids[SESSIONS_MOST];

    start();
    memset(tasks, 0, sizeof(tasks));
    EXPECT_EQ(pool_init(&large, pages, sizeof(pages)), DS_OK);
    machine.pool = &large;
    session_init(&machine);
    purse.limit_pages = SESSIONS_MOST;
    request.buffer = buffer;
    request.bytes = sizeof(buffer);
    for (unsigned i = 0; i < SESSIONS_MOST; i++) {
        request.task = &tasks[i];
        ids[i] = ask();
    }
    request.task = &task_a;
    expect_refused(DS_ENOMEM);
    EXPECT_STR(result.why, "too many sessions");
    for (unsigned i = 0; i < SESSIONS_MOST; i++)
        EXPECT_EQ(session_release(ids[i], &debugger), DS_OK);
    EXPECT_EQ(pool_used(&large), 0);
    expect_nothing_left();
}

static void test_bad_buffers(void)
{
    start();
    request.buffer = (void *)0x0000800000000000;
    expect_refused(DS_EFAULT);
    request.buffer = memory + 2;
    expect_refused(DS_EINVAL);
    fake_page((struct fake_page){.first = (uintptr_t)memory + 60 * 4096, .bytes = 4096});
    request.buffer = memory + 60 * 4096;
    expect_refused(DS_EFAULT);
    expect_nothing_left();
}

/* The write of a register fails at the very end: all is undone. */
static void test_register_refuses(void)
{
    start();
    fake.debugctl_faults = TR;
    expect_refused(DS_EOPNOTSUPP);
    fake.debugctl_faults = 0;
    fake.no_ds_area = true;
    /* DS_AREA can then not be set to 0 either, and was never set. */
    EXPECT_EQ(session_request(&request, &result), DS_EOPNOTSUPP);
    fake.no_ds_area = false;
    expect_nothing_left();
}

static void test_halves_are_separate(void)
{
    struct ds_context *context = NULL;
    const struct ds_owner *holder = NULL;
    session_id id;

    start();
    EXPECT_EQ(context_claim(NULL, DS_HALF_PEBS, &profiler, &context, &holder), DS_OK);
    id = ask();
    EXPECT_EQ(other_purse.charged_pages, 1);
    EXPECT_EQ(purse.charged_pages, 1);
    EXPECT_EQ(context_claim(NULL, DS_HALF_PEBS, &debugger, &context, &holder), DS_EBUSY);
    EXPECT(holder == &profiler);
    EXPECT_EQ(session_release(id, &debugger), DS_OK);
    EXPECT_EQ(fake.debugctl, 0);
    EXPECT_EQ(fake.ds_area, (uintptr_t)context->area);
    EXPECT_EQ(context->area->bts_base, 0);
    EXPECT_EQ(purse.charged_pages, 0);
    id = ask();
    EXPECT_EQ(context_release(context, DS_HALF_PEBS), DS_OK);
    EXPECT_EQ(fake.debugctl, TR_BTS);
    EXPECT_EQ(session_release(id, &debugger), DS_OK);
    expect_nothing_left();
}

/* On one processor tasks and the processor exclude each other, on two they do not. */
static void test_scopes(void)
{
    session_id cpu_session, task_session;

    start();
    cpu_session = ask();
    task_a.cpu = 1;
    request.task = &task_a;
    task_session = ask();
    task_b.cpu = 0;
    request.task = &task_b;
    expect_refused(DS_EPERM);
    EXPECT_EQ(session_release(cpu_session, &debugger), DS_OK);
    request.task = &task_b;
    cpu_session = ask();
    request.task = NULL;
    expect_refused(DS_EPERM);
    EXPECT_EQ(session_release(cpu_session, &debugger), DS_OK);
    EXPECT_EQ(session_release(task_session, &debugger), DS_OK);
    expect_nothing_left();
}

static void test_cycles(void)
{
    unsigned failed = 0;

    start();
    for (unsigned round = 0; round < 10000; round++) {
        request.bytes = 24 * (1 + round % 400) + (round % 7 == 0);
        request.threshold = round % 3 ? SESSION_NO_THRESHOLD : round % 50;
        if (session_request(&request, &result) == DS_OK)
            session_release(result.id, &debugger);
        else
            failed++;
        if (pool_used(&pool) || purse.charged_pages || pool_longest_free(&pool) != PAGES)
            EXPECT(!"the balance is zero");
    }
    EXPECT(failed > 1000 && failed < 9000);
    expect_nothing_left();
}

/* --- suspend and resume */

static void test_nesting(void)
{
    session_id id;

    start();
    request.suspended = true;
    id = ask();
    EXPECT_EQ(fake.debugctl, 0);
    EXPECT_EQ(session_suspend(id, &debugger), DS_OK);
    EXPECT_EQ(session_resume(id, &debugger), DS_OK);
    EXPECT_EQ(fake.debugctl, 0);
    EXPECT_EQ(session_resume(id, &debugger), DS_OK);
    EXPECT_EQ(fake.debugctl, TR_BTS);
    EXPECT_EQ(session_resume(id, &debugger), DS_EINVAL);
    EXPECT_EQ(session_suspend(id, &profiler), DS_EPERM);
    EXPECT_EQ(session_resume(id, &profiler), DS_EPERM);
    EXPECT_EQ(session_suspend(0, &debugger), DS_ESRCH);
    EXPECT_EQ(fake.debugctl, TR_BTS);
    /* The top does not move. */
    fake_branches(1, 3);
    EXPECT_EQ(session_suspend(id, &debugger), DS_OK);
    fake_branches(4, 9);
    EXPECT_EQ(size_of(id), 3);
    fake.interrupts = false;
    EXPECT_EQ(session_resume(id, &debugger), DS_OK);
    EXPECT(!fake.interrupts);
    fake.interrupts = true;
    EXPECT_EQ(session_release(id, &debugger), DS_OK);
    expect_nothing_left();
}

static session_id nmi_id;
static unsigned countdown;

static void suspend_in_nmi(enum fake_point point)
{
    struct bts_record record;
    size_t records = 0;

    (void)point;
    if (--countdown)
        return;
    fake.hook = NULL;
    EXPECT_EQ(session_suspend(nmi_id, &debugger), DS_OK);
    EXPECT_EQ(fake.debugctl & TR, 0);
    EXPECT_EQ(session_size(nmi_id, &debugger, &records), DS_OK);
    if (records)
        EXPECT_EQ(session_get(nmi_id, &debugger, 0, &record), DS_OK);
    EXPECT_EQ(session_resume(nmi_id, &debugger), DS_OK);
}

/* An NMI that suspends, reads and resumes, at every register access of a suspend and resume. */
static void test_nmi_inside(void)
{
    for (unsigned at = 1; at < 40; at++) {
        start();
        nmi_id = ask();
        fake_branches(1, 3);
        countdown = at;
        fake.hook = suspend_in_nmi;
        EXPECT_EQ(session_suspend(nmi_id, &debugger), DS_OK);
        EXPECT_EQ(fake.debugctl & TR, 0);
        EXPECT_EQ(session_resume(nmi_id, &debugger), DS_OK);
        fake.hook = NULL;
        EXPECT_EQ(fake.debugctl, TR_BTS);
        EXPECT_EQ(status_of(nmi_id).suspended, 0);
        EXPECT_EQ(session_release(nmi_id, &debugger), DS_OK);
        expect_nothing_left();
    }
}

static void release_in_nmi(enum fake_point point)
{
    (void)point;
    if (--countdown)
        return;
    fake.hook = NULL;
    session_release(nmi_id, &debugger);
}

/* A release from an NMI is carried out or refused as a whole. */
static void test_release_in_nmi(void)
{
    for (unsigned at = 1; at < 40; at++) {
        struct session_status status;

        start();
        nmi_id = ask();
        countdown = at;
        fake.hook = release_in_nmi;
        session_suspend(nmi_id, &debugger);
        session_resume(nmi_id, &debugger);
        fake.hook = NULL;
        if (session_status(nmi_id, &status) == DS_OK) {
            EXPECT(status.running);
            EXPECT_EQ(fake.debugctl, TR_BTS);
            EXPECT_EQ(session_release(nmi_id, &debugger), DS_OK);
        }
        expect_nothing_left();
    }
}

/* --- reading */

static void test_reading(void)
{
    struct bts_record got[SLOTS];
    size_t count = 99;
    session_id id;

    start();
    id = ask();
    fake_branches(1, SLOTS + SLOTS / 2);
    EXPECT_EQ(session_get(id, &debugger, 0, got), DS_EBUSY);
    EXPECT_EQ(session_drain(id, &debugger, got, SLOTS, SIZE_MAX, &count), DS_EBUSY);
    EXPECT_EQ(session_reset(id, &debugger), DS_EBUSY);
    EXPECT_EQ(session_clear(id, &debugger), DS_EBUSY);
    session_suspend(id, &debugger);
    /* The size is what can be read, not where the index stands. */
    EXPECT_EQ(size_of(id), SLOTS);
    EXPECT(status_of(id).full);
    for (size_t i = 0; i < SLOTS; i++) {
        EXPECT_EQ(session_get(id, &debugger, i, got), DS_OK);
        EXPECT_EQ(got[0].from, SLOTS + SLOTS / 2 - i);
    }
    EXPECT_EQ(session_get(id, &debugger, SLOTS, got), DS_EINVAL);
    EXPECT_EQ(session_get(id, &debugger, SLOTS * 24 - 1, got), DS_EINVAL);
    EXPECT_EQ(session_get(id, &profiler, 0, got), DS_EPERM);
    EXPECT_EQ(session_get(77, &debugger, 0, got), DS_ESRCH);

    EXPECT_EQ(session_drain(id, &debugger, got, SLOTS - 1, SIZE_MAX, &count), DS_EIO);
    EXPECT_EQ(session_drain(id, &debugger, got, 4, 5, &count), DS_EIO);
    EXPECT_EQ(session_drain(id, &debugger, NULL, SLOTS, 5, &count), DS_EFAULT);
    EXPECT_EQ(session_drain(id, &profiler, got, SLOTS, 5, &count), DS_EPERM);
    EXPECT_EQ(count, 99);
    EXPECT_EQ(session_drain(id, &debugger, got, 5, 5, &count), DS_OK);
    EXPECT_EQ(count, 5);
    EXPECT_EQ(got[0].from, SLOTS / 2 + 1);
    EXPECT_EQ(got[4].from, SLOTS / 2 + 5);
    EXPECT_EQ(size_of(id), SLOTS - 5);
    EXPECT_EQ(session_drain(id, &debugger, got, SLOTS, SIZE_MAX, &count), DS_OK);
    EXPECT_EQ(count, SLOTS - 5);
    EXPECT_EQ(got[0].from, SLOTS / 2 + 6);
    EXPECT_EQ(session_drain(id, &debugger, got, 0, SIZE_MAX, &count), DS_OK);
    EXPECT_EQ(count, 0);

    session_resume(id, &debugger);
    fake_branches(100, 4);
    session_suspend(id, &debugger);
    EXPECT_EQ(session_reset(id, &debugger), DS_OK);
    EXPECT_EQ(size_of(id), 0);
    EXPECT_EQ(session_clear(id, &debugger), DS_OK);
    EXPECT_EQ(session_clear(id, &profiler), DS_EPERM);
    EXPECT_EQ(session_reset(0, &debugger), DS_ESRCH);
    session_release(id, &debugger);
    expect_nothing_left();
}

/* --- overflow */

static uint64_t taken[256];
static size_t taken_count;

static void take(void *context, session_id id, const struct bts_record *records, size_t count)
{
    EXPECT(context == taken && id == result.id);
    EXPECT_EQ(fake.debugctl & TR, 0);
    for (size_t i = 0; i < count; i++)
        taken[taken_count++] = records[i].from;
}

static void test_callback(void)
{
    bool same = true;

    for (int end = 0; end < 2; end++) {
        session_id id;

        start();
        taken_count = 0;
        request.overflow = take;
        request.context = taken;
        request.origin = end ? SESSION_FROM_END : SESSION_FROM_START;
        request.threshold = end ? SLOTS - 10 : 10;
        id = ask();
        EXPECT_EQ(fake.lvt, LVT);
        EXPECT_EQ(status_of(id).threshold, 10);
        fake_branches(1, 35);
        EXPECT_EQ(taken_count, 30);
        for (size_t i = 0; i < taken_count; i++)
            same &= taken[i] == i + 1;
        EXPECT(same);
        EXPECT_EQ(status_of(id).overflows, 3);
        EXPECT(!status_of(id).overflowed);
        EXPECT_EQ(size_of(id), 5);
        EXPECT_EQ(session_release(id, &debugger), DS_OK);
        EXPECT(fake.lvt & 0x10000);
        expect_nothing_left();
    }
}

/* Without a callback the overflow suspends, and only a drain or a reset lets it go on. */
static void test_flag(void)
{
    struct bts_record got[SLOTS];
    size_t count = 0;
    session_id id;

    start();
    request.threshold = 10;
    id = ask();
    fake_branches(1, 50);
    EXPECT_EQ(fake.delivered, 1);
    EXPECT(status_of(id).overflowed);
    EXPECT_EQ(status_of(id).suspended, 1);
    EXPECT_EQ(size_of(id), 10);
    EXPECT_EQ(session_resume(id, &debugger), DS_EBUSY);
    EXPECT_EQ(status_of(id).suspended, 1);
    EXPECT_EQ(session_drain(id, &debugger, got, SLOTS, SIZE_MAX, &count), DS_OK);
    EXPECT_EQ(count, 10);
    EXPECT_EQ(session_resume(id, &debugger), DS_OK);
    EXPECT(!status_of(id).overflowed);
    fake_branches(51, 50);
    EXPECT_EQ(fake.delivered, 2);
    EXPECT_EQ(session_reset(id, &debugger), DS_OK);
    EXPECT_EQ(session_resume(id, &debugger), DS_OK);
    EXPECT_EQ(session_release(id, &debugger), DS_OK);
    expect_nothing_left();
}

static void test_thresholds_from_the_end(void)
{
    start();
    request.origin = SESSION_FROM_END;
    request.threshold = SLOTS;
    expect_refused(DS_EINVAL);
    request.threshold = SLOTS - 1; /* the first record */
    EXPECT_EQ(status_of(ask()).threshold, 1);
    session_release(result.id, &debugger);
    request.threshold = 0;
    expect_refused(DS_EINVAL);
    request.origin = SESSION_FROM_START;
    expect_refused(DS_EINVAL);
    request.threshold = SLOTS;
    expect_refused(DS_EINVAL);
    request.threshold = SLOTS - 1;
    EXPECT_EQ(status_of(ask()).threshold, SLOTS - 1);
    session_release(result.id, &debugger);
    expect_nothing_left();
}

/* --- tasks */

static void test_switch(void)
{
    struct bts_record record;
    session_id a, b;

    start();
    request.task = &task_a;
    a = ask();
    request.task = &task_b;
    request.owner = &profiler;
    b = ask();
    EXPECT_EQ(fake.debugctl, 0);
    for (unsigned round = 0; round < 1000; round++) {
        EXPECT_EQ(session_switch(&task_b, &task_a), DS_OK);
        fake_branch(0xa000 + round, 1, 3);
        EXPECT_EQ(session_switch(&task_a, &task_b), DS_OK);
        fake_branch(0xb000 + round, 1, 3);
        EXPECT_EQ(session_switch(&task_b, NULL), DS_OK);
        EXPECT_EQ(fake.ds_area, 0);
        fake_branch(0xc000, 1, 3);
    }
    for (size_t i = 0; i < SLOTS; i++) {
        EXPECT_EQ(session_get(a, &debugger, i, &record), DS_OK);
        EXPECT_EQ(record.from, 0xa000 + 999 - i);
        EXPECT_EQ(session_get(b, &profiler, i, &record), DS_OK);
        EXPECT_EQ(record.from, 0xb000 + 999 - i);
    }
    EXPECT_EQ(fake.crashes + fake.area_moves, 0);
    /* A request for the task that runs starts at once; release of it stops at once. */
    session_release(a, &debugger);
    session_switch(NULL, &task_a);
    request.task = &task_a;
    request.owner = &debugger;
    a = ask();
    EXPECT_EQ(fake.debugctl, TR_BTS);
    EXPECT_EQ(session_release(a, &debugger), DS_OK);
    EXPECT_EQ(fake.debugctl, 0);
    EXPECT_EQ(session_release(b, &profiler), DS_OK);
    expect_nothing_left();
}

/* Its interrupt comes when the task has left: taken care of when it is back. */
static void test_interrupt_after_switch(void)
{
    session_id id;

    start();
    taken_count = 0;
    request.task = &task_a;
    request.threshold = 4;
    request.overflow = take;
    request.context = taken;
    id = ask();
    fake.interrupts = false;
    session_switch(NULL, &task_a);
    fake_branches(1, 4);
    EXPECT(fake.pending);
    session_switch(&task_a, &task_b);
    fake.interrupts = true;
    irq_restore(1);
    EXPECT_EQ(taken_count, 0);
    session_switch(&task_b, &task_a);
    EXPECT_EQ(taken_count, 4);
    fake_branches(5, 4);
    EXPECT_EQ(taken_count, 8);
    EXPECT_EQ(session_release(id, &debugger), DS_OK);
    session_switch(&task_a, NULL);
    expect_nothing_left();
}

static void test_other_processor(void)
{
    struct bts_record record;
    size_t records;
    session_id id;

    start();
    task_a.cpu = 1;
    request.task = &task_a;
    id = ask();
    fake.cpu = 1;
    session_switch(NULL, &task_a);
    EXPECT_EQ(fake.debugctl, TR_BTS);
    fake.cpu = 0;
    EXPECT_EQ(session_suspend(id, &debugger), DS_EPERM);
    EXPECT_EQ(session_get(id, &debugger, 0, &record), DS_EPERM);
    EXPECT_EQ(session_size(id, &debugger, &records), DS_EPERM);
    EXPECT_EQ(session_release(id, &debugger), DS_EPERM);
    EXPECT(!status_of(id).running);
    EXPECT_EQ(session_owner_died(&debugger), 1);
    fake.cpu = 1;
    EXPECT(status_of(id).running);
    session_switch(&task_a, NULL);
    EXPECT_EQ(fake.debugctl, 0);
    fake.cpu = 0;
    EXPECT_EQ(session_owner_died(&debugger), 0);
    expect_nothing_left();
}

/* A traced task on a processor that is traced itself leaves no mark in that trace's area. */
static void test_task_on_traced_processor(void)
{
    session_id on_task, on_cpu;
    uint64_t area;

    start();
    task_a.cpu = 1;
    request.task = &task_a;
    on_task = ask();
    request.task = NULL;
    on_cpu = ask();
    area = fake.ds_area;
    EXPECT_EQ(session_switch(NULL, &task_a), DS_OK);
    EXPECT_EQ(fake.ds_area, area);
    fake_branches(1, 3);
    EXPECT_EQ(session_switch(&task_a, NULL), DS_OK);
    EXPECT_EQ(size_of(on_task), 0);
    EXPECT_EQ(size_of(on_cpu), 3);
    EXPECT_EQ(fake.debugctl, TR_BTS);
    EXPECT_EQ(session_release(on_cpu, &debugger), DS_OK);
    EXPECT_EQ(session_release(on_task, &debugger), DS_OK);
    expect_nothing_left();
}

static void test_deaths(void)
{
    session_id a, b;

    start();
    request.task = &task_a;
    a = ask();
    session_switch(NULL, &task_a);
    request.task = &task_b;
    request.owner = &profiler;
    b = ask();
    EXPECT_EQ(session_owner_died(&debugger), 0);
    EXPECT_EQ(fake.debugctl, 0);
    EXPECT_EQ(fake.ds_area, 0);
    EXPECT_EQ(session_suspend(a, &debugger), DS_ESRCH);
    EXPECT_EQ(session_suspend(b, &profiler), DS_OK);
    EXPECT_EQ(session_task_ended(&task_b), 0);
    EXPECT_EQ(session_suspend(b, &profiler), DS_ESRCH);
    expect_nothing_left();
}

int main(void)
{
    RUN(test_request_and_release);
    RUN(test_error_order);
    RUN(test_table_full);
    RUN(test_bad_buffers);
    RUN(test_register_refuses);
    RUN(test_halves_are_separate);
    RUN(test_scopes);
    RUN(test_cycles);
    RUN(test_nesting);
    RUN(test_nmi_inside);
    RUN(test_release_in_nmi);
    RUN(test_reading);
    RUN(test_callback);
    RUN(test_flag);
    RUN(test_thresholds_from_the_end);
    RUN(test_switch);
    RUN(test_interrupt_after_switch);
    RUN(test_other_processor);
    RUN(test_task_on_traced_processor);
    RUN(test_deaths);
    UNIT_END();
}
