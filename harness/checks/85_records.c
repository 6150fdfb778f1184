/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records that are no branches, as real runs leave them.
 *
 * Claim: a ring says what it lacks (LOST, WRAP), in which mode a task goes on (MODE) and that
 *   an exception was taken (EXCEPTION), where that happened; each record carries its size, so
 *   that a reader that knows branches alone finds every one of them.
 * How: a buffer overflows while interrupts are off; tasks run with and without IF, and one of
 *   them returns to an address that is not there; the rings are read as they are.
 * Wrong if: marks by other software lie in the ring: there is none.
 */
#define CHECK_GROUP "85 ds.record"
#include "ds/broker.h"
#include "ds/records.h"
#include "guest/abi.h"
#include "harness/fixture/tasks.h"
#include "hw/apic.h"
#include "hw/irq.h"
#include "hw/regs.h"
#include "hw/string.h"

#define FIXED (LVT_DELIVERY_FIXED | VECTOR_PMI)
#define RING  512

static struct bts_record ring[RING];

static size_t drain(struct sessions *s, session_id id)
{
    size_t count = 0;

    sessions_error(s->run, session_drain(id, &s->debugger, ring, RING, RING, &count), DS_OK,
                   "drain");
    return count;
}

/* The n-th mark of that kind in the ring, from 0 on; false when there are fewer. */
static bool find(size_t count, unsigned kind, unsigned n, struct record *mark, size_t *at)
{
    for (*at = 0; *at < count; ++*at)
        if (record_from_mark(&ring[*at], mark) && mark->kind == kind && !n--)
            return true;
    return false;
}

/* --- what is missing */

struct overflow {
    unsigned times;
    size_t records;
};

/* A mark from in here finds the ring taken: it is counted, and made good with the next one. */
static void on_overflow(void *context, session_id id, const struct bts_record *got,
                        size_t count)
{
    struct overflow *overflow = context;

    (void)id;
    (void)got;
    overflow->times++;
    overflow->records += count;
    session_exception(VECTOR_BP, 0, 0);
}

static void take_branches(unsigned count)
{
    for (volatile unsigned i = 0; i < count; i++)
        ;
}

CHECK("ds.record.lost", SOFTWARE, "", NEED_BTS)
{
    struct sessions *s = sessions_open(run, FIXED);
    struct session_request request = sessions_request(s, RING);
    struct overflow overflow = {0};
    irqflags_t flags = irq_save();
    struct record mark = {0};
    size_t count, at = 0;
    session_id id;

    request.kernel = request.marks = true;
    request.threshold = RING - 112; /* far more than the way out of the handler */
    request.overflow = on_overflow;
    request.context = &overflow;
    id = sessions_ask(s, &request);
    take_branches(2 * RING); /* the interrupt waits, the buffer does not */
    irq_restore(flags | RFLAGS_IF);
    for (unsigned i = 0; i < 100000 && !overflow.times; i++)
        cpu_pause();
    (void)irq_save();
    session_suspend(id, &s->debugger);
    irq_restore(flags);
    count = drain(s, id);
    EXPECT(run, overflow.times >= 1 && overflow.records >= RING - 112, "%u overflows",
           overflow.times);
    /* First the mark that found no room, of a known number; then what the buffer lost. */
    REQUIRE(run, count >= 2 && record_from_mark(&ring[0], &mark), "the ring begins otherwise");
    EXPECT(run, mark.kind == RECORD_LOST && mark.count == 1 && mark.bytes == 16,
           "kind %u, count %lu, %u bytes", mark.kind, mark.count, mark.bytes);
    EXPECT(run, find(count, RECORD_LOST, 1, &mark, &at) && at == 1, "no second one");
    EXPECT(run, mark.count == RECORD_UNKNOWN && mark.bytes == 16, "count %lx, %u bytes",
           mark.count, mark.bytes);
}

/* --- tasks under a trace of the processor */

/* Of ring 3, with marks; any task that runs here is in it. */
static session_id watch_all(struct tasks *t)
{
    struct session_request request = sessions_request(t->sessions, RING);

    request.marks = true;
    t->schedule.slice_ticks = tasks_ticks(TASKS_LONG_US);
    return sessions_ask(t->sessions, &request);
}

