/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sessions on all processors.
 *
 * Claim: each processor has a context, an area and a buffer of its own, and traces of all run
 *   at once; scopes exclude each other on one processor and not on the machine; what is refused
 *   on one changes nothing on another; a session can be released from anywhere, and the wait
 *   for who has it loaded ends.
 * How: each processor runs a loop at an address of its own until all have come to theirs; a
 *   record says by its target whose it is. Registers are read on the processor they belong to.
 * Wrong if: a processor's work is seen by no other because they run by turns: they wait for
 *   each other inside their traces.
 */
#define CHECK_GROUP "67 smp.session"
#include "ds/broker.h"
#include "harness/fixture/other_processors.h"
#include "harness/fixture/sessions.h"
#include "hw/apic.h"
#include "hw/cpu.h"
#include "hw/cross_call.h"
#include "hw/regs.h"

#define FIXED (LVT_DELIVERY_FIXED | VECTOR_PMI)
#define RING  128
#define MOST  4 /* processors that take part; the others look on */

/* Copies of one loop, each of another length so that they stay copies. Returns its target. */
#define LOOP(n)                                                                                \
    static uint64_t loop_##n(uint64_t rounds)                                                  \
    {                                                                                          \
        uint64_t top;                                                                          \
                                                                                               \
        __asm__ volatile(".fill " #n ", 1, 0x90\n\tlea 1f(%%rip), %1\n1:\tdec %0\n\tjnz 1b"    \
                         : "+r"(rounds), "=&r"(top)                                            \
                         :                                                                     \
                         : "cc");                                                              \
        return top;                                                                            \
    }
LOOP(0)
LOOP(1)
LOOP(2)
LOOP(3)
static uint64_t (*const loops[MOST])(uint64_t) = {loop_0, loop_1, loop_2, loop_3};

/* One processor's part of a check. */
struct part {
    struct sessions_part ds; /* first: what runs elsewhere gets either */
    struct sessions *s;
    struct ds_owner *owner;
    uint64_t top;
    unsigned together, bad;
    size_t records;
};
static struct part parts[MOST];
static volatile unsigned inside;

static unsigned everybody(struct run *run, struct sessions *s)
{
    unsigned count = company_count(run) + 1;

    count = count < MOST ? count : MOST;
    inside = 0;
    for (unsigned i = 0; i < count; i++) {
        parts[i] = (struct part){.s = s, .owner = &s->debugger, .together = count};
        parts[i].ds.request = sessions_request(s, RING);
        parts[i].ds.request.kernel = true;
    }
    return count;
}

/* Runs fn on every processor at once, on this one too. */
static void on_all(struct run *run, unsigned count, uint64_t (*fn)(void *))
{
    for (unsigned i = 1; i < count; i++)
        company_start(run, i, fn, &parts[i]);
    fn(&parts[0]);
    for (unsigned i = 1; i < count; i++)
        company_wait(run, i);
}

static void expect_idle(struct run *run, unsigned count)
{
    on_all(run, count, sessions_part_registers);
    for (unsigned i = 0; i < count; i++) {
        EXPECT_EQ(run, parts[i].ds.debugctl, 0, "IA32_DEBUGCTL");
        EXPECT_EQ(run, parts[i].ds.area, 0, "IA32_DS_AREA");
    }
}

/* Traced until all are; the last of the loop's rounds come when nobody waits any more. */
static uint64_t loop_together(void *arg)
{
    struct part *part = arg;
    uint64_t start = tsc_read(), limit = part->s->run->platform->tsc_khz * 15000;

    sessions_part_ask(part);
    __atomic_add_fetch(&inside, 1, __ATOMIC_ACQ_REL);
    while (inside < part->together && tsc_read() - start < limit)
        loops[part - parts](10);
    part->bad = inside < part->together;
    part->top = loops[part - parts](RING);
    part->ds.error =
        part->ds.error ? part->ds.error : session_suspend(part->ds.id, part->owner);
    return 0;
}

/* How many records of the ring are rounds of that loop. */
static unsigned rounds_of(struct part *part, uint64_t top)
{
    struct bts_record record;
    unsigned found = 0;

    for (size_t i = 0; session_get(part->ds.id, part->owner, i, &record) == DS_OK; i++)
        found += record.to == top;
    return found;
}

static uint64_t count_own(void *arg)
{
    struct part *part = arg;

    part->records = rounds_of(part, part->top);
    for (unsigned i = 0; i < part->together; i++)
        if (&parts[i] != part)
            part->bad += rounds_of(part, parts[i].top);
    return 0;
}

