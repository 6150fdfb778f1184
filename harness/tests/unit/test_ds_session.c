/* SPDX-License-Identifier: BSD-2-Clause */
/* Requesting and releasing sessions: errors in their order, ownership, a balance of zero. */
#include "harness/tests/fakes/session_fixture.h"

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
    EXPECT(status.owner == &debugger && !status.task && status.running);
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

static void expect_reason(enum ds_error error, const char *why)
{
    expect_refused(error);
    EXPECT_STR(result.why, why);
}

/* Sets has_bts and interrupts anew; there are no sessions then. */
static void machine_with(bool has_bts, bool interrupts)
{
    machine.has_bts = has_bts;
    machine.interrupts = interrupts;
    session_init(&machine);
}

/* Wrong in every way at once; each step mends what was complained of and meets the next. */
static void test_error_order(void)
{
    const struct session_request good = {
        .owner = &profiler, .bytes = 48, .threshold = SESSION_NO_THRESHOLD, .user = true};

    start();
    request.threshold = 99;
    request.bytes = 0;
    request.user = request.kernel = false;
    machine_with(false, false);
    expect_reason(DS_EOPNOTSUPP, "there is no interrupt to be had");
    machine_with(false, true);
    expect_reason(DS_EOPNOTSUPP, "the processor has no BTS");
    machine_with(true, true);
    expect_reason(DS_EINVAL, "no buffer given");
    request.bytes = 47;
    expect_reason(DS_EINVAL, "the buffer is smaller than two records");
    request.bytes = 24 * SLOTS + 1;
    expect_reason(DS_EINVAL, "the threshold lies outside the buffer");
    request.threshold = 5;
    expect_reason(DS_EINVAL, "neither user nor kernel: nothing would be stored");
    request.user = true;

    EXPECT_EQ(session_request(&good, &result), DS_OK);
    purse.limit_pages = 0;
    expect_refused(DS_ENOMEM);
    purse.limit_pages = 40;
    expect_reason(DS_EBUSY, "the half has an owner");
    EXPECT(result.holder == &profiler);
    /* Between a task and a processor comes before all but the interrupt. */
    request.task = &task_a;
    request.bytes = 0;
    expect_reason(DS_EPERM, "task and processor sessions meet on one processor");
    request.task = NULL;
    EXPECT_EQ(session_owner_died(&profiler), 0);

    request.bytes = 24 * SLOTS + 1;
    expect_reason(DS_EINVAL, "the buffer is not a whole number of records");
    request.bytes = 24 * SLOTS;
    fake.ds_cpl = false;
    expect_reason(DS_EOPNOTSUPP, "the processor has no CPL filter");
    fake.ds_cpl = true;
    EXPECT_EQ(session_release(ask(), &debugger), DS_OK);
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
    request.bytes = 0; /* the table comes first */
    expect_reason(DS_ENOMEM, "too many sessions");
    for (unsigned i = 0; i < SESSIONS_MOST; i++)
        EXPECT_EQ(session_release(ids[i], &debugger), DS_OK);
    EXPECT_EQ(pool_used(&large), 0);
    expect_nothing_left();
}

/* The table of areas, filled by the other half. */
static void test_contexts_full(void)
{
    static struct ds_task tasks[DS_CONTEXTS_MOST];
    static struct ds_context *contexts[DS_CONTEXTS_MOST];
    static struct pool large;
    static alignas(4096) uint8_t pages[(DS_CONTEXTS_MOST + 2) * 4096];
    const struct ds_owner *holder = NULL;

    start();
    memset(tasks, 0, sizeof(tasks));
    EXPECT_EQ(pool_init(&large, pages, sizeof(pages)), DS_OK);
    machine.pool = &large;
    session_init(&machine);
    purse.limit_pages = DS_CONTEXTS_MOST + 2;
    for (unsigned i = 0; i < DS_CONTEXTS_MOST; i++)
        EXPECT_EQ(context_claim(&tasks[i], DS_HALF_PEBS, &debugger, &contexts[i], &holder),
                  DS_OK);
    request.task = &task_a;
    expect_refused(DS_ENOMEM);
    request.task = NULL;
    expect_refused(DS_EPERM);
    EXPECT_EQ(context_claim(NULL, DS_HALF_PEBS, &debugger, &contexts[0], &holder), DS_EPERM);
    EXPECT(!holder);
    for (unsigned i = 0; i < DS_CONTEXTS_MOST; i++)
        EXPECT_EQ(context_release(contexts[i], DS_HALF_PEBS), DS_OK);
    EXPECT_EQ(pool_used(&large), 0);
    expect_nothing_left();
}

/* DS_AREA cannot be set to 0, so the page must not be freed: the trace goes on instead. */
static void test_release_fails(void)
{
    session_id id;

    start();
    request.marks = true;
    id = ask();
    EXPECT(status_of(id).marks);
    fake.no_ds_area = true;
    EXPECT_EQ(session_release(id, &debugger), DS_EOPNOTSUPP);
    fake.no_ds_area = false;
    EXPECT(status_of(id).running);
    EXPECT_EQ(status_of(id).suspended, 0);
    fake_branches(1, 3);
    EXPECT_EQ(size_of(id), 3);
    EXPECT_EQ(session_release(id, &debugger), DS_OK);
    expect_nothing_left();
}

/* A new start knows nothing of what was there before. */
static void test_init_forgets(void)
{
    for (unsigned round = 0; round < 2 * SESSIONS_MOST; round++) {
        start();
        session_switch(NULL, &task_b);
        request.task = round % 2 ? &task_a : NULL;
        ask();
        if (round % 2)
            EXPECT_EQ(session_switch(&task_b, &task_a), DS_OK);
        EXPECT_EQ(pool_used(&pool), 2);
    }
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
    for (unsigned round = 0; round < 100000; round++) {
        request.bytes = 24 * (1 + round % 400) + (round % 7 == 0);
        request.threshold = round % 3 ? SESSION_NO_THRESHOLD : round % 50;
        if (session_request(&request, &result) == DS_OK)
            session_release(result.id, &debugger);
        else
            failed++;
        if (pool_used(&pool) || purse.charged_pages || pool_longest_free(&pool) != PAGES)
            EXPECT(!"the balance is zero");
    }
    EXPECT(failed > 10000 && failed < 90000);
    expect_nothing_left();
}

int main(void)
{
    RUN(test_request_and_release);
    RUN(test_error_order);
    RUN(test_table_full);
    RUN(test_contexts_full);
    RUN(test_release_fails);
    RUN(test_init_forgets);
    RUN(test_bad_buffers);
    RUN(test_register_refuses);
    RUN(test_halves_are_separate);
    RUN(test_scopes);
    RUN(test_cycles);
    UNIT_END();
}
