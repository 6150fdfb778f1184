/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Traced tasks on all processors.
 *
 * Claim: a task's trace goes with it from one processor to another, whole, and says so; rings
 *   of tasks on different processors hold nothing of each other; whoever owns a trace can end
 *   it, or die, while its task runs elsewhere.
 * How: a table of loops and moves is worked off once on one processor and once over all of
 *   them; the branches of both must be the same, one by one. Others run two tasks on each
 *   processor, or have a loop without end there while this one attaches and detaches.
 * Wrong if: all of them run by turns on one processor of the host: then races are seen less
 *   often, and nothing is said that is not so.
 */
#define CHECK_GROUP "69 smp.task"
#include "ds/broker.h"
#include "ds/records.h"
#include "harness/fixture/other_processors.h"
#include "harness/fixture/tasks.h"
#include "hw/apic.h"
#include "hw/regs.h"
#include "hw/string.h"

#define FIXED (LVT_DELIVERY_FIXED | VECTOR_PMI)
#define HOPS  12
#define RING  512

#define SLICE_MOST_US 50000u   /* every processor must come back soon after a stop */
#define PATIENCE_MS   20000ull /* with what is awaited; then it is an error, not a failure */

static struct bts_record ring[RING], reference[RING];

/* --- a task that moves */

/* A loop on each of count processors in turn; then it waits, where it came last. */
static struct task *traveller(struct tasks *t, unsigned count)
{
    struct script script[2 * HOPS + 2];
    unsigned n = 0;

    for (unsigned hop = 1; hop <= HOPS; hop++) {
        script[n++] = (struct script){.call = SCRIPT_LOOP, .rdi = 5};
        script[n++] = (struct script){.call = SERVICE_TASK_MOVE, .rdi = hop % count};
    }
    script[n++] = (struct script){.call = SCRIPT_LOOP, .rdi = 5};
    script[n++] = (struct script){.call = SERVICE_TASK_WAIT};
    return tasks_script(t, script, n);
}

/* Its records, all of them; the task waits somewhere, so its ring is loaded nowhere. */
static size_t travel(struct run *run, unsigned processors, struct bts_record *to)
{
    struct tasks *t = tasks_open(run, FIXED);
    struct task *task = traveller(t, processors);
    struct session_request request = tasks_request(t, task, RING);
    session_id id = sessions_ask(t->sessions, &request);
    size_t count = 0;

    t->schedule.slice_ticks = tasks_ticks(TASKS_LONG_US);
    if (processors > 1)
        tasks_company(t);
    NEED(run, tasks_settle(t), "it does not arrive in time");
    EXPECT_EQ(run, task->state, TASK_WAITING, "its state in the end");
    tasks_alone(t);
    for (unsigned hop = 0; hop < HOPS; hop++)
        EXPECT_EQ(run, tasks_entry(task, 2 * hop + 1)->result, 0, "a move");
    EXPECT_EQ(run, task->cpu, HOPS % processors, "the processor it came to");
    sessions_error(run, session_drain(id, &t->sessions->debugger, to, RING, RING, &count),
                   DS_OK, "drain");
    EXPECT(run, session_release(id, &t->sessions->debugger) == DS_OK, "release");
    run_deferred_now(run);
    return count;
}

/* The branches alone, in their order; the marks in theirs are looked at on the way. */
static size_t branches_of(struct run *run, struct bts_record *records, size_t count,
                          unsigned processors)
{
    /* The first task of a run: its region is the same in both. */
    const uint64_t low = USER_WINDOW + TASK_REGION_BYTES, high = low + TASK_REGION_BYTES;
    unsigned hops = 0, before = RECORD_DEPARTS;
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        unsigned here = hops % processors, next = (hops + 1) % processors;
        struct record mark;

        if (!record_from_mark(&records[i], &mark)) {
            /* What crosses a privilege depends on the way back to ring 3. */
            if (records[i].from - low < high - low && records[i].to - low < high - low)
                records[kept++] = records[i];
            EXPECT(run, before != RECORD_DEPARTS && before != RECORD_MIGRATE,
                   "record %zu: a branch of a task that does not run", i);
            continue;
        }
        if (mark.kind == RECORD_MIGRATE) {
            EXPECT(run, before == RECORD_DEPARTS && mark.detail == (here | next << 16),
                   "move %u says %x, behind kind %u", hops, mark.detail, before);
            EXPECT_EQ(run, mark.bytes, RECORD_HEADER_BYTES, "the size of MIGRATE");
            hops++;
        }
        if (mark.kind == RECORD_ARRIVES)
            EXPECT(run, before == RECORD_MIGRATE || before == RECORD_DEPARTS,
                   "ARRIVES behind kind %u", before);
        EXPECT(run, mark.kind != RECORD_LOST, "something was lost");
        before = mark.kind;
    }
    EXPECT_EQ(run, hops, processors > 1 ? HOPS : 0, "MIGRATE records");
    return kept;
}

