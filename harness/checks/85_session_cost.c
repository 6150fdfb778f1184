/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What sessions cost, and what they leave alone.
 *
 * Claim: no cycle of calls costs a page; each start stores exactly what ran; the traced code
 *   computes what it computes untraced, and nothing is stored before a reader could read it.
 * How: long counts of requests, good and bad, and of starts around a loop of known length;
 *   each workload once without and once with a trace, compared in registers, flags and memory.
 * Wrong if: a workload reads the time or is interrupted; those are left out.
 */
#define CHECK_GROUP "85 ds.session.cost"
#include "guest/region.h"
#include "harness/fixture/sessions.h"
#include "harness/fixture/witness.h"
#include "hw/apic.h"
#include "hw/string.h"

#define FIXED   (LVT_DELIVERY_FIXED | VECTOR_PMI)
#define RING    32
#define RECORDS 256

static struct bts_record records[RECORDS];

static size_t drain(struct sessions *s, session_id id)
{
    size_t count = 0;
    enum ds_error error = session_drain(id, &s->debugger, records, RECORDS, RECORDS, &count);

    sessions_error(s->run, error, DS_OK, "drain");
    return count;
}

/* Nothing may shrink that the next request could have had. */
CHECK("ds.session.cycles", SOFTWARE, "", NEED_BTS | NEED_DS_CPL)
{
    struct sessions *s = sessions_open(run, FIXED);
    const size_t longest = pool_longest_free(&s->pool);
    unsigned rounds = run_count_of(run, 100000, 2000), bad = 0;

    for (unsigned i = 0; i < rounds && bad < 4; i++) {
        struct session_request request = sessions_request(s, 2 + i % 97 * (i % 31));
        struct session_result result;
        enum ds_error want = DS_OK, got;

        request.owner = i & 1 ? &s->debugger : &s->profiler;
        if (i % 5 == 0)
            request.bytes++, want = DS_EINVAL;
        if (i % 7 == 0)
            request.bytes = 65 * POOL_PAGE_BYTES * 24, want = DS_ENOMEM;
        if (i % 10000 == 9999)
            run_progress(run, "%u rounds", i + 1);
        got = session_request(&request, &result);
        if (got == DS_OK)
            got = session_release(result.id, request.owner);
        bad += got != want || pool_used(&s->pool) || pool_longest_free(&s->pool) != longest ||
               s->purse.charged_pages || s->other_purse.charged_pages || sessions_ds_area();
    }
    EXPECT_EQ(run, bad, 0, "rounds with a wrong error, a wrong balance or a dangling DS_AREA");
}

CHECK("ds.session.exact_count", SOFTWARE, "", NEED_BTS | NEED_DS_CPL)
{
    struct sessions *s = sessions_open(run, FIXED);
    struct session_request request = sessions_request(s, 256);
    unsigned rounds = run_count_of(run, 10000, 2500), odd = 0;
    size_t first = 0;
    session_id id;

    request.suspended = true;
    id = sessions_ask(s, &request);
    for (unsigned i = 0; i < rounds; i++) {
        size_t count;

        if (i % 1000 == 999)
            run_detail(run, "%u rounds", i + 1);
        session_resume(id, &s->debugger);
        sessions_branches(run, "bench.loop", 100);
        session_suspend(id, &s->debugger);
        count = drain(s, id);
        if (i == 0)
            first = count;
        /* 100 rounds of the loop, and the workload's RET. */
        if ((count != first || sessions_inside(run, records, count) != 101) && odd++ < 3)
            run_detail(run, "round %u: %zu records, %zu inside", i, count,
                       sessions_inside(run, records, count));
    }
    EXPECT_EQ(run, odd, 0, "rounds with another number of records");
}

struct result_of {
    struct trap_frame frame;
    uint64_t sum;
};

static uint64_t checksum(uint64_t sum, const uint8_t *page)
{
    for (unsigned i = 0; i < PAGE_BYTES / 8; i++)
        sum = (sum ^ ((const uint64_t *)(const void *)page)[i]) * 1099511628211ull;
    return sum;
}

/* Between guest_prepare and guest_finish: clearing the guest's pages is a million branches. */
static struct result_of run_once(struct sessions *s, const struct workload *w, session_id id)
{
    struct guest *g = trace_guest(s->run);
    struct guest_run r = {.workload = w, .ring = 3, .argument = 4};
    struct guest_call call = guest_prepare(g, &r);
    struct result_of out = {.sum = 0};

    if (id)
        session_resume(id, &s->debugger);
    call.fn(call.arg);
    if (id)
        session_suspend(id, &s->debugger);
    guest_finish(g, &r, 0);
    out.frame = r.frame;
    for (unsigned i = 0; i < GUEST_DATA_PAGES; i++)
        out.sum = checksum(out.sum, g->pages[i]);
    for (unsigned i = 0; i < GUEST_STACK_PAGES; i++)
        out.sum = checksum(out.sum, g->stack[i]);
    return out;
}

CHECK("ds.session.transparent", SOFTWARE, "", NEED_BTS)
{
    const uint32_t no = WORKLOAD_INTERRUPTS | WORKLOAD_TRACED | WORKLOAD_COMPAT;
    struct sessions *s = sessions_open(run, FIXED);
    struct session_request request = sessions_request(s, RING);
    unsigned compared = 0, differ = 0;
    session_id id;

    request.kernel = request.suspended = true;
    id = sessions_ask(s, &request);
    for (size_t i = 0; i < workload_count(); i++) {
        const struct workload *w = workload_at(i);
        struct result_of off, on;

        if (!workload_possible(w, 3) || (w->flags & no) || witness_leaves_out(run, w))
            continue;
        off = run_once(s, w, 0);
        on = run_once(s, w, id);
        compared++;
        if (off.sum != on.sum || memcmp(&off.frame, &on.frame, sizeof(off.frame)) != 0)
            if (differ++ < 4)
                run_detail(run, "%s differs under a trace", w->name);
    }
    EXPECT(run, compared > 40, "only %u workloads compared", compared);
    EXPECT_EQ(run, differ, 0, "workloads whose registers, flags or memory differ");
}

/* The reader's pointers stand before the first record can be stored. */
CHECK("ds.session.start_order", SOFTWARE, "", NEED_BTS)
{
    struct sessions *s = sessions_open(run, FIXED);
    struct session_request request = sessions_request(s, 64);
    session_id id;
    size_t count;

    request.kernel = true;
    id = sessions_ask(s, &request);
    session_suspend(id, &s->debugger);
    count = drain(s, id);
    /* The way back out of the request, at least, was traced. */
    EXPECT(run, count >= 1, "%zu records of the request's own return", count);
    for (size_t i = 0; i < count; i++)
        if (!EXPECT(run, records[i].to != 0 && !bts_slot_empty(&records[i]),
                    "record %zu was never stored", i))
            return;
}
