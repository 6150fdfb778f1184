/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who watches a task, and what a trace must survive: two tables, an NMI in a switch, a fault.
 *
 * Claim: several subscribers see a task's clone, steps, detachments and end, each on its own; a
 *   task is known by the scheduler's word and not by its CR3; an NMI that suspends a trace in
 *   the middle of a switch leaves DEBUGCTL as the broker believes it to be; the newest branches
 *   can be read when a fault stops everything.
 * How: tasks under the timer, with hooks that change what is asked about.
 * Wrong if: no NMI lands in a switch: they are counted.
 */
#define CHECK_GROUP "89 task.events"
#include "ds/broker.h"
#include "ds/layout.h"
#include "ds/records.h"
#include "harness/fixture/tasks.h"
#include "harness/suite/last_branches.h"
#include "hw/apic.h"
#include "hw/msr.h"
#include "hw/string.h"

#define FIXED (LVT_DELIVERY_FIXED | VECTOR_PMI)

struct diary {
    struct task_watch watch;
    unsigned seen[TASK_OVER + 1];
    uint64_t end;
};

static void note(struct task_watch *watch, struct task *task, enum task_event event,
                 uint64_t value)
{
    struct diary *d = watch->context;

    (void)task;
    d->seen[event]++;
    if (event == TASK_OVER)
        d->end = value;
}

static void subscribe(struct task *task, struct diary *d, enum task_step step)
{
    memset(d, 0, sizeof(*d));
    d->watch = (struct task_watch){.tell = note, .context = d, .step = step};
    task_watch(task, &d->watch);
}

/* Leaves when it is told of a step, and takes the next one along. */
static void leave_with(struct task_watch *watch, struct task *task, enum task_event event,
                       uint64_t value)
{
    struct diary *d = watch->context;

    note(watch, task, event, value);
    if (event == TASK_STEPPED) {
        task_unwatch(task, &d[1].watch);
        task_unwatch(task, watch);
    }
}

/* Told first, last come; neither of the two who leave may be told again. */
CHECK("task.watch.leave", SOFTWARE, "", NEED_NOTHING)
{
    static struct diary pair[2], other;
    struct tasks *t = tasks_open(run, FIXED);
    struct task *task = tasks_add(t, "bench.loop", 10);

    subscribe(task, &other, STEP_SINGLE);
    subscribe(task, &pair[1], STEP_NONE);
    subscribe(task, &pair[0], STEP_NONE);
    pair[0].watch.tell = leave_with;
    schedule_run(&t->schedule, 100);
    EXPECT_EQ(run, pair[0].seen[TASK_STEPPED], 1, "steps told to the one that left");
    EXPECT(run, !pair[1].seen[TASK_STEPPED] && !pair[1].seen[TASK_OVER],
           "one that had left was told");
    EXPECT_EQ(run, pair[0].seen[TASK_OVER], 0, "ends told to the one that left");
    EXPECT(run,
           other.seen[TASK_STEPPED] > 10 && other.seen[TASK_DETACHED] == 2 &&
               other.seen[TASK_OVER] == 1,
           "the one that stayed: %u steps, %u detachments", other.seen[TASK_STEPPED],
           other.seen[TASK_DETACHED]);
}

CHECK("task.watch.subscribers", SOFTWARE, "", NEED_NOTHING)
{
    static const struct script script[] = {
        {.call = SERVICE_TASK_CLONE, .other = 3 * sizeof(struct script)},
        {.call = SERVICE_TASK_WAIT},
        {0},
        {.call = SERVICE_TASK_SELF}};
    struct tasks *t = tasks_open(run, FIXED);
    struct task *task = tasks_script(t, script, 4);
    static struct diary a, b, c;

    subscribe(task, &a, STEP_NONE);
    subscribe(task, &b, STEP_SINGLE);
    subscribe(task, &c, STEP_NONE);
    schedule_run(&t->schedule, 100);
    EXPECT(run, a.seen[TASK_CLONED] == 1 && b.seen[TASK_CLONED] == 1 && !a.seen[TASK_OVER],
           "clones seen: %u, %u", a.seen[TASK_CLONED], b.seen[TASK_CLONED]);
    EXPECT(run, b.seen[TASK_STEPPED] > 3 && a.seen[TASK_STEPPED] == b.seen[TASK_STEPPED],
           "steps seen: %u, %u", a.seen[TASK_STEPPED], b.seen[TASK_STEPPED]);
    task_unwatch(task, &b.watch);
    EXPECT(run,
           a.seen[TASK_DETACHED] == 1 && c.seen[TASK_DETACHED] == 1 &&
               b.seen[TASK_DETACHED] == 0,
           "detachments seen: %u, %u, %u", a.seen[TASK_DETACHED], b.seen[TASK_DETACHED],
           c.seen[TASK_DETACHED]);
    task_signal(task, 2);
    schedule_run(&t->schedule, 100);
    EXPECT(run, a.seen[TASK_OVER] == 1 && c.seen[TASK_OVER] == 1 && a.end == TASK_EXITED,
           "ends seen: %u, %u", a.seen[TASK_OVER], c.seen[TASK_OVER]);
    EXPECT(run, !b.seen[TASK_OVER], "one that had left is told of the end");
}

