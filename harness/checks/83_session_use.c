/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sessions at work on a processor.
 *
 * Claim: suspend and resume nest, with interrupts off, in a fault handler and in an NMI; what
 *   is read after a wrap is the newest ring in order, whole or in parts; an overflow is handed
 *   over or kept, never lost unsaid.
 * How: ring-3 loops of known length between two calls, with only ring 3 stored. bench.call
 *   leaves three records a round, so that a ring of 32 shows it when its halves are exchanged.
 * Wrong if: the records of a crossing into or out of ring 3, which some processors store under
 *   the filter, are counted: only records with both ends in the workload are.
 */
#define CHECK_GROUP "83 ds.session.use"
#include "harness/fixture/sessions.h"
#include "hw/apic.h"
#include "hw/irq.h"
#include "hw/msr.h"
#include "hw/regs.h"
#include "hw/string.h"

#define FIXED   (LVT_DELIVERY_FIXED | VECTOR_PMI)
#define RECORD  sizeof(struct bts_record)
#define RING    32
#define RECORDS 512

static struct bts_record records[RECORDS + 1];

static size_t drain(struct sessions *s, session_id id, size_t most)
{
    size_t count = 0;
    enum ds_error error = session_drain(id, &s->debugger, records, RECORDS, most, &count);

    sessions_error(s->run, error, DS_OK, "drain");
    return count;
}

/* --- nesting */

struct nested {
    struct sessions *s;
    session_id id;
    unsigned ran, wrong;
};

/*
 * Everything that takes no lock, in whatever context this is. DEBUGCTL is as before after it.
 */
static void nest(struct nested *n)
{
    const struct ds_owner *me = &n->s->debugger;
    uint64_t before = sessions_debugctl();
    struct session_status status;
    struct bts_record record;
    size_t size = 0, again = 0;

    n->wrong += session_suspend(n->id, me) != DS_OK;
    n->wrong += (sessions_debugctl() & DEBUGCTL_TR) != 0;
    n->wrong += session_size(n->id, me, &size) != DS_OK || size == 0;
    n->wrong += session_get(n->id, me, 0, &record) != DS_OK;
    n->wrong += session_get(n->id, me, size, &record) != DS_EINVAL;
    n->wrong += session_suspend(n->id, me) != DS_OK;
    n->wrong += session_resume(n->id, me) != DS_OK;
    n->wrong += (sessions_debugctl() & DEBUGCTL_TR) != 0;
    n->wrong += session_size(n->id, me, &again) != DS_OK || size != again;
    n->wrong += session_status(n->id, &status) != DS_OK || status.running;
    n->wrong += session_resume(n->id, me) != DS_OK;
    n->wrong += sessions_debugctl() != before;
    n->ran++;
}

static bool on_trap(struct trap_frame *frame, void *arg)
{
    (void)frame;
    nest(arg);
    return true;
}

CHECK("ds.session.nesting", SOFTWARE, "", NEED_BTS | NEED_DS_CPL)
{
    struct sessions *s = sessions_open(run, FIXED);
    struct session_request request = sessions_request(s, RING);
    struct nested n = {.s = s};
    struct trap_slot outer[3];
    irqflags_t flags;

    request.suspended = true;
    n.id = sessions_ask(s, &request);
    EXPECT_EQ(run, sessions_debugctl() & DEBUGCTL_TR, 0, "TR with one resume owed");
    session_resume(n.id, &s->debugger);
    sessions_branches(run, "bench.call", 20);
    outer[0] = trap_set(VECTOR_BP, on_trap, &n);
    outer[1] = trap_set(VECTOR_NMI, on_trap, &n);
    outer[2] = trap_set(VECTOR_TEST, on_trap, &n);
    flags = irq_save();
    nest(&n);
    __asm__ volatile("int3"); /* a fault handler, with interrupts off */
    apic_self_nmi();
    for (unsigned i = 0; i < 100000 && n.ran < 3; i++)
        cpu_pause();
    irq_restore(flags | RFLAGS_IF);
    nest(&n);
    apic_self_ipi(VECTOR_TEST);
    for (unsigned i = 0; i < 100000 && n.ran < 5; i++)
        cpu_pause();
    irq_restore(flags);
    trap_set(VECTOR_BP, outer[0].handler, outer[0].arg);
    trap_set(VECTOR_NMI, outer[1].handler, outer[1].arg);
    trap_set(VECTOR_TEST, outer[2].handler, outer[2].arg);
    EXPECT_EQ(run, n.ran, 5, "contexts");
    EXPECT_EQ(run, n.wrong, 0, "calls that went wrong in one of them");
    /* The trace goes on as if nothing had been. */
    session_suspend(n.id, &s->debugger);
    EXPECT_EQ(run, drain(s, n.id, RECORDS), RING, "records after all that");
    EXPECT(run, sessions_inside(run, records, RING) >= RING - 4, "others were stored");
}

