/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One task traces another by system calls.
 *
 * Claim: the seven commands do what ds/interface.h says; a failed one changes nothing; sizes
 *   and drains see both halves of a ring that has wrapped; no kernel address is shown.
 * How: tracer and target are tables of calls and loops worked off in ring 3, and pass the
 *   processor to each other by yielding; the results are read out of the tracer's memory.
 * Wrong if: the timer takes the processor away in between; a slice lasts a second here.
 */
#define CHECK_GROUP "88 task.trace"
#include "harness/fixture/tracer.h"
#include "hw/apic.h"
#include "hw/string.h"

#define FIXED  (LVT_DELIVERY_FIXED | VECTOR_PMI)
#define TARGET 1u     /* the first task of a check */
#define CONFIG 0x700u /* in the tracer's data page */
#define MORE   0x710u /* further ones */
#define WINDOW 0x800u /* to its end: room for 64 records */
#define BYTES  (32 * sizeof(struct bts_record))

#define TRACE(command, address, n)                                                             \
    {                                                                                          \
        .call = SERVICE_TRACE, .rdi = command, .rsi = TARGET, .rdx = address, .r10 = n         \
    }
#define YIELD                                                                                  \
    {                                                                                          \
        .call = SERVICE_TASK_YIELD                                                             \
    }
#define ENTRIES(table) (sizeof(table) / sizeof((table)[0]))

struct pair {
    struct tracer *t;
    struct task *target, *tracer;
};

/* The target: a loop of so many branches for each yield of the tracer. */
static struct pair open_pair(struct run *run, uint64_t loops, const struct script *script,
                             size_t entries, const struct interface_config *configs,
                             size_t config_count)
{
    const struct script target[] = {
        YIELD, {.call = SCRIPT_LOOP, .rdi = loops}, YIELD, {.call = SCRIPT_LOOP, .rdi = loops},
        YIELD, {.call = SCRIPT_LOOP, .rdi = loops}, YIELD, {.call = SERVICE_TASK_WAIT}};
    struct pair p = {.t = tracer_open(run, FIXED)};

    p.t->tasks->schedule.slice_ticks = tasks_ticks(TASKS_LONG_US);
    p.target = tasks_script(p.t->tasks, target, ENTRIES(target));
    p.tracer = tasks_script(p.t->tasks, script, entries);
    for (size_t i = 0; i < entries; i++)
        if (script[i].call == SERVICE_TRACE && script[i].rdx && script[i].rdx < PAGE_BYTES)
            tasks_entry(p.tracer, i)->rdx += p.tracer->data;
    tasks_entry(p.tracer, entries)->call = SERVICE_TASK_WAIT;
    memcpy(p.tracer->pages[0] + CONFIG, configs, config_count * sizeof(*configs));
    schedule_run(&p.t->tasks->schedule, 1000);
    return p;
}

static int64_t result(const struct pair *p, size_t entry)
{
    return (int64_t)tasks_entry(p->tracer, entry)->result;
}

static void expect(struct run *run, const struct pair *p, size_t entry, int64_t want)
{
    EXPECT(run, result(p, entry) == want, "call %zu: got %ld, want %ld", entry,
           result(p, entry), want);
}

static const struct record *shown(const struct pair *p, size_t i)
{
    return (const struct record *)(const void *)(p->tracer->pages[0] + WINDOW) + i;
}

#define PLAIN                                                                                  \
    {                                                                                          \
        .bytes = BYTES, .flags = INTERFACE_ALLOC | INTERFACE_TRACE                             \
    }
static const struct interface_config plain = PLAIN;

