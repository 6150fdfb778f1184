/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tasks under a trace of their own.
 *
 * Claim: a task's records go into its own ring and into no other's; a switch writes DEPARTS
 *   into the old ring and ARRIVES into the new one; a clone inherits no trace; block steps are
 *   a task's own across switches.
 * How: each task's region lies at addresses of its own, so that each record says whose it is;
 *   every record of every ring is looked at when it is drained.
 * Wrong if: a timer slice is so long that nothing is ever preempted; the switches are counted.
 */
#define CHECK_GROUP "86 task"
#include "harness/fixture/tasks.h"

#include "ds/records.h"
#include "hw/apic.h"
#include "hw/string.h"

#define FIXED (LVT_DELIVERY_FIXED | VECTOR_PMI)

static struct bts_record records[1024];

/* Registers of their own, all the way: three loops that never end, and XMM0. */
CHECK("task.run.round_robin", SOFTWARE, "", NEED_NOTHING)
{
    struct tasks *t = tasks_open(run, FIXED);
    struct task *task[3];

    for (unsigned i = 0; i < 3; i++) {
        task[i] = tasks_add(t, "bench.loop", UINT64_MAX);
        task[i]->frame.r12 = 0x1111 * (i + 1);
        memset(task[i]->fpu.bytes + 160, 0x30 + (int)i, 16); /* XMM0 */
    }
    schedule_run(&t->schedule, 12);
    EXPECT_EQ(run, t->schedule.turn[0].switches, 12, "switches, by the timer alone");
    for (unsigned i = 0; i < 3; i++) {
        EXPECT(run, task[i]->slices >= 4, "task %u ran %lu times", i, task[i]->slices);
        EXPECT(run, task[i]->frame.rip - task[i]->base < task[i]->high - task[i]->base,
               "task %u stands at %lx", i, task[i]->frame.rip);
        EXPECT_EQ(run, task[i]->frame.r12, 0x1111 * (i + 1), "R12");
        EXPECT(run, task[i]->fpu.bytes[160] == 0x30 + i && task[i]->fpu.bytes[175] == 0x30 + i,
               "task %u: XMM0 is another's", i);
    }
}

CHECK("task.run.clone", SOFTWARE, "", NEED_NOTHING)
{
    static const struct script script[] = {
        {.call = SERVICE_TASK_CLONE, .other = 3 * sizeof(struct script)},
        {.call = SERVICE_TASK_SELF},
        {0},
        {.call = SERVICE_TASK_SELF}, /* the child */
        {.call = SERVICE_TASK_YIELD},
    };
    struct tasks *t = tasks_open(run, FIXED);
    struct task *parent = tasks_script(t, script, 5), *child = &t->schedule.tasks[1];

    /* Stopped in time to look: one switch. */
    t->schedule.slice_ticks = tasks_ticks(TASKS_LONG_US);
    schedule_run(&t->schedule, 1);
    REQUIRE(run, child->state == TASK_READY, "no child");
    schedule_run(&t->schedule, 100);
    EXPECT(run, parent->id == 1 && child->id == 2 && child->state == TASK_ENDED,
           "parent %u, child %u, state %u", parent->id, child->id, child->state);
}

/* Nothing but a kill ends a loop that never does. */
CHECK("task.run.kill", SOFTWARE, "", NEED_NOTHING)
{
    static const struct script script[] = {{.call = SERVICE_TASK_YIELD},
                                           {.call = SERVICE_TASK_KILL, .rdi = 1},
                                           {.call = SERVICE_TASK_KILL, .rdi = 1}};
    struct tasks *t = tasks_open(run, FIXED);
    struct task *spin = tasks_add(t, "bench.loop", UINT64_MAX);
    struct task *killer = tasks_script(t, script, 3);

    schedule_run(&t->schedule, 1000);
    EXPECT(run, spin->end == TASK_KILLED && killer->end == TASK_EXITED, "ends %u and %u",
           spin->end, killer->end);
    EXPECT(run, t->schedule.turn[0].switches < 1000, "it ran on");
}

/* --- whose records */