/* --- reading */

/* Each record follows the one before it in bench.call: the three sources take turns. */
static bool in_turn(const struct bts_record *first, size_t count)
{
    for (size_t i = 3; i < count; i++)
        if (first[i].from != first[i - 3].from || first[i].to != first[i - 3].to)
            return false;
    return count < 3 || (first[0].from != first[1].from && first[1].from != first[2].from);
}

static void expect_same(struct run *run, const struct bts_record *a, const struct bts_record *b,
                        size_t count, const char *what)
{
    EXPECT(run, memcmp(a, b, count * RECORD) == 0, "%s: the records differ", what);
}

/* The last of a workload's records, from a ring that holds them all. */
static size_t reference(struct sessions *s, struct bts_record *to)
{
    struct session_request request = sessions_request(s, 256);
    session_id id = sessions_ask(s, &request);
    size_t count = 0;

    sessions_branches(s->run, "bench.call", 16);
    session_suspend(id, &s->debugger);
    sessions_error(s->run, session_drain(id, &s->debugger, to, 256, 256, &count), DS_OK,
                   "drain");
    EXPECT(s->run, session_release(id, &s->debugger) == DS_OK, "release");
    if (!in_turn(to + 1, 44))
        for (size_t i = 0; i < count; i++)
            run_detail(s->run, "record %zu: %lx to %lx", i, to[i].from, to[i].to);
    REQUIRE(s->run, count > RING + RING / 2 - 2 && in_turn(to + 1, 44), "%zu records", count);
    return count;
}

/* Old readers saw the half between base and index alone, and wiped the other out. */
CHECK("ds.session.wrapped", SOFTWARE, "", NEED_BTS | NEED_DS_CPL)
{
    static struct bts_record whole[256];
    struct sessions *s = sessions_open(run, FIXED);
    struct session_request request = sessions_request(s, RING);
    size_t count = reference(s, whole), size = 0;
    const struct bts_record *newest = whole + count - RING;
    session_id id = sessions_ask(s, &request);
    struct session_status status;

    for (unsigned parts = 0; parts < 2; parts++) {
        sessions_branches(run, "bench.call", 16);
        session_suspend(id, &s->debugger);
        session_status(id, &status);
        session_size(id, &s->debugger, &size);
        EXPECT(run, status.full && status.records == RING && size == RING,
               "status: full=%u, %zu records, size %zu", status.full, status.records, size);
        for (size_t i = 0; i < RING; i++)
            session_get(id, &s->debugger, i, &records[RING - 1 - i]);
        expect_same(run, records, newest, RING, "get, newest first");
        if (parts) {
            EXPECT_EQ(run, drain(s, id, 10), 10, "a partial drain");
            expect_same(run, records, newest, 10, "the oldest ten");
            session_size(id, &s->debugger, &size);
            EXPECT_EQ(run, size, RING - 10, "what a partial drain leaves");
            EXPECT_EQ(run, drain(s, id, RECORDS), RING - 10, "the rest");
            expect_same(run, records, newest + 10, RING - 10, "the rest");
        } else {
            EXPECT_EQ(run, drain(s, id, RECORDS), RING, "a drain");
            expect_same(run, records, newest, RING, "drain, oldest first");
        }
        EXPECT_EQ(run, drain(s, id, RECORDS), 0, "a second drain");
        session_resume(id, &s->debugger);
    }
}

/* A size compared in the wrong unit lets the copy run over. */
CHECK("ds.session.exact_room", SOFTWARE, "", NEED_BTS | NEED_DS_CPL)
{
    struct sessions *s = sessions_open(run, FIXED);
    struct session_request request = sessions_request(s, RING);
    session_id id = sessions_ask(s, &request);
    size_t count = 77;

    sessions_branches(run, "bench.call", 16);
    session_suspend(id, &s->debugger);
    memset(records, CANARY_BYTE, sizeof(records));
    sessions_error(run, session_drain(id, &s->debugger, records, RING - 1, RECORDS, &count),
                   DS_EIO, "room for one too few");
    EXPECT(run, count == 77 && records[0].from == records[RECORDS].from,
           "a refused drain wrote something");
    sessions_error(run, session_drain(id, &s->debugger, records, RING, RECORDS, &count), DS_OK,
                   "exact room");
    EXPECT_EQ(run, count, RING, "records");
    expect_same(run, &records[RING], &records[RECORDS], 1, "behind the room");
}