/* --- two tables for one task */

struct two {
    struct tasks *t;
    struct task *task;
    uint64_t cr3[2];
    unsigned changes;
    void (*switched)(void *context, struct task *from, struct task *to);
};
static struct two two;

static void alternate(void *context, struct task *from, struct task *to)
{
    if (to == two.task) {
        two.task->space.cr3 = two.cr3[++two.changes & 1];
        paging_load(two.task->space.cr3);
    }
    two.switched(context, from, to);
}

static void end_two(void *arg)
{
    struct address_space other = {two.cr3[1]};

    (void)arg;
    if (two.task->state != TASK_ENDED)
        two.task->space.cr3 = two.cr3[0];
    paging_space_destroy(&other);
}

CHECK("task.switch.two_tables", SOFTWARE, "", NEED_BTS | NEED_DS_CPL)
{
    struct tasks *t = tasks_open(run, FIXED);
    static const struct script script[] = {
        {.call = SCRIPT_LOOP, .rdi = 20}, {.call = SERVICE_TASK_YIELD},
        {.call = SCRIPT_LOOP, .rdi = 20}, {.call = SERVICE_TASK_YIELD},
        {.call = SCRIPT_LOOP, .rdi = 20}, {.call = SERVICE_TASK_WAIT}};
    struct task *task = tasks_script(t, script, 6);
    struct session_request request = tasks_request(t, task, 256);
    struct address_space other;
    struct paging_walk walk;
    size_t records = 0;
    session_id id;

    t->schedule.slice_ticks = tasks_ticks(TASKS_LONG_US);
    NEED(run, paging_space_create(&other), "the page pool is empty");
    two = (struct two){t, task, {task->space.cr3, other.cr3}, 0, t->schedule.switched};
    run_defer(run, end_two, NULL);
    for (uint64_t at = task->base; at < task->high; at += PAGE_BYTES)
        if (paging_walk(task->space.cr3, at, &walk))
            paging_map(&other, at, walk.phys & ~(PAGE_BYTES - 1), walk.flags);
    request.tables = two.cr3;
    request.table_count = 2;
    request.marks = false;
    id = sessions_ask(t->sessions, &request);
    t->schedule.switched = alternate;
    schedule_run(&t->schedule, 100);
    t->schedule.switched = two.switched;
    session_size(id, &t->sessions->debugger, &records);
    EXPECT(run, two.changes >= 3, "%u changes of tables", two.changes);
    /* 19 taken branches a loop; the rest are the table's own, a few for each entry. */
    EXPECT(run, records >= 3 * 19 + 5, "%zu records: a part is missing", records);
}

/* --- an NMI that suspends, anywhere in the switch */

#define SWITCHES 24

static struct {
    struct tasks *t;
    session_id id[2];
    struct trap_slot outer;
    void (*switched)(void *context, struct task *from, struct task *to);
    unsigned rounds, nmis, inside, wrong;
    volatile bool in_switch;
} gust;

static bool on_nmi(struct trap_frame *frame, void *arg)
{
    (void)frame;
    (void)arg;
    gust.nmis++;
    gust.inside += gust.in_switch;
    session_pmi();
    apic_lvt_perf_write(LVT_DELIVERY_NMI);
    for (unsigned i = 0; i < 2; i++)
        session_suspend(gust.id[i], &gust.t->sessions->debugger);
    return true;
}

/* Traced as far as it is: kernel branches are stored here. */
static void watched(void *context, struct task *from, struct task *to)
{
    struct session_status status;

    /* Traced: the interrupt comes elsewhere each time. */
    for (volatile unsigned spin = 7 * gust.rounds++ % 400; spin > 0; spin--)
        ;
    gust.in_switch = true;
    gust.switched(context, from, to);
    gust.in_switch = false;
    /* An NMI between the two reads makes them differ once. */
    gust.wrong += ((sessions_debugctl() ^ broker_shadow()) & DEBUGCTL_TR) &&
                  ((sessions_debugctl() ^ broker_shadow()) & DEBUGCTL_TR);
    for (unsigned i = 0; i < 2; i++)
        if (session_status(gust.id[i], &status) == DS_OK)
            while (status.suspended-- > 0)
                session_resume(gust.id[i], &gust.t->sessions->debugger);
}

static void drop(void *context, session_id id, const struct bts_record *got, size_t count)
{
    (void)context;
    (void)id;
    (void)got;
    (void)count;
}

static void end_gust(void *arg)
{
    (void)arg;
    trap_set(VECTOR_NMI, gust.outer.handler, gust.outer.arg);
}

