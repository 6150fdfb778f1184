/* SPDX-License-Identifier: BSD-2-Clause */
/* Sessions of tasks: the switch, other processors, deaths. */
#include "ds/records.h"
#include "harness/tests/fakes/session_fixture.h"
#include "hw/irq.h"

static uint64_t taken[256];
static size_t taken_count;

static void take(void *context, session_id id, const struct bts_record *records, size_t count)
{
    EXPECT(context == taken && id == result.id);
    EXPECT_EQ(fake.debugctl & TR, 0);
    for (size_t i = 0; i < count; i++)
        taken[taken_count++] = records[i].from;
}

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
        fake_branch(0xA000 + round, 1, 3);
        EXPECT_EQ(session_switch(&task_a, &task_b), DS_OK);
        fake_branch(0xB000 + round, 1, 3);
        EXPECT_EQ(session_switch(&task_b, NULL), DS_OK);
        EXPECT_EQ(fake.ds_area, 0);
        fake_branch(0xC000, 1, 3);
    }
    for (size_t i = 0; i < SLOTS; i++) {
        EXPECT_EQ(session_get(a, &debugger, i, &record), DS_OK);
        EXPECT_EQ(record.from, 0xA000 + 999 - i);
        EXPECT_EQ(session_get(b, &profiler, i, &record), DS_OK);
        EXPECT_EQ(record.from, 0xB000 + 999 - i);
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
    EXPECT_EQ(status_of(id).overflows, 2);
    EXPECT_EQ(session_release(id, &debugger), DS_OK);
    session_switch(&task_a, NULL);
    expect_nothing_left();
}

/*
 * The same without a callback: it comes back suspended, and a drain and a resume set it going.
 */
static void test_overflow_after_switch(void)
{
    struct bts_record got[SLOTS];
    size_t count = 0;
    session_id id;

    start();
    request.task = &task_a;
    request.threshold = 4;
    id = ask();
    fake.interrupts = false;
    session_switch(NULL, &task_a);
    fake_branches(1, 4);
    session_switch(&task_a, &task_b);
    irq_restore(1);
    EXPECT(!status_of(id).overflowed);
    EXPECT_EQ(session_switch(&task_b, &task_a), DS_OK);
    EXPECT(status_of(id).overflowed && !status_of(id).running);
    EXPECT_EQ(session_resume(id, &debugger), DS_EBUSY);
    EXPECT_EQ(session_drain(id, &debugger, got, SLOTS, SIZE_MAX, &count), DS_OK);
    EXPECT_EQ(count, 4);
    EXPECT_EQ(session_resume(id, &debugger), DS_OK);
    EXPECT(status_of(id).running);
    fake_branches(5, 2);
    EXPECT_EQ(size_of(id), 2);
    EXPECT_EQ(session_release(id, &debugger), DS_OK);
    session_switch(&task_a, NULL);
    expect_nothing_left();
}

/* A half that is given up leaves nothing behind for the switch to stumble over. */
static void test_switch_with_pebs_alone(void)
{
    struct ds_context *context = NULL;
    const struct ds_owner *holder = NULL;

    start();
    EXPECT_EQ(context_claim(&task_a, DS_HALF_PEBS, &profiler, &context, &holder), DS_OK);
    request.task = &task_a;
    EXPECT_EQ(session_release(ask(), &debugger), DS_OK);
    EXPECT_EQ(session_switch(NULL, &task_a), DS_OK);
    EXPECT_EQ(fake.ds_area, (uintptr_t)context->area);
    EXPECT_EQ(fake.debugctl, 0);
    EXPECT(!session_pmi());
    /* Loaded here, so nobody elsewhere may take the area away. */
    fake.cpu = 1;
    EXPECT_EQ(context_release(context, DS_HALF_PEBS), DS_EPERM);
    fake.cpu = 0;
    EXPECT_EQ(context_release(context, DS_HALF_PEBS), DS_OK);
    EXPECT_EQ(session_switch(&task_a, NULL), DS_OK);
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
    fake_go_to(1);
    session_switch(NULL, &task_a);
    EXPECT_EQ(fake.debugctl, TR_BTS);
    fake_go_to(0);
    EXPECT_EQ(session_suspend(id, &debugger), DS_EPERM);
    EXPECT_EQ(session_get(id, &debugger, 0, &record), DS_EPERM);
    EXPECT_EQ(session_size(id, &debugger, &records), DS_EPERM);
    EXPECT_EQ(session_release_here(id, &debugger), DS_EPERM);
    EXPECT_EQ(session_release(id, &profiler), DS_EPERM);
    /* Nobody answers: nothing has changed. */
    fake.deaf = 2;
    EXPECT_EQ(session_release(id, &debugger), DS_EBUSY);
    EXPECT_EQ(session_owner_died(&debugger), 1);
    EXPECT(!status_of(id).running);
    fake_go_to(1);
    EXPECT(status_of(id).running);
    fake_branch(7, 8, 3);
    EXPECT_EQ(size_of(id), 1);
    fake_go_to(0);
    fake.deaf = 0;
    EXPECT_EQ(session_release(id, &debugger), DS_OK);
    EXPECT_EQ(session_release(id, &debugger), DS_ESRCH);
    expect_nothing_left();
    fake_go_to(1);
    EXPECT_EQ(fake.debugctl, 0);
    EXPECT_EQ(fake.ds_area, 0);
    session_switch(&task_a, NULL);
    fake_go_to(0);
    /* Every one of an owner's, wherever it is. */
    request.task = NULL;
    ask();
    fake_go_to(1);
    ask();
    fake_go_to(2);
    EXPECT_EQ(session_owner_died(&debugger), 0);
    for (unsigned cpu = 0; cpu < 3; cpu++) {
        fake_go_to(cpu);
        EXPECT_EQ(fake.debugctl, 0);
        EXPECT_EQ(fake.ds_area, 0);
    }
    fake_go_to(0);
    expect_nothing_left();
}