CHECK("smp.task.migrates", SOFTWARE, "", NEED_BTS | NEED_DS_CPL | NEED_SMP)
{
    unsigned processors = company_count(run) + 1;
    size_t want = branches_of(run, reference, travel(run, 1, reference), 1), got;

    got = branches_of(run, ring, travel(run, processors, ring), processors);
    EXPECT(run, want > 5 * HOPS && got == want, "%zu branches, on one processor %zu", got,
           want);
    EXPECT(run, got != want || memcmp(ring, reference, want * sizeof(ring[0])) == 0,
           "other branches than on one processor");
}

/* --- everybody's own ring */

static uint64_t slices(const struct tasks *t)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < TASKS_MOST; i++)
        sum += *(const volatile uint64_t *)&t->schedule.tasks[i].slices;
    return sum;
}

/* A slice in which tasks get nowhere, on a slow or shared machine, becomes a longer one. */
static void lengthen(struct tasks *t)
{
    if (t->schedule.slice_ticks < tasks_ticks(SLICE_MOST_US))
        t->schedule.slice_ticks *= 2;
}

static bool all_seen(const struct tasks_ring *rings, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (!*(const volatile uint64_t *)&rings[i].own)
            return false;
    return true;
}

CHECK("smp.task.own_ring", SOFTWARE, "", NEED_BTS | NEED_DS_CPL | NEED_SMP)
{
    struct tasks *t = tasks_open(run, FIXED);
    unsigned count = tasks_company(t), switches = run_count_of(run, 10000, 250), n;
    uint64_t start = tsc_read(), limit = run->platform->tsc_khz * PATIENCE_MS;
    struct tasks_ring rings[TASKS_MOST] = {0};
    session_id id[TASKS_MOST];

    n = 2 * count < TASKS_MOST ? 2 * count : TASKS_MOST;
    for (unsigned i = 0; i < n; i++) {
        struct session_request request;

        rings[i].task = tasks_add(t, "bench.call", UINT64_MAX);
        t->ds[rings[i].task->slot].cpu = i % count;
        request = tasks_request(t, rings[i].task, 64);
        request.threshold = 40;
        request.overflow = tasks_look_at;
        request.context = &rings[i];
        id[i] = sessions_ask(t->sessions, &request);
        tasks_send(t, rings[i].task, i % count);
    }
    for (uint64_t enough = switches; tsc_read() - start < limit;) {
        if (slices(t) >= enough) {
            if (all_seen(rings, n))
                break;
            enough += switches;
            lengthen(t);
        }
        schedule_run(&t->schedule, 10);
    }
    tasks_alone(t);
    for (unsigned i = 0; i < n; i++) {
        size_t held = 0;

        sessions_error(run, session_drain(id[i], &t->sessions->debugger, ring, 64, 64, &held),
                       DS_OK, "drain");
        tasks_look(&rings[i], ring, held);
        EXPECT_EQ(run, rings[i].foreign, 0, "records of another task");
        EXPECT_EQ(run, rings[i].wrong_marks, 0, "marks of another task");
        EXPECT(run, !rings[i].own || rings[i].marks > 0, "%lu records without a mark",
               rings[i].own);
    }
    /* A task that did not get its turn in time says nothing, neither way. */
    if (!all_seen(rings, n))
        run_error(run, "not every task was traced in time");
}

/* --- a task that runs elsewhere meanwhile */

/* A loop without end on the last processor, running by now. */
static struct task *runner(struct tasks *t)
{
    unsigned count = tasks_company(t);
    uint64_t start = tsc_read(), limit = t->sessions->run->platform->tsc_khz * PATIENCE_MS;
    struct task *task = tasks_add(t, "bench.call", UINT64_MAX);

    t->schedule.slice_ticks = tasks_ticks(500);
    tasks_send(t, task, count - 1);
    while (!*(volatile uint64_t *)&task->slices && tsc_read() - start < limit)
        cpu_pause();
    NEED(t->sessions->run, task->slices, "it does not run");
    return task;
}

