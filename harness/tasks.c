/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the scheduler's hook meets the sessions: the order of a switch, and every death. */
#include "harness/tasks.h"

#include "ds/broker.h"
#include "harness/suite.h"
#include "hw/apic.h"
#include "hw/msr.h"
#include "hw/regs.h"
#include "hw/string.h"

static struct tasks tasks;

/* The trace first, block steps next: nothing but the way out of the kernel follows. */
static void switched(void *context, struct task *from, struct task *to)
{
    struct tasks *t = context;
    uint64_t wish = to && task_step(to) == STEP_BLOCK ? DEBUGCTL_BTF : 0;

    if (to)
        t->ds[to->slot].id = to->id;
    session_switch(from ? &t->ds[from->slot] : NULL, to ? &t->ds[to->slot] : NULL);
    broker_set(BROKER_BLOCK_STEP, wish);
    t->stale += (sessions_debugctl() & DEBUGCTL_BTF) != wish;
}

static void debugged(void *context)
{
    (void)context;
    broker_db_taken();
}

static void keep(struct tasks *t, struct task *task);

static void tell(struct task_watch *watch, struct task *task, enum task_event event,
                 uint64_t value)
{
    struct tasks *t = watch->context;

    if (event == TASK_CLONED)
        keep(t, task_find(&t->schedule, (uint32_t)value));
    if (event != TASK_OVER)
        return;
    if (t->over)
        t->over(t, task);
    t->stuck += session_task_ended(&t->ds[task->slot]) != 0;
    t->stuck += session_owner_died(&t->owner[task->slot]) != 0;
    t->ds[task->slot] = (struct ds_task){0};
}

static void keep(struct tasks *t, struct task *task)
{
    t->owner[task->slot] = (struct ds_owner){100 + task->id, "task", &t->sessions->other_purse};
    t->keep[task->slot] = (struct task_watch){.tell = tell, .context = t};
    task_watch(task, &t->keep[task->slot]);
}

static void close_tasks(void *arg)
{
    struct tasks *t = arg;

    schedule_close(&t->schedule);
    broker_clear(BROKER_BLOCK_STEP);
    EXPECT(t->sessions->run, !t->stuck, "%u deaths left a session", t->stuck);
    EXPECT(t->sessions->run, !t->stale, "BTF was stale after %u switches", t->stale);
}

/* The timer counts down at a rate that nothing enumerates everywhere. */
uint32_t tasks_ticks(uint32_t microseconds)
{
    static uint64_t ticks_per_second;
    uint64_t khz = suite_state()->platform->tsc_khz, start;

    if (!ticks_per_second) {
        ticks_per_second = 60000000; /* nothing to measure against */
        apic_timer_oneshot(UINT32_MAX);
        start = tsc_read();
        while (khz && tsc_read() - start < 2 * khz)
            cpu_pause();
        if (khz)
            ticks_per_second = (UINT32_MAX - apic_read(APIC_TIMER_CURRENT)) * 500ull;
        apic_timer_oneshot(0);
    }
    return (uint32_t)(ticks_per_second * microseconds / 1000000 + 1);
}

struct tasks *tasks_open(struct run *run, uint32_t lvt)
{
    struct tasks *t = &tasks;

    memset(t, 0, sizeof(*t));
    t->sessions = sessions_open(run, lvt);
    t->sessions->machine.clock = tsc_read;
    sessions_restart(t->sessions, t->sessions->machine.has_bts, true);
    schedule_open(&t->schedule, tasks_ticks(TASKS_SLICE_US));
    t->schedule.switched = switched;
    t->schedule.debugged = debugged;
    t->schedule.context = t;
    run_defer(run, close_tasks, t);
    return t;
}

struct task *tasks_add(struct tasks *t, const char *workload, uint64_t argument)
{
    struct task *task =
        task_create(&t->schedule, trace_find(t->sessions->run, workload), argument);

    NEED(t->sessions->run, task, "no room for a task");
    keep(t, task);
    return task;
}

struct session_request tasks_request(struct tasks *t, struct task *task, size_t records)
{
    struct session_request request = sessions_request(t->sessions, records);

    request.task = &t->ds[task->slot];
    request.marks = true;
    request.tables = &task->space.cr3;
    request.table_count = 1;
    return request;
}

struct script *tasks_entry(struct task *task, size_t entry)
{
    return (struct script *)(void *)(task->pages[0] + SCRIPT_OFFSET) + entry;
}

struct task *tasks_script(struct tasks *t, const struct script *script, size_t entries)
{
    struct task *task = tasks_add(t, "task.script", 0);

    for (size_t i = 0; i < entries; i++) {
        *tasks_entry(task, i) = script[i];
        if (!script[i].other)
            tasks_entry(task, i)->other = sizeof(*script);
    }
    return task;
}
