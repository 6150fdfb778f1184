/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Deaths under a trace, and tables that do not map the buffer.
 *
 * Claim: whoever dies, traced or tracer, and by whichever route, leaves no page charged, no
 *   address in DS_AREA and no bit in DEBUGCTL; a request whose task runs under tables without
 *   the buffer is refused before any register is written.
 * How: by exit, by a fault, by a kill from outside, and with everything else at once; the pool,
 *   both purses and both registers are looked at after each.
 * Wrong if: something else in the check holds a session: there is none.
 */
#define CHECK_GROUP "87 task.death"
#include "harness/fixture/tasks.h"

#include "hw/apic.h"
#include "hw/string.h"

#define FIXED (LVT_DELIVERY_FIXED | VECTOR_PMI)

enum route { BY_EXIT, BY_FAULT, BY_KILL, BY_THE_END, ROUTES };

/* A task that dies this way, with something to do before. */
static struct task *mortal(struct tasks *t, enum route route)
{
    static const struct script script[] = {{.call = SCRIPT_LOOP, .rdi = 50},
                                           {.call = SERVICE_TASK_YIELD}};
    struct task *task = tasks_script(t, script, 2);

    if (route == BY_FAULT)
        memset(task->pages[TASK_PAGES - 1] + PAGE_BYTES - 8, 0, 8); /* RET to address 0 */
    if (route == BY_KILL || route == BY_THE_END)
        tasks_entry(task, 2)->call = SERVICE_TASK_WAIT;
    return task;
}

static void die(struct tasks *t, struct task *task, enum route route)
{
    static const uint8_t ends[ROUTES] = {TASK_EXITED, TASK_FAULTED, TASK_KILLED, TASK_KILLED};

    schedule_run(&t->schedule, 1000);
    if (route == BY_KILL)
        task_end(&t->schedule, task, TASK_KILLED, 0);
    if (route == BY_THE_END)
        for (unsigned i = 0; i < TASKS_MOST; i++)
            task_end(&t->schedule, &t->schedule.tasks[i], TASK_KILLED, 0);
    EXPECT_EQ(t->sessions->run, task->end, ends[route], "how it ended");
}

static void expect_all_free(struct tasks *t, session_id id)
{
    struct sessions *s = t->sessions;
    struct session_status status;

    EXPECT_EQ(s->run, pool_used(&s->pool), 0, "pages out after the death");
    EXPECT_EQ(s->run, s->purse.charged_pages + s->other_purse.charged_pages, 0, "charged");
    EXPECT_EQ(s->run, sessions_ds_area(), 0, "DS_AREA");
    EXPECT_EQ(s->run, sessions_debugctl(), 0, "DEBUGCTL");
    sessions_error(s->run, session_status(id, &status), DS_ESRCH, "the session");
}

/* The traced one dies: its owner finds the session gone, and nothing dangles. */
CHECK("task.death.traced", SOFTWARE, "", NEED_BTS | NEED_DS_CPL)
{
    for (enum route route = 0; route < ROUTES; route++) {
        struct tasks *t = tasks_open(run, FIXED);
        struct task *task = mortal(t, route);
        struct session_request request = tasks_request(t, task, 64);
        session_id id = sessions_ask(t->sessions, &request);

        die(t, task, route);
        expect_all_free(t, id);
        run_deferred_now(run);
    }
}