CHECK("ds.record.mode", SOFTWARE, "", NEED_BTS | NEED_DS_CPL)
{
    static const struct script script[] = {{.call = SCRIPT_LOOP, .rdi = 2},
                                           {.call = SERVICE_TASK_YIELD},
                                           {.call = SCRIPT_LOOP, .rdi = 2},
                                           {.call = SERVICE_TASK_YIELD},
                                           {.call = SERVICE_TASK_WAIT}};
    struct tasks *t = tasks_open(run, FIXED);
    session_id id = watch_all(t);
    uint32_t mode[2] = {RECORD_MODE_OF(3, true), RECORD_MODE_OF(3, false)};
    unsigned seen = 0;
    struct record mark;
    size_t count;

    tasks_script(t, script, 5);
    tasks_script(t, script, 5)->frame.rflags &= ~RFLAGS_IF;
    schedule_run(&t->schedule, 100);
    session_suspend(id, &t->sessions->debugger);
    count = drain(t->sessions, id);
    for (size_t i = 0; i < count; i++) {
        if (!record_from_mark(&ring[i], &mark) || mark.kind != RECORD_MODE)
            continue;
        EXPECT(run, mark.detail == mode[seen % 2], "mode %u is %x", seen, mark.detail);
        EXPECT_EQ(run, mark.bytes, RECORD_HEADER_BYTES, "the size of MODE");
        EXPECT(run,
               i > 0 && record_from_mark(&ring[i - 1], &mark) && mark.kind == RECORD_ARRIVES &&
                   mark.detail == 1 + seen % 2,
               "it is behind kind %u, task %u", mark.kind, mark.detail);
        seen++;
    }
    /* By turns, as the tasks come. */
    EXPECT(run, seen >= 4, "%u MODE records", seen);
}

CHECK("ds.record.exception", SOFTWARE, "", NEED_BTS | NEED_DS_CPL)
{
    static const struct script script[] = {{.call = SCRIPT_LOOP, .rdi = 2}};
    const uint64_t nowhere = 0xABC000;
    struct tasks *t = tasks_open(run, FIXED);
    session_id id = watch_all(t);
    struct task *task = tasks_script(t, script, 1);
    struct record mark = {0}, next = {0};
    size_t count, at, behind = 0;

    memcpy(task->pages[TASK_PAGES - 1] + PAGE_BYTES - 8, &nowhere, 8); /* where RET goes */
    schedule_run(&t->schedule, 100);
    session_suspend(id, &t->sessions->debugger);
    count = drain(t->sessions, id);
    EXPECT_EQ(run, task->end, TASK_FAULTED, "its end");
    REQUIRE(run, find(count, RECORD_EXCEPTION, 0, &mark, &at), "no EXCEPTION in %zu records",
            count);
    EXPECT(run, mark.detail == VECTOR_PF && mark.bytes == 24, "vector %u, %u bytes",
           mark.detail, mark.bytes);
    EXPECT_EQ(run, mark.exception.address, nowhere, "its address");
    /* A fetch by ring 3; the page is there, for the kernel alone. */
    EXPECT_EQ(run, mark.exception.error & 6, 4, "its error code");
    EXPECT(run, find(count, RECORD_DEPARTS, 0, &next, &behind) && behind > at,
           "it is not before the departure");
    EXPECT(run, at > 0 && ring[at - 1].to == nowhere, "the last branch led to %lx",
           at ? ring[at - 1].to : 0);
}

/* A reader that knows branches alone, and one kind that nobody knows yet. */
CHECK("ds.record.new_kind", SOFTWARE, "", NEED_BTS | NEED_DS_CPL)
{
    static const struct script script[] = {{.call = SCRIPT_LOOP, .rdi = 2},
                                           {.call = SERVICE_TASK_YIELD},
                                           {.call = SCRIPT_LOOP, .rdi = 2}};
    static uint8_t stream[(RING + 1) * sizeof(struct record)];
    struct tasks *t = tasks_open(run, FIXED);
    session_id id = watch_all(t);
    const uint64_t later[3] = {0x1800FF | 0x7ull << 32, 1, 2}; /* kind FFH, 24 bytes */
    size_t count, branches = 0, known = 0, unknown = 0, first, used;
    struct record_count half;
    struct record record;

    tasks_script(t, script, 3);
    schedule_run(&t->schedule, 100);
    session_suspend(id, &t->sessions->debugger);
    count = drain(t->sessions, id);
    for (size_t i = 0; i < count; i++)
        branches += !record_from_mark(&ring[i], &record);
    first = count / 2;
    half = records_translate(ring, first, NULL, stream, sizeof(stream));
    memcpy(stream + half.bytes, later, sizeof(later));
    used = half.bytes + sizeof(later);
    half = records_translate(ring + first, count - first, NULL, stream + used,
                             sizeof(stream) - used);
    used += half.bytes;
    for (size_t at = 0; records_next(stream, used, &at, &record);) {
        known += record.kind == RECORD_BRANCH;
        unknown += record.kind == 0xFF && record.bytes == sizeof(later);
    }
    EXPECT(run, branches >= 4 && count > branches, "%zu branches of %zu records", branches,
           count);
    EXPECT_EQ(run, unknown, 1, "records of the new kind");
    EXPECT_EQ(run, known, branches, "branches that the old reader finds");
}