CHECK("smp.session.all_at_once", SOFTWARE, "", NEED_BTS | NEED_SMP)
{
    struct sessions *s = sessions_open(run, FIXED);
    unsigned count = everybody(run, s);

    on_all(run, count, loop_together);
    for (unsigned i = 0; i < count; i++) {
        sessions_error(run, parts[i].ds.error, DS_OK, "request or suspend");
        NEED(run, !parts[i].bad, "not all processors came in time");
        for (unsigned k = 0; k < i; k++)
            EXPECT(run, parts[i].ds.area && parts[i].ds.area != parts[k].ds.area,
                   "processors %u and %u have one area", k, i);
    }
    on_all(run, count, count_own);
    for (unsigned i = 0; i < count; i++) {
        EXPECT(run, parts[i].records > RING / 2, "%zu own records", parts[i].records);
        EXPECT_EQ(run, parts[i].bad, 0, "records of another processor");
    }
    EXPECT_EQ(run, session_owner_died(&s->debugger), 0, "sessions that stay");
    expect_idle(run, count);
}

/* A processor's scope keeps tasks off that one alone. */
CHECK("smp.session.scopes", SOFTWARE, "", NEED_BTS | NEED_SMP)
{
    struct sessions *s = sessions_open(run, FIXED);
    struct ds_task here = {.cpu = 0}, there = {.cpu = 1};
    struct session_result result;

    everybody(run, s);
    company_call(run, 1, sessions_part_ask, &parts[1]);
    sessions_error(run, parts[1].ds.error, DS_OK, "a session of the other processor");
    parts[0].ds.request.task = &there;
    result = sessions_expect(s, &parts[0].ds.request, DS_EPERM);
    parts[0].ds.request.task = &here;
    sessions_error(run, session_request(&parts[0].ds.request, &result), DS_OK, "a task here");
    parts[0].ds.request.task = NULL;
    sessions_expect(s, &parts[0].ds.request, DS_EPERM);
    company_call(run, 1, sessions_part_ask, &parts[1]);
    sessions_error(run, parts[1].ds.error, DS_EBUSY, "a second session of the other processor");
    EXPECT_EQ(run, session_owner_died(&s->debugger), 0, "sessions that stay");
    parts[0].ds.request.task = &there;
    sessions_error(run, session_request(&parts[0].ds.request, &result), DS_OK, "a task there");
    company_call(run, 1, sessions_part_ask, &parts[1]);
    sessions_error(run, parts[1].ds.error, DS_EPERM, "the other processor beside it");
    EXPECT_EQ(run, session_owner_died(&s->debugger), 0, "sessions that stay");
}

/* Everything that can be wrong with a request, on a processor that is traced. */
static uint64_t fail_often(void *arg)
{
    static const enum ds_error want[] = {DS_EBUSY, DS_EINVAL, DS_ENOMEM, DS_EINVAL, DS_EPERM};
    struct part *part = arg;
    struct ds_task task = {.cpu = cpu_index()};
    uint64_t debugctl = sessions_debugctl(), area = sessions_ds_area();

    for (unsigned i = 0; i < 50; i++) {
        struct session_request request = part->ds.request;
        struct session_result result;

        if (i % 5 == 1)
            request.threshold = RING;
        if (i % 5 == 2)
            request.bytes = 24u << 20;
        if (i % 5 == 3)
            request.user = request.kernel = false;
        if (i % 5 == 4)
            request.task = &task;
        part->bad += session_request(&request, &result) != want[i % 5];
        part->bad += sessions_debugctl() != debugctl || sessions_ds_area() != area;
    }
    return 0;
}

CHECK("smp.session.refused", SOFTWARE, "", NEED_BTS | NEED_SMP)
{
    struct sessions *s = sessions_open(run, FIXED);
    unsigned count = everybody(run, s);
    struct part before[MOST];

    on_all(run, count, sessions_part_ask);
    for (unsigned i = 0; i < count; i++)
        before[i] = parts[i];
    on_all(run, count, fail_often);
    on_all(run, count, sessions_part_registers);
    for (unsigned i = 0; i < count; i++) {
        struct session_status status;

        sessions_error(run, parts[i].ds.error, DS_OK, "request");
        EXPECT_EQ(run, parts[i].bad, 0, "wrong errors or changed registers");
        EXPECT(run, before[i].ds.debugctl && parts[i].ds.debugctl == before[i].ds.debugctl,
               "IA32_DEBUGCTL %lx, was %lx", parts[i].ds.debugctl, before[i].ds.debugctl);
        EXPECT_EQ(run, parts[i].ds.area, before[i].ds.area, "IA32_DS_AREA");
        EXPECT(run, session_status(parts[i].ds.id, &status) == DS_OK && status.cpu == i,
               "the session of processor %u is gone", i);
    }
    EXPECT_EQ(run, session_owner_died(&s->debugger), 0, "sessions that stay");
    EXPECT_EQ(run, pool_used(&s->pool), 0, "pages out");
    expect_idle(run, count);
}