CHECK("task.trace.commands", SOFTWARE, "", NEED_BTS | NEED_DS_CPL)
{
    static const struct script script[] = {
        TRACE(INTERFACE_CONFIG, CONFIG, 16),
        YIELD,
        TRACE(INTERFACE_SIZE, 0, 0),
        TRACE(INTERFACE_GET, WINDOW, 0),
        TRACE(INTERFACE_STATUS, CONFIG, 16),
        TRACE(INTERFACE_CLEAR, 0, 0),
        TRACE(INTERFACE_SIZE, 0, 0),
        YIELD,
        TRACE(INTERFACE_DRAIN, WINDOW + 32, 2048 - 32),
        TRACE(INTERFACE_SIZE, 0, 0),
        TRACE(INTERFACE_DRAIN, WINDOW + 1024, 1024),
    };
    struct pair p = open_pair(run, 6, script, ENTRIES(script), &plain, 1);
    const struct interface_config *now = (const void *)(p.tracer->pages[0] + CONFIG);
    int64_t size = result(&p, 2);

    expect(run, &p, 0, 16);
    /* The loop, and the table's own branches to and from it. */
    EXPECT(run, size >= 6 && size < 20, "%ld records", size);
    expect(run, &p, 3, sizeof(struct record));
    EXPECT(run, shown(&p, 0)->kind == RECORD_BRANCH && shown(&p, 0)->bytes == 32, "kind %u",
           shown(&p, 0)->kind);
    expect(run, &p, 4, 16);
    EXPECT(run,
           now->bytes == BYTES && now->flags == INTERFACE_TRACE &&
               now->record_bytes == sizeof(struct record),
           "status: %u bytes, flags %x, records of %u", now->bytes, now->flags,
           now->record_bytes);
    expect(run, &p, 5, 0);
    expect(run, &p, 6, 0);
    EXPECT(run, result(&p, 8) >= 6, "%ld records drained", result(&p, 8));
    for (int64_t i = 1; i <= result(&p, 8); i++)
        EXPECT(run,
               shown(&p, (size_t)i)->branch.from - p.target->base <
                   p.target->high - p.target->base,
               "record %ld is not the target's", i);
    expect(run, &p, 9, 0);
    expect(run, &p, 10, 0);
}

CHECK("task.trace.errors", SOFTWARE, "", NEED_BTS | NEED_DS_CPL)
{
    static const struct script script[] = {
        TRACE(INTERFACE_STATUS, CONFIG, 16), /* 0: no tracer yet */
        TRACE(INTERFACE_SIZE, 0, 0),
        TRACE(INTERFACE_DRAIN, WINDOW, 1024),
        TRACE(INTERFACE_CONFIG, CONFIG, 15),
        TRACE(INTERFACE_CONFIG, 0, 16),
        TRACE(INTERFACE_CONFIG, UINT64_MAX - 7, 16), /* 5: wraps */
        TRACE(99, 0, 0),
        TRACE(INTERFACE_CONFIG, CONFIG, 16),
        YIELD,
        TRACE(INTERFACE_GET, WINDOW, 32),
        TRACE(INTERFACE_GET, WINDOW, UINT64_MAX), /* 10 */
        TRACE(INTERFACE_GET, USER_WINDOW, 0),     /* nothing is mapped there */
        TRACE(INTERFACE_DRAIN, WINDOW, 31),
        TRACE(INTERFACE_DRAIN, WINDOW + 2000, 1024), /* runs into a page that is not there */
        TRACE(INTERFACE_STATUS, CONFIG, 8),
        {.call = SERVICE_TRACE, .rdi = INTERFACE_SIZE, .rsi = 2}, /* 15: itself */
        {.call = SERVICE_TRACE, .rdi = INTERFACE_SIZE, .rsi = 77},
        TRACE(INTERFACE_DRAIN, 0x100000, 1024), /* the kernel's */
        TRACE(INTERFACE_SIZE, 0, 0),
    };
    static const int8_t want[] = {-DS_ESRCH,  -DS_ESRCH,  -DS_ESRCH, -DS_EIO,    -DS_EFAULT,
                                  -DS_EFAULT, -DS_EINVAL, 16,        0,          -DS_EINVAL,
                                  -DS_EINVAL, -DS_EFAULT, -DS_EIO,   -DS_EFAULT, -DS_EIO,
                                  -DS_EPERM,  -DS_ESRCH,  -DS_EFAULT};
    struct pair p = open_pair(run, 6, script, ENTRIES(script), &plain, 1);

    for (size_t i = 0; i < ENTRIES(want); i++)
        expect(run, &p, i, want[i]);
    EXPECT(run, result(&p, 18) >= 6, "%ld records after all those", result(&p, 18));
}