CHECK("task.switch.own_ring", SOFTWARE, "", NEED_BTS | NEED_DS_CPL)
{
    struct tasks *t = tasks_open(run, FIXED);
    const unsigned switches = run_count_of(run, 10000, 500);
    const unsigned stretch = switches < 40 ? switches : 40;
    struct tasks_ring ring[2] = {0};
    session_id id[2];

    for (unsigned i = 0; i < 2; i++) {
        struct session_request request;

        ring[i].task = tasks_add(t, "bench.call", UINT64_MAX);
        request = tasks_request(t, ring[i].task, 64);
        request.threshold = 40;
        request.overflow = tasks_look_at;
        request.context = &ring[i];
        id[i] = sessions_ask(t->sessions, &request);
    }
    tasks_add(t, "bench.loop", UINT64_MAX); /* a third, untraced */
    /* A shared machine may take slices away whole: until both were seen, within bounds. */
    for (unsigned done = 0;
         done < switches || (done < 20 * switches && !(ring[0].own && ring[1].own));
         done += stretch) {
        schedule_run(&t->schedule, stretch);
        if (done % 2000 == 1000)
            run_progress(run, "%u switches", done);
    }
    for (unsigned i = 0; i < 2; i++) {
        size_t count = 0;

        session_drain(id[i], &t->sessions->debugger, records, 64, 64, &count);
        tasks_look(&ring[i], records, count);
        EXPECT_EQ(run, ring[i].foreign, 0, "records of another task");
        EXPECT_EQ(run, ring[i].wrong_marks, 0, "marks of another task");
        NEED(run, ring[i].own > 0, "task %u was never traced", i);
        EXPECT(run, ring[i].marks > 0, "%lu records, no mark", ring[i].own);
    }
}

/* Arrival and departure by turns, with a clock that rises, branches only between them. */
CHECK("task.switch.marks", SOFTWARE, "", NEED_BTS | NEED_DS_CPL)
{
    static const struct script script[] = {{.call = SCRIPT_LOOP, .rdi = 5},
                                           {.call = SERVICE_TASK_YIELD},
                                           {.call = SCRIPT_LOOP, .rdi = 5},
                                           {.call = SERVICE_TASK_YIELD},
                                           {.call = SERVICE_TASK_WAIT}};
    struct tasks *t = tasks_open(run, FIXED);
    struct task *task = tasks_script(t, script, 5);
    struct session_request request = tasks_request(t, task, 256);
    session_id id = sessions_ask(t->sessions, &request);
    unsigned arrived = 0, departed = 0, outside = 0;
    uint64_t clock = 0;
    size_t count = 0;

    t->schedule.slice_ticks = tasks_ticks(TASKS_LONG_US);
    tasks_script(t, script, 5);
    schedule_run(&t->schedule, 100);
    sessions_error(run, session_drain(id, &t->sessions->debugger, records, 256, 256, &count),
                   DS_OK, "drain");
    for (size_t i = 0; i < count; i++) {
        struct record record;

        if (!record_from_mark(&records[i], &record)) {
            outside += arrived != departed + 1;
            continue;
        }
        if (record.kind > RECORD_DEPARTS)
            continue;
        arrived += record.kind == RECORD_ARRIVES;
        departed += record.kind == RECORD_DEPARTS;
        EXPECT(run, record.clock > clock && (arrived == departed || arrived == departed + 1),
               "mark %zu: kind %u", i, record.kind);
        clock = record.clock;
    }
    EXPECT(run, arrived == 3 && departed == 3, "%u arrivals, %u departures", arrived, departed);
    EXPECT_EQ(run, outside, 0, "branches while the task did not run");
}

static uint64_t sum(const struct bts_record *ring, size_t count)
{
    uint64_t out = 0;

    for (size_t i = 0; i < count; i++)
        out = (out ^ ring[i].from ^ ring[i].to << 1 ^ ring[i].flags) * 1099511628211ull;
    return out;
}

/* Seen in the field: the child shared its parent's area. */
CHECK("task.clone.untraced", SOFTWARE, "", NEED_BTS | NEED_DS_CPL)
{
    static const struct script script[] = {
        {.call = SERVICE_TASK_CLONE, .other = 3 * sizeof(struct script)},
        {.call = SERVICE_TASK_WAIT},
        {0},
        {.call = SCRIPT_LOOP, .rdi = 1000}, /* the child alone, from here on */
        {.call = SERVICE_TASK_YIELD},
        {.call = SCRIPT_LOOP, .rdi = 1000}};
    struct tasks *t = tasks_open(run, FIXED);
    struct task *parent = tasks_script(t, script, 6), *child = &t->schedule.tasks[1];
    struct session_request request = tasks_request(t, parent, 64);
    struct session_status before, after;
    uint64_t checksum;
    session_id id;

    request.buffer = memset(records, 0, sizeof(records));
    id = sessions_ask(t->sessions, &request);
    t->schedule.slice_ticks = tasks_ticks(TASKS_LONG_US);
    schedule_run(&t->schedule, 1); /* until the child has run to its yield */
    REQUIRE(run, child->state == TASK_READY && parent->state == TASK_WAITING, "states %u, %u",
            child->state, parent->state);
    EXPECT(run, !t->ds[child->slot].context, "the child has a context");
    session_status(id, &before);
    checksum = sum(records, 64);
    schedule_run(&t->schedule, 100);
    session_status(id, &after);
    EXPECT_EQ(run, child->end, TASK_EXITED, "the child's end");
    EXPECT(run, after.records == before.records && sum(records, 64) == checksum,
           "the parent's ring moved: %zu records, then %zu", before.records, after.records);
    task_signal(parent, 1);
    schedule_run(&t->schedule, 100);
    EXPECT_EQ(run, parent->end, TASK_EXITED, "the parent's end");
    EXPECT(run, sum(records, 64) != checksum, "the parent was not traced any more");
}