/* The tracer dies: who was traced runs on, and the next tracer is not told of a dead one. */
CHECK("task.death.owner", SOFTWARE, "", NEED_BTS | NEED_DS_CPL)
{
    for (enum route route = 0; route < ROUTES; route++) {
        struct tasks *t = tasks_open(run, FIXED);
        struct task *tracer = mortal(t, route);
        static const struct script script[] = {{.call = SCRIPT_LOOP, .rdi = 90},
                                               {.call = SERVICE_TASK_YIELD},
                                               {.call = SCRIPT_LOOP, .rdi = 90},
                                               {.call = SERVICE_TASK_WAIT}};
        struct task *traced = tasks_script(t, script, 4);
        struct session_request request = tasks_request(t, traced, 64);
        struct session_result busy;
        session_id id;

        request.owner = &t->owner[tracer->slot];
        id = sessions_ask(t->sessions, &request);
        request.owner = &t->sessions->debugger;
        busy = sessions_expect(t->sessions, &request, DS_EBUSY);
        EXPECT(run, busy.holder == &t->owner[tracer->slot], "EBUSY names somebody else");
        die(t, tracer, route);
        expect_all_free(t, id);
        if (route != BY_THE_END) {
            EXPECT_EQ(run, traced->state, TASK_WAITING, "the traced one");
            id = sessions_ask(t->sessions, &request);
            EXPECT(run, session_release(id, &t->sessions->debugger) == DS_OK, "release");
        }
        run_deferred_now(run);
    }
}

/* Tables that a traced task runs under must map the buffer; asked before any register. */
CHECK("task.request.tables", SOFTWARE, "", NEED_BTS | NEED_DS_CPL)
{
    struct trace pages;
    struct tasks *t;
    struct task *task;
    struct session_request request;
    struct paging_walk walk;

    trace_open(run, &pages, &(struct trace_setup){.records = 64});
    t = tasks_open(run, FIXED);
    task = tasks_add(t, "bench.loop", 20);
    request = tasks_request(t, task, 64);
    request.buffer = (void *)(uintptr_t)pages.base;
    NEED(run,
         paging_split(&task->space, pages.window) &&
             paging_walk(paging_current(), pages.window, &walk),
         "the page pool is empty");
    paging_map(&task->space, pages.window, walk.phys, 0);
    sessions_expect(t->sessions, &request, DS_EFAULT);
    paging_map(&task->space, pages.window, walk.phys,
               PAGE_PRESENT | PAGE_NX | PAGE_ACCESSED | PAGE_DIRTY);
    sessions_expect(t->sessions, &request, DS_EFAULT);
    paging_join(&task->space, pages.window);
    session_owner_died(&t->sessions->debugger);
    sessions_ask(t->sessions, &request);
    schedule_run(&t->schedule, 100);
    EXPECT_EQ(run, task->end, TASK_EXITED, "the traced task");
}

/* What the request found has to hold when the trace goes on: no store can be mended. */
CHECK("ds.session.tables_change", SOFTWARE, "", NEED_BTS | NEED_DS_CPL)
{
    static const unsigned worse[] = {
        PAGE_NX | PAGE_WRITE | PAGE_ACCESSED | PAGE_DIRTY,
        PAGE_PRESENT | PAGE_NX | PAGE_ACCESSED | PAGE_DIRTY,
        PAGE_PRESENT | PAGE_NX | PAGE_WRITE,
    };
    struct address_space *space = paging_kernel_space();
    struct session_request request;
    struct sessions *s;
    struct trace pages;
    size_t size = 0;
    session_id id;

    trace_open(run, &pages, &(struct trace_setup){.records = 64});
    s = sessions_open(run, FIXED);
    request = sessions_request(s, 64);
    request.buffer = (void *)(uintptr_t)pages.base;
    id = sessions_ask(s, &request);
    for (unsigned i = 0; i < sizeof(worse) / sizeof(worse[0]); i++) {
        enum ds_error error;
        uint64_t debugctl;

        session_suspend(id, &s->debugger);
        debugctl = sessions_debugctl();
        paging_protect(space, pages.window, worse[i]);
        error = session_resume(id, &s->debugger);
        EXPECT_EQ(run, sessions_debugctl(), debugctl, "DEBUGCTL after the refusal");
        paging_protect(space, pages.window, worse[1] | PAGE_WRITE);
        sessions_error(run, error, DS_EFAULT, "resume with a page that cannot be stored to");
        sessions_error(run, session_resume(id, &s->debugger), DS_OK, "resume");
    }
    sessions_branches(run, "bench.loop", 20);
    session_suspend(id, &s->debugger);
    session_size(id, &s->debugger, &size);
    EXPECT(run, size >= 20, "%zu records after all that", size);
}