/* A refused change keeps the buffer, its records and the trace. */
CHECK("task.trace.failed_config", SOFTWARE, "", NEED_BTS | NEED_DS_CPL)
{
    static const struct interface_config configs[] = {
        PLAIN,
        {.bytes = 64u << 20, .flags = INTERFACE_ALLOC | INTERFACE_TRACE},
        {.bytes = BYTES, .flags = 0x100},
        {.bytes = BYTES, .flags = INTERFACE_ALLOC | INTERFACE_SIGNAL},
        {.bytes = 2 * BYTES, .flags = INTERFACE_TRACE},
        {.bytes = 2 * BYTES, .flags = INTERFACE_ALLOC | INTERFACE_TRACE},
        {.bytes = 0, .flags = INTERFACE_ALLOC}};
    static const struct script script[] = {
        TRACE(INTERFACE_CONFIG, CONFIG, 16),
        YIELD,
        TRACE(INTERFACE_SIZE, 0, 0),
        TRACE(INTERFACE_CONFIG, MORE, 16), /* more than the purse holds */
        TRACE(INTERFACE_CONFIG, MORE + 16, 16),
        TRACE(INTERFACE_CONFIG, MORE + 32, 16), /* 5: no signal's number */
        TRACE(INTERFACE_CONFIG, MORE + 48, 16), /* another size, but no ALLOC */
        TRACE(INTERFACE_SIZE, 0, 0),
        YIELD,
        TRACE(INTERFACE_SIZE, 0, 0),
        TRACE(INTERFACE_CONFIG, MORE + 64, 16), /* 10: a larger one */
        TRACE(INTERFACE_SIZE, 0, 0),
        TRACE(INTERFACE_CONFIG, MORE + 80, 16), /* the end of the trace */
        TRACE(INTERFACE_SIZE, 0, 0),
    };
    struct pair p = open_pair(run, 3, script, ENTRIES(script), configs, ENTRIES(configs));

    EXPECT(run, result(&p, 2) > 0, "nothing was recorded");
    expect(run, &p, 3, -DS_ENOMEM);
    expect(run, &p, 4, -DS_EINVAL);
    expect(run, &p, 5, -DS_EINVAL);
    expect(run, &p, 6, -DS_EINVAL);
    expect(run, &p, 7, result(&p, 2));
    EXPECT(run, result(&p, 9) > result(&p, 7), "the trace stood still");
    expect(run, &p, 10, 16);
    expect(run, &p, 11, 0);
    expect(run, &p, 12, 16);
    expect(run, &p, 13, -DS_ESRCH);
    EXPECT_EQ(run, pool_used(&p.t->tasks->sessions->pool), 0, "pages out");
}

/* Old ones showed the write index for a size, and drained the half before it alone. */
CHECK("task.trace.both_halves", SOFTWARE, "", NEED_BTS | NEED_DS_CPL)
{
    static const struct script script[] = {
        TRACE(INTERFACE_CONFIG, CONFIG, 16), YIELD,
        TRACE(INTERFACE_SIZE, 0, 0),         TRACE(INTERFACE_DRAIN, WINDOW, 10 * 32),
        TRACE(INTERFACE_SIZE, 0, 0),         TRACE(INTERFACE_DRAIN, WINDOW, 2048),
        TRACE(INTERFACE_SIZE, 0, 0)};
    struct pair p = open_pair(run, 48, script, ENTRIES(script), &plain, 1);

    /* The ring may hold a crossing or two, which are not shown; WRAP counts. */
    EXPECT(run, result(&p, 2) >= 29 && result(&p, 2) <= 33, "size %ld", result(&p, 2));
    expect(run, &p, 3, 10);
    expect(run, &p, 4, result(&p, 2) - 10);
    expect(run, &p, 5, result(&p, 4));
    expect(run, &p, 6, 0);
}

CHECK("task.trace.marks", SOFTWARE, "", NEED_BTS | NEED_DS_CPL)
{
    static const struct interface_config config = {
        .bytes = BYTES, .flags = INTERFACE_ALLOC | INTERFACE_TRACE | INTERFACE_SCHED};
    static const struct script script[] = {TRACE(INTERFACE_CONFIG, CONFIG, 16), YIELD,
                                           TRACE(INTERFACE_DRAIN, WINDOW, 2048)};
    struct pair p = open_pair(run, 4, script, ENTRIES(script), &config, 1);
    int64_t count = result(&p, 2);

    REQUIRE(run, count >= 6 && count <= 32, "%ld records", count);
    EXPECT(run, shown(&p, 0)->kind == RECORD_ARRIVES && shown(&p, 0)->detail == TARGET,
           "the first is of kind %u", shown(&p, 0)->kind);
    EXPECT(run, shown(&p, (size_t)count - 1)->kind == RECORD_DEPARTS, "the last is of kind %u",
           shown(&p, (size_t)count - 1)->kind);
}