/* --- released from elsewhere */

/* Each releases its neighbour's, all at the same time. */
static uint64_t release_next(void *arg)
{
    struct part *part = arg;
    struct part *next = &parts[(part - parts + 1) % part->together];

    part->bad += session_release_here(next->ds.id, part->owner) != DS_EPERM;
    __atomic_add_fetch(&inside, 1, __ATOMIC_ACQ_REL);
    for (unsigned i = 0; i < 1000000 && inside < part->together; i++) {
        cross_call_serve();
        cpu_pause();
    }
    part->ds.error = session_release(next->ds.id, part->owner);
    return 0;
}

CHECK("smp.release.elsewhere", SOFTWARE, "", NEED_BTS | NEED_SMP)
{
    struct sessions *s = sessions_open(run, FIXED);
    unsigned count = everybody(run, s);

    /* One that sleeps, by this one. */
    company_call(run, 1, sessions_part_ask, &parts[1]);
    sessions_error(run, parts[1].ds.error, DS_OK, "request");
    EXPECT(run, parts[1].ds.debugctl && parts[1].ds.area, "it is not traced");
    sessions_error(run, session_release_here(parts[1].ds.id, &s->debugger), DS_EPERM,
                   "release by the wrong processor");
    sessions_error(run, session_release(parts[1].ds.id, &s->profiler), DS_EPERM,
                   "not its owner");
    sessions_error(run, session_release(parts[1].ds.id, &s->debugger), DS_OK, "release");
    sessions_error(run, session_release(parts[1].ds.id, &s->debugger), DS_ESRCH,
                   "a second one");
    expect_idle(run, count);
    on_all(run, count, sessions_part_ask);
    on_all(run, count, release_next);
    for (unsigned i = 0; i < count; i++) {
        sessions_error(run, parts[i].ds.error, DS_OK, "release in a ring");
        EXPECT_EQ(run, parts[i].bad, 0, "released by the wrong processor");
    }
    EXPECT_EQ(run, pool_used(&s->pool), 0, "pages out");
    expect_idle(run, count);
}

CHECK("smp.owner.dies", SOFTWARE, "", NEED_BTS | NEED_SMP)
{
    struct sessions *s = sessions_open(run, FIXED);
    unsigned count = everybody(run, s);
    struct session_status status;

    parts[0].owner = &s->profiler;
    parts[0].ds.request.owner = &s->profiler;
    on_all(run, count, sessions_part_ask);
    EXPECT_EQ(run, session_owner_died(&s->debugger), 0, "sessions that stay");
    EXPECT(run, session_status(parts[0].ds.id, &status) == DS_OK,
           "another's session went, too");
    EXPECT_EQ(run, s->purse.charged_pages, 0, "pages that the dead one pays for");
    EXPECT_EQ(run, session_owner_died(&s->profiler), 0, "sessions that stay");
    EXPECT_EQ(run, pool_used(&s->pool), 0, "pages out");
    expect_idle(run, count);
}

/* Requests, good and bad, and releases on all at once: one table, one pool, two purses. */
static uint64_t cycle(void *arg)
{
    struct part *part = arg;

    for (size_t i = 0; i < part->records; i++) {
        struct session_request request = part->ds.request;
        struct session_result result;
        enum ds_error error;

        request.bytes = (2 + i % 97) * 24;
        request.user = i % 5 != 0;
        request.kernel = false;
        error = session_request(&request, &result);
        part->bad += error != (i % 5 ? DS_OK : DS_EINVAL);
        if (error == DS_OK)
            part->bad += session_release(result.id, part->owner) != DS_OK;
        part->bad += sessions_ds_area() != 0 || sessions_debugctl() != 0;
    }
    return 0;
}

CHECK("smp.session.cycles", SOFTWARE, "", NEED_BTS | NEED_DS_CPL | NEED_SMP)
{
    struct sessions *s = sessions_open(run, FIXED);
    unsigned count = everybody(run, s), rounds = run_count_of(run, 20000, 200);
    size_t longest = pool_longest_free(&s->pool);

    for (unsigned i = 0; i < count; i++) {
        parts[i].records = rounds;
        parts[i].owner = i & 1 ? &s->profiler : &s->debugger;
        parts[i].ds.request.owner = parts[i].owner;
    }
    on_all(run, count, cycle);
    for (unsigned i = 0; i < count; i++)
        EXPECT_EQ(run, parts[i].bad, 0, "wrong errors, or registers that name a trace");
    EXPECT(run, !pool_used(&s->pool) && pool_longest_free(&s->pool) == longest, "%zu pages out",
           pool_used(&s->pool));
    EXPECT_EQ(run, s->purse.charged_pages + s->other_purse.charged_pages, 0, "charged");
}