/* Reset moves the index; clear empties the slots too. Both leave nothing to read. */
CHECK("ds.session.reset_clear", SOFTWARE, "", NEED_BTS | NEED_DS_CPL)
{
    struct sessions *s = sessions_open(run, FIXED);
    struct session_request request = sessions_request(s, RING);
    session_id id;
    size_t size = 0;

    memset(records, 0, sizeof(records));
    request.buffer = records;
    id = sessions_ask(s, &request);
    sessions_branches(run, "bench.call", 16);
    session_suspend(id, &s->debugger);
    EXPECT(run, session_reset(id, &s->debugger) == DS_OK, "reset");
    session_size(id, &s->debugger, &size);
    EXPECT_EQ(run, size, 0, "records after a reset");
    EXPECT(run, !bts_slot_empty(&records[0]), "a reset wiped the slots");
    EXPECT(run, session_clear(id, &s->debugger) == DS_OK, "clear");
    for (unsigned i = 0; i < RING; i++)
        EXPECT(run, bts_slot_empty(&records[i]), "slot %u after a clear", i);
    session_resume(id, &s->debugger);
    sessions_branches(run, "bench.call", 2);
    session_suspend(id, &s->debugger);
    EXPECT(run, session_size(id, &s->debugger, &size) == DS_OK && size >= 6 && size < RING,
           "%zu records of a short run", size);
}

/* --- overflow */

struct taken {
    session_id id;
    size_t count, inside;
    unsigned calls, refused;
    struct sessions *s;
};

static void take(void *context, session_id id, const struct bts_record *got, size_t count)
{
    struct taken *t = context;
    struct session_request request = sessions_request(t->s, 8);
    struct session_result result;

    t->id = id;
    t->calls++;
    t->count += count;
    t->inside += sessions_inside(t->s->run, got, count);
    /* It could free what it is called from. */
    t->refused += session_request(&request, &result) == DS_EBUSY;
    t->refused += session_release(id, &t->s->debugger) == DS_EBUSY;
}

static void overflow(struct run *run, uint32_t lvt, enum session_origin origin)
{
    struct sessions *s = sessions_open(run, lvt);
    struct session_request request = sessions_request(s, 96);
    struct taken t = {.s = s};
    struct session_status status;
    session_id id;
    size_t count;

    request.origin = origin;
    request.threshold = origin == SESSION_FROM_START ? 64 : 32;
    request.overflow = take;
    request.context = &t;
    trace_guest(run);
    id = sessions_ask(s, &request);
    sessions_branches(run, "bench.loop", 640);
    session_suspend(id, &s->debugger);
    session_status(id, &status);
    EXPECT_EQ(run, status.threshold, 64, "the threshold, from the base");
    EXPECT(run, status.overflows == t.calls && t.calls >= 7 && t.calls <= 10 && t.id == id,
           "%u callbacks of %lu overflows", t.calls, status.overflows);
    EXPECT_EQ(run, t.refused, 2 * t.calls, "calls refused inside the callback");
    EXPECT_EQ(run, status.lost, 0, "overflows of a full buffer");
    count = drain(s, id, RECORDS);
    EXPECT_EQ(run, t.inside + sessions_inside(run, records, count), 641, "records, all told");
    run_deferred_now(run);
}

CHECK("ds.session.overflow_callback", SOFTWARE, "", NEED_BTS | NEED_DS_CPL)
{
    overflow(run, FIXED, SESSION_FROM_START);
    overflow(run, LVT_DELIVERY_NMI, SESSION_FROM_END);
}

/* Without a callback: it stops, says so, and waits for a drain. */
CHECK("ds.session.overflow_flag", SOFTWARE, "", NEED_BTS | NEED_DS_CPL)
{
    struct sessions *s = sessions_open(run, LVT_DELIVERY_NMI);
    struct session_request request = sessions_request(s, 96);
    struct session_status status;
    session_id id;

    request.threshold = 64;
    id = sessions_ask(s, &request);
    sessions_branches(run, "bench.loop", 400);
    session_status(id, &status);
    EXPECT(run, status.overflowed && !status.running && status.overflows == 1,
           "overflowed=%u running=%u", status.overflowed, status.running);
    EXPECT(run, status.records >= 64 && status.records < 96, "%zu records", status.records);
    sessions_error(run, session_resume(id, &s->debugger), DS_EBUSY, "resume, not drained");
    EXPECT_EQ(run, drain(s, id, RECORDS), status.records, "records kept");
    sessions_error(run, session_resume(id, &s->debugger), DS_OK, "resume");
    sessions_branches(run, "bench.loop", 20);
    session_status(id, &status);
    EXPECT(run, !status.overflowed && status.running && status.records >= 20,
           "it does not go on");
}
