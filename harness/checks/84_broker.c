/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The broker and the pool on a processor that interrupts them.
 *
 * Claim: clients share DEBUGCTL bit by bit; an NMI in the middle of a read-modify-write loses
 *   nobody's bits; pages are refunded to whoever paid, and what was refused is not charged.
 * How: a client toggles BTF while its own branches fill a buffer, so that the buffer's NMI
 *   lands after each of them in turn; the handler stops, drains and restarts the trace. After
 *   each round both clients read back what they last set.
 * Wrong if: the NMI comes so late that it never lands inside: the check counts where it did.
 */
#define CHECK_GROUP "84 ds.broker"
#include "ds/broker.h"
#include "harness/fixture/sessions.h"
#include "hw/apic.h"
#include "hw/msr.h"

#define TRACE_BITS (DEBUGCTL_TR | DEBUGCTL_BTS)

struct storm {
    struct sessions *s;
    session_id id;
    struct trap_slot outer;
    unsigned nmis, inside;
    volatile bool in_call;
};

/* Stops, drains and restarts, as any; then stays off until the main line asks again. */
static bool on_nmi(struct trap_frame *frame, void *arg)
{
    struct storm *storm = arg;

    (void)frame;
    storm->nmis++;
    storm->inside += storm->in_call;
    if (!session_pmi())
        apic_lvt_perf_write(LVT_DELIVERY_NMI);
    session_suspend(storm->id, &storm->s->debugger);
    return true;
}

static void drop(void *context, session_id id, const struct bts_record *got, size_t count)
{
    (void)id;
    (void)got;
    *(size_t *)context += count;
}

static void end_storm(void *arg)
{
    struct storm *storm = arg;

    broker_clear(BROKER_BLOCK_STEP);
    trap_set(VECTOR_NMI, storm->outer.handler, storm->outer.arg);
}

/* An NMI between the two reads makes them differ once; it leaves the trace off. */
static bool agree(void)
{
    for (unsigned i = 0; i < 2; i++)
        if (!((sessions_debugctl() ^ broker_shadow()) & (TRACE_BITS | DEBUGCTL_BTF)))
            return true;
    return false;
}

CHECK("ds.broker.storm", SOFTWARE, "", NEED_BTS)
{
    struct sessions *s = sessions_open(run, LVT_DELIVERY_NMI);
    struct storm storm = {.s = s};
    struct session_request request = sessions_request(s, 128);
    /* The interrupts are what is wanted, and a round without one proves nothing more. */
    unsigned rounds = run_count_of(run, 50000, 500), lost = 0, stuck = 0;
    const unsigned period = 16;
    size_t taken = 0;

    request.kernel = request.suspended = true;
    request.threshold = 40; /* past the way out of the resume */
    request.overflow = drop;
    request.context = &taken;
    storm.id = sessions_ask(s, &request);
    storm.outer = trap_set(VECTOR_NMI, on_nmi, &storm);
    run_defer(run, end_storm, &storm);
    for (unsigned i = 0; i < rounds; i++) {
        uint64_t want = i & 1 ? DEBUGCTL_BTF : 0;
        struct session_status status;

        if (i % period == 0 && session_status(storm.id, &status) == DS_OK && !status.running) {
            while (status.suspended-- > 0)
                stuck += session_resume(storm.id, &s->debugger) != DS_OK;
            /* Another distance to the interrupt each time. */
            for (volatile unsigned spin = i / period % 41; spin > 0; spin--)
                ;
        }
        storm.in_call = true;
        broker_set(BROKER_BLOCK_STEP, want);
        storm.in_call = false;
        lost += broker_bits(BROKER_BLOCK_STEP) != want || !agree();
        if (i % 10000 == 9999)
            run_progress(run, "%u rounds, %u interrupts", i + 1, storm.nmis);
    }
    EXPECT_EQ(run, lost, 0, "rounds after which a client's bits were not what it set");
    EXPECT_EQ(run, stuck, 0, "resumes refused");
    EXPECT(run, storm.nmis >= rounds / (2 * period), "%u interrupts in %u rounds", storm.nmis,
           rounds);
    EXPECT(run, storm.inside > rounds / (32 * period),
           "%u of %u interrupts landed inside a call", storm.inside, storm.nmis);
}