/* Attached to, and let go, at any moment of its switches. */
CHECK("smp.task.attach", SOFTWARE, "", NEED_BTS | NEED_DS_CPL | NEED_SMP)
{
    struct tasks *t = tasks_open(run, FIXED);
    struct task *task = runner(t);
    struct session_request request = tasks_request(t, task, 64);
    unsigned rounds = run_count_of(run, 4000, 100), bad = 0, seen = 0;
    uint64_t before = task->slices, patience = run->platform->tsc_khz * 20;

    for (unsigned i = 0; i < rounds; i++) {
        struct session_status status = {0};
        session_id id = sessions_ask(t->sessions, &request);

        for (volatile unsigned spin = i * 97 % 5000; spin > 0; spin--)
            ;
        for (uint64_t start = tsc_read(); i % 8 == 0 && !status.records;) {
            session_status(id, &status);
            if (tsc_read() - start > patience)
                break;
        }
        bad += session_status(id, &status) != DS_OK || status.task != request.task;
        seen += status.records > 0;
        bad += session_release(id, &t->sessions->debugger) != DS_OK;
        bad += pool_used(&t->sessions->pool) != 0 || t->ds[task->slot].context;
    }
    run_detail(run, "%u of %u rounds saw it traced", seen, rounds);
    EXPECT_EQ(run, bad, 0, "rounds with an error, or something left");
    for (uint64_t start = tsc_read(); *(volatile uint64_t *)&task->slices == before;)
        if (tsc_read() - start > run->platform->tsc_khz * PATIENCE_MS)
            break;
    NEED(run, task->slices > before, "it does not run any more");
}

/*
 * Runs this processor's tasks until that one has ended, wherever. Where it shares a processor
 * and does not get to its end in many slices, they become longer.
 */
static void await_end(struct tasks *t, struct task *task)
{
    struct run *run = t->sessions->run;
    uint64_t start = tsc_read(), limit = run->platform->tsc_khz * PATIENCE_MS;
    uint64_t lengthened = 0;

    while (__atomic_load_n(&task->state, __ATOMIC_ACQUIRE) != TASK_ENDED) {
        uint64_t slices = *(const volatile uint64_t *)&task->slices;

        NEED(run, tsc_read() - start < limit,
             "no end in time: state %u on processor %u, %lu slices of %u ticks", task->state,
             task->cpu, slices, t->schedule.slice_ticks);
        if (slices - lengthened > 50) {
            lengthen(t);
            lengthened = slices;
        }
        schedule_run(&t->schedule, 10);
        cpu_pause();
    }
}

/* Its owner, a task on this processor, dies while the trace is loaded on that one. */
CHECK("smp.task.deaths", SOFTWARE, "", NEED_BTS | NEED_DS_CPL | NEED_SMP)
{
    static const struct script script[] = {{.call = SCRIPT_LOOP, .rdi = 50},
                                           {.call = SERVICE_TASK_MOVE, .rdi = 1},
                                           {.call = SCRIPT_LOOP, .rdi = 50}};
    struct tasks *t = tasks_open(run, FIXED);
    struct task *task = runner(t), *tracer = tasks_add(t, "bench.loop", 100), *mortal;
    struct session_request request = tasks_request(t, task, 64);
    uint64_t start = tsc_read(), limit = run->platform->tsc_khz * PATIENCE_MS;
    struct session_status status = {0};
    session_id id;

    request.owner = &t->owner[tracer->slot];
    id = sessions_ask(t->sessions, &request);
    while (!status.records && tsc_read() - start < limit)
        session_status(id, &status);
    NEED(run, status.records > 0, "it is not traced");
    await_end(t, tracer);
    EXPECT_EQ(run, t->stuck, 0, "sessions that the tracer's death did not release");
    sessions_error(run, session_status(id, &status), DS_ESRCH, "the dead one's session");
    /* And who is traced dies on another processor than the one it was born on. */
    mortal = tasks_script(t, script, 3);
    request = tasks_request(t, mortal, 64);
    id = sessions_ask(t->sessions, &request);
    await_end(t, mortal);
    EXPECT(run, mortal->end == TASK_EXITED && mortal->cpu == 1, "end %u on processor %u",
           mortal->end, mortal->cpu);
    sessions_error(run, session_status(id, &status), DS_ESRCH, "its session");
    EXPECT_EQ(run, pool_used(&t->sessions->pool), 0, "pages out");
}