/* --- block steps */

struct stepper {
    struct task_watch watch;
    unsigned steps, elsewhere;
};

static void count_step(struct task_watch *watch, struct task *task, enum task_event event,
                       uint64_t value)
{
    struct stepper *s = watch->context;

    if (event != TASK_STEPPED)
        return;
    s->steps++;
    s->elsewhere += value - task->base >= task->high - task->base;
}

/* Two tasks, the four combinations of who is stepped, both traced all the while. */
static void step_pair(struct run *run, unsigned wish)
{
    static const struct script script[] = {{.call = SCRIPT_LOOP, .rdi = 5},
                                           {.call = SERVICE_TASK_YIELD},
                                           {.call = SCRIPT_LOOP, .rdi = 5},
                                           {.call = SERVICE_TASK_YIELD},
                                           {.call = SERVICE_TASK_WAIT}};
    struct tasks *t = tasks_open(run, FIXED);
    struct stepper stepper[2] = {0};
    session_id id[2];

    t->schedule.slice_ticks = tasks_ticks(TASKS_LONG_US);
    for (unsigned i = 0; i < 2; i++) {
        struct task *task = tasks_script(t, script, 5);
        struct session_request request = tasks_request(t, task, 128);

        stepper[i].watch = (struct task_watch){.tell = count_step, .context = &stepper[i]};
        stepper[i].watch.step = wish >> i & 1 ? STEP_BLOCK : STEP_NONE;
        task_watch(task, &stepper[i].watch);
        id[i] = sessions_ask(t->sessions, &request);
    }
    schedule_run(&t->schedule, 1000);
    for (unsigned i = 0; i < 2; i++) {
        struct tasks_ring ring = {.task = &t->schedule.tasks[i]};
        size_t count = 0, most;

        session_drain(id[i], &t->sessions->debugger, records, 128, 128, &count);
        tasks_look(&ring, records, count);
        /* One for each branch in ring 3, and perhaps for a return from a system call. */
        most = wish >> i & 1 ? ring.own + 4 : 0;
        EXPECT(run, stepper[i].steps >= (most ? ring.own : 0) && stepper[i].steps <= most,
               "wish %u, task %u: %u steps of %lu branches", wish, i, stepper[i].steps,
               ring.own);
        EXPECT(run, ring.own >= 10 && !ring.foreign, "%lu branches", ring.own);
        EXPECT_EQ(run, stepper[i].elsewhere, 0, "steps elsewhere");
    }
    run_deferred_now(run);
}

CHECK("task.step.wishes", SOFTWARE, "", NEED_BTS | NEED_DS_CPL)
{
    for (unsigned wish = 0; wish < 4; wish++)
        step_pair(run, wish);
}

/* The finer wish is in force, and goes with its watch. */
CHECK("task.step.merge", SOFTWARE, "", NEED_NOTHING)
{
    struct tasks *t = tasks_open(run, FIXED);
    struct task *task = tasks_add(t, "bench.loop", 100);
    struct task_watch block = {.tell = count_step, .step = STEP_BLOCK}, single = block;
    struct stepper seen[2] = {0};

    single.step = STEP_SINGLE;
    block.context = &seen[0];
    single.context = &seen[1];
    EXPECT_EQ(run, task_step(task), STEP_NONE, "nobody's wish");
    task_watch(task, &block);
    task_watch(task, &single);
    EXPECT_EQ(run, task_step(task), STEP_SINGLE, "both wishes");
    schedule_run(&t->schedule, 1000);
    EXPECT_EQ(run, task->end, TASK_EXITED, "the end");
    EXPECT(run, seen[0].steps == seen[1].steps && seen[0].steps >= 200,
           "%u and %u steps of some 200 instructions", seen[0].steps, seen[1].steps);
    task = tasks_add(t, "bench.loop", 100);
    task_watch(task, &block);
    task_watch(task, &single);
    task_unwatch(task, &single);
    EXPECT_EQ(run, task_step(task), STEP_BLOCK, "the one that stayed");
}