/* A client cannot replace what others wish. */
CHECK("ds.broker.clients", SOFTWARE, "", NEED_BTS)
{
    struct sessions *s = sessions_open(run, LVT_DELIVERY_NMI);
    struct session_request request = sessions_request(s, 32);
    session_id id;

    request.kernel = true;
    id = sessions_ask(s, &request);
    NEED(run, broker_set(BROKER_BLOCK_STEP, DEBUGCTL_BTF) == DS_OK, "BTF cannot be set");
    EXPECT_EQ(run, sessions_debugctl() & (TRACE_BITS | DEBUGCTL_BTF), TRACE_BITS | DEBUGCTL_BTF,
              "both clients' bits");
    sessions_error(run, broker_set(BROKER_BLOCK_STEP, DEBUGCTL_TR), DS_EINVAL, "another's bit");
    sessions_error(run, broker_set(BROKER_BTS, DEBUGCTL_BTF), DS_EINVAL, "another's bit");
    sessions_error(run, broker_set_ds_area(NULL), DS_EBUSY, "DS_AREA under a trace");
    session_release(id, &s->debugger);
    EXPECT_EQ(run, sessions_debugctl(), DEBUGCTL_BTF, "DEBUGCTL when one has left");
    broker_clear(BROKER_BLOCK_STEP);
    EXPECT_EQ(run, sessions_debugctl(), 0, "DEBUGCTL when both have left");
    EXPECT_EQ(run, sessions_ds_area(), 0, "DS_AREA when nobody traces");
}

/* Seen in old code: the refund went to whoever happened to run. */
CHECK("ds.pool.payer", SOFTWARE, "", NEED_NOTHING)
{
    struct sessions *s = sessions_open(run, LVT_DELIVERY_NMI);
    void *a = NULL, *b = NULL;

    EXPECT(run,
           pool_take(&s->pool, &s->purse, 1, &a) == DS_OK &&
               pool_take(&s->pool, &s->other_purse, 2 * POOL_PAGE_BYTES + 1, &b) == DS_OK,
           "the pool refuses");
    EXPECT(run, s->purse.charged_pages == 1 && s->other_purse.charged_pages == 3,
           "%zu and %zu pages charged", s->purse.charged_pages, s->other_purse.charged_pages);
    sessions_error(run, pool_give_back(&s->pool, (uint8_t *)b + POOL_PAGE_BYTES), DS_EINVAL,
                   "the middle of a run");
    sessions_error(run, pool_give_back(&s->pool, b), DS_OK, "give back");
    EXPECT(run, s->purse.charged_pages == 1 && s->other_purse.charged_pages == 0,
           "the wrong payer is refunded");
    sessions_error(run, pool_give_back(&s->pool, b), DS_EINVAL, "twice");
    sessions_error(run, pool_give_back(&s->pool, a), DS_OK, "give back");
}

/* A refused wish for more keeps what one has. */
CHECK("ds.pool.limits", SOFTWARE, "", NEED_NOTHING)
{
    struct sessions *s = sessions_open(run, LVT_DELIVERY_NMI);
    void *page = NULL, *more = NULL;

    s->purse.limit_pages = 2;
    NEED(run, pool_take(&s->pool, &s->purse, 1, &page) == DS_OK, "the pool refuses");
    *(uint64_t *)page = 77;
    sessions_error(run, pool_take(&s->pool, &s->purse, 2 * POOL_PAGE_BYTES, &more), DS_ENOMEM,
                   "over the limit");
    sessions_error(run, pool_take(&s->pool, &s->other_purse, sizeof(s->pool) * 4096, &more),
                   DS_ENOMEM, "more than the pool");
    sessions_error(run, pool_take(&s->pool, &s->purse, 0, &more), DS_EINVAL, "nothing");
    EXPECT(run, !more && *(uint64_t *)page == 77 && s->purse.charged_pages == 1,
           "a refusal changed something");
    pool_give_back(&s->pool, page);
    NEED(run, pool_take(&s->pool, &s->purse, 1, &page) == DS_OK, "the pool refuses");
    EXPECT_EQ(run, *(uint64_t *)page, 0, "a page that comes back");
    pool_give_back(&s->pool, page);
}