/* Whoever works on a context keeps the others out, and is not waited for without end. */
static void test_held(void)
{
    struct ds_context *context;
    struct bts_record record;
    session_id id;
    bool taken;

    start();
    request.task = &task_a;
    request.marks = true;
    id = ask();
    fake_go_to(1);
    context = context_take(&task_a, &taken);
    EXPECT(context == task_a.context && taken);
    EXPECT(context_take(&task_a, &taken) == context && !taken);
    fake_go_to(0);
    EXPECT_EQ(session_get(id, &debugger, 0, &record), DS_EBUSY);
    EXPECT_EQ(session_release(id, &debugger), DS_EBUSY);
    /* The task runs all the same, and its ring will say that something is missing. */
    EXPECT_EQ(session_switch(NULL, &task_a), DS_OK);
    EXPECT_EQ(fake.debugctl, 0);
    fake_branch(1, 2, 3);
    EXPECT_EQ(session_switch(&task_a, NULL), DS_OK);
    fake_go_to(1);
    context_drop(context);
    fake_go_to(0);
    EXPECT_EQ(size_of(id), 0);
    EXPECT_EQ(session_switch(NULL, &task_a), DS_OK);
    fake_branch(3, 4, 3);
    EXPECT_EQ(session_switch(&task_a, NULL), DS_OK);
    EXPECT_EQ(size_of(id), 4); /* LOST, ARRIVES, the branch, DEPARTS */
    EXPECT_EQ(session_get(id, &debugger, 3, &record), DS_OK);
    EXPECT_EQ(record.from >> 48, 0xA600 | RECORD_LOST);
    EXPECT_EQ(record.to, RECORD_UNKNOWN);
    EXPECT_EQ(session_release(id, &debugger), DS_OK);
    expect_nothing_left();
}

/* Handed back while it is traced: the records stay, the trace does not. */
static void test_processor_leaves(void)
{
    struct bts_record record;
    session_id id;

    start();
    fake_go_to(1);
    request.threshold = 16;
    id = ask();
    fake_branches(1, 5);
    EXPECT_EQ(fake.lvt, LVT);
    session_processor_leaves();
    EXPECT_EQ(fake.debugctl, 0);
    EXPECT_EQ(fake.ds_area, 0);
    EXPECT_EQ(fake.lvt, 0x10000 | LVT);
    session_processor_leaves();
    fake_go_to(0);
    EXPECT_EQ(size_of(id), 5);
    EXPECT_EQ(session_get(id, &debugger, 0, &record), DS_OK);
    EXPECT_EQ(record.from, 5);
    EXPECT_EQ(session_resume(id, &debugger), DS_ESRCH);
    EXPECT(!status_of(id).running);
    fake_go_to(1);
    EXPECT_EQ(session_resume(id, &debugger), DS_ESRCH);
    expect_refused(DS_EBUSY);
    fake.deaf = 2; /* nobody has to be asked */
    fake_go_to(0);
    EXPECT_EQ(session_release(id, &debugger), DS_OK);
    expect_nothing_left();
    fake_go_to(1);
    EXPECT_EQ(session_release(ask(), &debugger), DS_OK);
    fake_go_to(0);
    session_processor_leaves(); /* nothing is loaded */
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
    EXPECT_EQ(session_task_ended(&task_a), 0);
    EXPECT_EQ(session_suspend(b, &profiler), DS_OK);
    EXPECT_EQ(session_task_ended(&task_b), 0);
    EXPECT_EQ(session_suspend(b, &profiler), DS_ESRCH);
    expect_nothing_left();
}

int main(void)
{
    RUN(test_switch);
    RUN(test_interrupt_after_switch);
    RUN(test_overflow_after_switch);
    RUN(test_switch_with_pebs_alone);
    RUN(test_other_processor);
    RUN(test_held);
    RUN(test_processor_leaves);
    RUN(test_task_on_traced_processor);
    RUN(test_deaths);
    UNIT_END();
}