/* At three quarters the target goes on unrecorded, and the tracer is woken to drain. */
CHECK("task.trace.signal", SOFTWARE, "", NEED_BTS | NEED_DS_CPL)
{
    static const struct interface_config config = {.bytes = BYTES,
                                                   .flags = INTERFACE_ALLOC | INTERFACE_TRACE |
                                                            INTERFACE_SIGNAL,
                                                   .signal = 12};
    static const struct script script[] = {
        TRACE(INTERFACE_CONFIG, CONFIG, 16), {.call = SERVICE_TASK_WAIT},
        TRACE(INTERFACE_SIZE, 0, 0),         TRACE(INTERFACE_DRAIN, WINDOW, 2048),
        {.call = SERVICE_TASK_WAIT},         TRACE(INTERFACE_SIZE, 0, 0)};
    struct pair p = open_pair(run, 500, script, ENTRIES(script), &config, 1);

    expect(run, &p, 0, 16);
    expect(run, &p, 1, 1ll << 12);
    EXPECT(run, result(&p, 2) >= 20 && result(&p, 2) <= 32, "%ld records", result(&p, 2));
    expect(run, &p, 3, result(&p, 2));
    expect(run, &p, 4, 1ll << 12); /* the drain started it again */
    EXPECT(run, result(&p, 5) >= 20, "%ld records", result(&p, 5));
}

/* Each step ends behind the next branch taken, and traces it. */
CHECK("task.trace.single_block", SOFTWARE, "", NEED_BTS | NEED_DS_CPL)
{
    static const struct script script[] = {TRACE(INTERFACE_CONFIG, CONFIG, 16),
                                           TRACE(INTERFACE_SINGLEBLOCK, 0, 0),
                                           TRACE(INTERFACE_GET, WINDOW, 0),
                                           TRACE(INTERFACE_SINGLEBLOCK, 0, 0),
                                           TRACE(INTERFACE_GET, WINDOW + 32, 0),
                                           TRACE(INTERFACE_SINGLEBLOCK, 0, 0),
                                           TRACE(INTERFACE_GET, WINDOW + 64, 0),
                                           TRACE(TRACER_CONTINUE, 0, 0),
                                           YIELD,
                                           {.call = SERVICE_TASK_KILL, .rdi = TARGET},
                                           TRACE(INTERFACE_SINGLEBLOCK, 0, 0)};
    struct pair p = open_pair(run, 40, script, ENTRIES(script), &plain, 1);

    for (unsigned i = 0; i < 3; i++) {
        expect(run, &p, 2 + 2 * i, sizeof(struct record));
        EXPECT(run, (uint64_t)result(&p, 1 + 2 * i) == shown(&p, i)->branch.to,
               "step %u ends at %lx, the newest record at %lx", i, result(&p, 1 + 2 * i),
               shown(&p, i)->branch.to);
    }
    expect(run, &p, 7, 0);
    expect(run, &p, 10, -DS_ESRCH);
    EXPECT(run, p.target->end == TASK_KILLED && p.tracer->state == TASK_WAITING,
           "end %u, state %u", p.target->end, p.tracer->state);
}

/* A tracer that goes away leaves nothing; nor does one that is killed while it waits. */
CHECK("task.trace.deaths", SOFTWARE, "", NEED_BTS | NEED_DS_CPL)
{
    static const struct script script[] = {TRACE(INTERFACE_CONFIG, CONFIG, 16), YIELD};

    for (unsigned route = 0; route < 2; route++) {
        struct pair p = open_pair(run, 10, script, ENTRIES(script), &plain, 1);
        struct schedule *s = &p.t->tasks->schedule;

        expect(run, &p, 0, 16);
        EXPECT(run, pool_used(&p.t->tasks->sessions->pool) == 2, "%zu pages out",
               pool_used(&p.t->tasks->sessions->pool));
        task_end(s, route ? p.target : p.tracer, TASK_KILLED, 0);
        EXPECT_EQ(run, pool_used(&p.t->tasks->sessions->pool), 0, "pages out");
        EXPECT_EQ(run, p.t->tasks->sessions->other_purse.charged_pages, 0, "charged");
        EXPECT(run, !p.t->tasks->ds[p.target->slot].context, "a context dangles");
        run_deferred_now(run);
    }
}
