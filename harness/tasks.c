/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the scheduler's hook meets the sessions: the order of a switch, and every death. */
#include "harness/tasks.h"

#include "ds/broker.h"
#include "ds/records.h"
#include "harness/company.h"
#include "harness/suite.h"
#include "hw/apic.h"
#include "hw/cross_call.h"
#include "hw/msr.h"
#include "hw/regs.h"
#include "hw/string.h"

#define RATE_SAMPLES 5
#define COMPANY_MS   100000ull /* of any stretch on several processors; more than all waits */
#define SETTLE_MS    20000ull

static struct tasks tasks;

/* The trace first, block steps next: nothing but the way out of the kernel follows. */
static void switched(void *context, struct task *from, struct task *to)
{
    struct tasks *t = context;
    uint64_t wish = to && task_step(to) == STEP_BLOCK ? DEBUGCTL_BTF : 0;

    if (to) {
        t->ds[to->slot].id = to->id;
        t->ds[to->slot].mode = RECORD_MODE_OF(3, to->frame.rflags & RFLAGS_IF);
    }
    session_switch(from ? &t->ds[from->slot] : NULL, to ? &t->ds[to->slot] : NULL);
    broker_set(BROKER_BLOCK_STEP, wish);
    if ((sessions_debugctl() & DEBUGCTL_BTF) != wish)
        __atomic_add_fetch(&t->stale, 1, __ATOMIC_RELAXED);
}

static void faulted(void *context, struct task *task, const struct trap_frame *frame)
{
    (void)context;
    (void)task;
    session_exception((unsigned)frame->vector,
                      frame->vector == VECTOR_PF ? cr2_read() : frame->rip, frame->error);
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

    tasks_alone(t);
    schedule_close(&t->schedule);
    broker_clear(BROKER_BLOCK_STEP);
    EXPECT(t->sessions->run, !t->stuck, "%u deaths left a session", t->stuck);
    EXPECT(t->sessions->run, !t->stale, "BTF was stale after %u switches", t->stale);
}

/* --- on all processors */

/* On another one. Interrupts are off between two runs: what others ask is served by hand. */
static uint64_t keep_running(void *arg)
{
    struct tasks *t = arg;

    while (!t->stop && tsc_read() < t->enough) {
        schedule_run(&t->schedule, 20);
        cross_call_serve();
        cpu_pause();
    }
    broker_clear(BROKER_BLOCK_STEP);
    return 0;
}

unsigned tasks_company(struct tasks *t)
{
    struct run *run = t->sessions->run;
    unsigned others = company_count(run);

    if (others >= TASK_CPUS)
        others = TASK_CPUS - 1;
    t->enough = tsc_read() + run->platform->tsc_khz * COMPANY_MS;
    for (unsigned i = 1; i <= others; i++) {
        company_start(run, i, keep_running, t);
        t->others = i;
        t->schedule.processors |= 1ull << i;
    }
    return others + 1;
}

/* One that does not come back must not keep the check from ending. */
void tasks_alone(struct tasks *t)
{
    uint64_t value;

    t->stop = true;
    for (; t->others; t->others--)
        if (!t->sessions->run->platform->other_wait(t->others, &value))
            run_error(t->sessions->run, "processor %u does not come back", t->others);
}

void tasks_send(struct tasks *t, struct task *task, unsigned processor)
{
    NEED(t->sessions->run, task_move(&t->schedule, task, processor),
         "processor %u is not there", processor);
    t->ds[task->slot].cpu = processor;
}

static bool busy(const struct task *task)
{
    enum task_state state = __atomic_load_n(&task->state, __ATOMIC_ACQUIRE);

    return state == TASK_READY || state == TASK_ENDING || task->cpu != task->next_cpu;
}

bool tasks_settle(struct tasks *t)
{
    uint64_t start = tsc_read(), limit = suite_state()->platform->tsc_khz * SETTLE_MS;

    while (tsc_read() - start < limit) {
        bool any = false;

        schedule_run(&t->schedule, 1000);
        cross_call_serve();
        for (unsigned i = 0; i < TASKS_MOST; i++)
            any |= busy(&t->schedule.tasks[i]);
        if (!any)
            return true;
        cpu_pause();
    }
    return false;
}

/*
 * One sample of the timer's rate. The counter is read outside of what the timer counts, so that
 * whoever is away in between makes the rate too low, never too high.
 */
static uint64_t sample_rate(uint64_t khz)
{
    uint64_t start = tsc_read(), counted;

    apic_timer_oneshot(UINT32_MAX);
    while (tsc_read() - start < khz / 2)
        cpu_pause();
    counted = UINT32_MAX - apic_read(APIC_TIMER_CURRENT);
    return counted * 1000 * khz / (tsc_read() - start);
}

/* The timer counts down at a rate that nothing enumerates everywhere. */
uint32_t tasks_ticks(uint32_t microseconds)
{
    static uint64_t ticks_per_second;
    uint64_t khz = suite_state()->platform->tsc_khz, ticks;

    if (!ticks_per_second && !khz)
        ticks_per_second = 60000000; /* nothing to measure against */
    if (!ticks_per_second) {
        for (unsigned i = 0; i < RATE_SAMPLES; i++) {
            uint64_t rate = sample_rate(khz);

            ticks_per_second = rate > ticks_per_second ? rate : ticks_per_second;
        }
        apic_timer_oneshot(0);
    }
    ticks = ticks_per_second * microseconds / 1000000 + 1;
    return ticks < UINT32_MAX ? (uint32_t)ticks : UINT32_MAX;
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
    t->schedule.faulted = faulted;
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

void tasks_look(struct tasks_ring *ring, const struct bts_record *got, size_t count)
{
    uint64_t bytes = ring->task->high - ring->task->base;

    for (size_t i = 0; i < count; i++) {
        uint64_t from = got[i].from - ring->task->base, to = got[i].to - ring->task->base;
        struct record record;

        if (record_from_mark(&got[i], &record)) {
            ring->marks++;
            ring->wrong_marks +=
                record.kind <= RECORD_DEPARTS && record.detail != ring->task->id;
        } else if (from < bytes && to < bytes) {
            ring->own++;
        } else if (got[i].from - USER_WINDOW < WINDOW_BYTES && from >= bytes) {
            ring->foreign++;
        } else if (got[i].to - USER_WINDOW < WINDOW_BYTES && to >= bytes) {
            ring->foreign++;
        }
    }
}

void tasks_look_at(void *context, session_id id, const struct bts_record *got, size_t count)
{
    (void)id;
    tasks_look(context, got, count);
}