CHECK("task.switch.nmi", SOFTWARE, "", NEED_BTS)
{
    static const struct script script[] = {{.call = SERVICE_TASK_YIELD}};

    memset(&gust, 0, sizeof(gust));
    gust.t = tasks_open(run, LVT_DELIVERY_NMI);
    gust.t->schedule.slice_ticks = tasks_ticks(TASKS_LONG_US);
    gust.switched = gust.t->schedule.switched;
    gust.t->schedule.switched = watched;
    gust.outer = trap_set(VECTOR_NMI, on_nmi, NULL);
    run_defer(run, end_gust, NULL);
    for (unsigned i = 0; i < 2; i++) {
        struct task *task = tasks_script(gust.t, script, 1);
        struct session_request request = tasks_request(gust.t, task, 512);

        tasks_entry(task, 0)->other = 0; /* the same entry, for ever */
        request.kernel = true;
        request.threshold = 400;
        request.overflow = drop;
        gust.id[i] = sessions_ask(gust.t->sessions, &request);
    }
    schedule_run(&gust.t->schedule, SWITCHES);
    gust.t->schedule.switched = gust.switched;
    EXPECT_EQ(run, gust.wrong, 0, "switches after which DEBUGCTL is not the shadow");
    EXPECT(run, gust.inside > 0, "none of %u NMIs landed in a switch", gust.nmis);
}

/* --- and what is left to say at the end */

CHECK("ds.last.branches", SOFTWARE, "", NEED_BTS | NEED_DS_CPL)
{
    struct sessions *s = sessions_open(run, FIXED);
    struct session_request request = sessions_request(s, 64);
    session_id id = sessions_ask(s, &request);
    struct bts_record newest = {0};

    sessions_branches(run, "bench.call", 4);
    EXPECT(run, last_branches() >= 12, "too few of them");
    EXPECT_EQ(run, sessions_debugctl() & DEBUGCTL_TR, 0, "TR behind the report");
    session_get(id, &s->debugger, 0, &newest);
    EXPECT(run, sessions_inside(run, &newest, 1) <= 1, "reading spoilt the ring");
    session_suspend(id, &s->debugger);
    session_clear(id, &s->debugger);
    EXPECT_EQ(run, last_branches(), 0, "branches of an empty ring");
    session_resume(id, &s->debugger);
    sessions_branches(run, "bench.call", 40);
    EXPECT_EQ(run, last_branches(), LAST_BRANCHES, "branches of a full ring");
    session_release(id, &s->debugger);
    EXPECT_EQ(run, last_branches(), 0, "branches without an area");
}

/* What a processor may store as an address is no mark; with 57 bits neither. */
CHECK("ds.record.collision", SOFTWARE, "", NEED_NOTHING)
{
    static const uint64_t edges[] = {0,
                                     0x7FFFFFFFFFFF,
                                     0xFFFF800000000000,
                                     0x00FFFFFFFFFFFFFF,
                                     0xFF00000000000000,
                                     0xFFFFFFFFFFFFFFF0};
    struct record record = {.detail = UINT32_MAX, .clock = UINT64_MAX};

    for (unsigned i = 0; i < sizeof(edges) / sizeof(edges[0]); i++)
        for (unsigned low = 0; low < 16; low++)
            EXPECT(run, !record_from_mark(&(struct bts_record){edges[i] | low, 1, 0}, &record),
                   "%lx is taken for a mark", edges[i] | low);
    for (unsigned kind = RECORD_ARRIVES; kind < RECORD_KINDS; kind++) {
        struct bts_record mark;

        record = (struct record){.kind = (uint16_t)kind, .detail = 7, .clock = UINT64_MAX};
        mark = record_to_mark(&record);
        EXPECT(run, mark.from >> 56 != 0 && mark.from >> 56 != 0xFF, "kind %u at %lx", kind,
               mark.from);
        EXPECT(run, record_from_mark(&mark, &record) && record.kind == kind, "kind %u", kind);
    }
}

/* Every field through both descriptions, all ones and the sign bit included. */
CHECK("ds.layout.round_trip", SOFTWARE, "", NEED_NOTHING)
{
    static const struct ds_layout *const layouts[] = {&ds_layout_64, &ds_layout_32};
    static const uint64_t values[] = {0, 1, 0x7FFFFFFF, 0x80000000, UINT32_MAX, UINT64_MAX};
    uint8_t area[128];

    for (unsigned l = 0; l < 2; l++)
        for (unsigned v = 0; v < sizeof(values) / sizeof(values[0]); v++)
            for (unsigned f = 0; f < DS_FIELD_COUNT; f++) {
                uint64_t want = l ? (uint32_t)values[v] : values[v];

                memset(area, 0x55, sizeof(area));
                ds_layout_put(layouts[l], area, (enum ds_field)f, values[v]);
                EXPECT_EQ(run, ds_layout_get(layouts[l], area, (enum ds_field)f), want,
                          layouts[l]->name);
                EXPECT(run, area[(f + 1) * layouts[l]->field_bytes] == 0x55,
                       "field %u writes into the next", f);
            }
}
