/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processors that do not answer, or go.
 *
 * Claim: waiting for a processor that keeps its interrupts off ends, by name, and has changed
 *   nothing; one that is handed back while it is traced stores nothing any more, its records
 *   can be read and its session released by the others, and it can be traced again.
 * How: the other processor spins with interrupts off until it is told to listen; or leaves its
 *   provider and enters it again, as for a reset. Its registers are read there.
 * Wrong if: the bound is so short that a busy machine exceeds it: only a refusal is asked for.
 */
#define CHECK_GROUP "68 smp.processor"
#include "ds/broker.h"
#include "harness/fixture/other_processors.h"
#include "harness/fixture/sessions.h"
#include "hw/apic.h"
#include "hw/cross_call.h"
#include "hw/msr.h"
#include "hw/regs.h"

#define FIXED (LVT_DELIVERY_FIXED | VECTOR_PMI)
#define RING  128

static volatile unsigned step; /* of the two processors' conversation */
static uint64_t patience;

static struct sessions_part prepare(struct run *run, struct sessions *s)
{
    struct sessions_part part = {.request = sessions_request(s, RING)};

    company_count(run);
    part.request.kernel = true;
    step = 0;
    return part;
}

/* Deaf until it is told to listen. */
static uint64_t deaf(void *arg)
{
    uint64_t start = tsc_read();

    sessions_part_ask(arg);
    __atomic_store_n(&step, 1, __ATOMIC_RELEASE);
    while (step < 2 && tsc_read() - start < patience)
        cpu_pause();
    return 0;
}

static void hear_again(void *arg)
{
    (void)arg;
    cross_call_ticks = patience;
    step = 2;
}

CHECK("smp.release.silent", SOFTWARE, "", NEED_BTS | NEED_SMP)
{
    struct sessions *s = sessions_open(run, FIXED);
    struct sessions_part other = prepare(run, s);
    uint64_t start = tsc_read();
    struct session_status status;

    patience = cross_call_ticks;
    run_defer(run, hear_again, NULL);
    company_start(run, 1, deaf, &other);
    while (step < 1 && tsc_read() - start < patience)
        cpu_pause();
    cross_call_ticks = run->platform->tsc_khz * 5;
    sessions_error(run, session_release(other.id, &s->debugger), DS_EBUSY,
                   "release, with nobody who answers");
    EXPECT_EQ(run, session_owner_died(&s->debugger), 1, "sessions that stay");
    EXPECT(run, session_status(other.id, &status) == DS_OK && status.owner == &s->debugger,
           "a release that failed changed the session");
    cross_call_ticks = patience;
    step = 2;
    company_wait(run, 1);
    sessions_error(run, session_release(other.id, &s->debugger), DS_OK, "release");
    company_call(run, 1, sessions_part_registers, &other);
    EXPECT_EQ(run, other.debugctl | other.area, 0, "its registers");
}

/* Handed back while it is traced, and taken over again. */
CHECK("smp.processor.handed_back", SOFTWARE, "", NEED_BTS | NEED_SMP)
{
    struct sessions *s = sessions_open(run, FIXED);
    struct sessions_part other = prepare(run, s), here = other;
    struct session_result result;
    struct session_status status;
    struct bts_record record;
    size_t size = 0;

    other.request.threshold = RING - 8;
    company_call(run, 1, sessions_part_ask, &other);
    sessions_error(run, other.error, DS_OK, "request");
    NEED(run, run->platform->other_renew(1), "the other processor does not come back");
    company_call(run, 1, sessions_part_registers, &other);
    EXPECT_EQ(run, other.debugctl | other.area, 0, "its registers, taken over again");
    /* From here, with nobody to be asked. */
    EXPECT(run, session_status(other.id, &status) == DS_OK && !status.running, "it runs");
    sessions_error(run, session_size(other.id, &s->debugger, &size), DS_OK, "size");
    EXPECT(run, size > 0, "no record is left");
    sessions_error(run, session_get(other.id, &s->debugger, 0, &record), DS_OK, "get");
    sessions_error(run, session_resume(other.id, &s->debugger), DS_ESRCH, "resume");
    sessions_error(run, session_release_here(other.id, &s->debugger), DS_OK, "release");
    company_call(run, 1, sessions_part_ask, &other);
    sessions_error(run, other.error, DS_OK, "a new session of it");
    EXPECT(run, other.debugctl && other.area, "it is not traced");
    sessions_error(run, session_request(&here.request, &result), DS_OK, "one here");
    EXPECT_EQ(run, session_owner_died(&s->debugger), 0, "sessions that stay");
}

/* --- NMIs that come whenever they come */

struct storm {
    struct sessions_part part;
    const struct ds_owner *owner;
    uint32_t apic_id;
    uint64_t lost_after; /* ticks */
    unsigned wanted;
    volatile unsigned sent, taken, inside, wrong;
    volatile bool in_call, over;
};

/* As a watchdog's does that looks at the trace: nobody may notice. */
static bool on_nmi(struct trap_frame *frame, void *arg)
{
    struct storm *storm = arg;

    (void)frame;
    storm->inside += storm->in_call;
    storm->wrong += session_suspend(storm->part.id, storm->owner) != DS_OK;
    storm->wrong += (sessions_debugctl() & DEBUGCTL_TR) != 0;
    storm->wrong += session_resume(storm->part.id, storm->owner) != DS_OK;
    storm->taken++;
    return true;
}

/* The next one when the last was taken, at another distance each time; or when it is lost. */
static uint64_t send_nmis(void *arg)
{
    struct storm *storm = arg;
    uint64_t start = tsc_read(), sent_at = start;
    unsigned before = 0;

    while (storm->taken < storm->wanted && tsc_read() - start < patience) {
        if (storm->sent && storm->taken == before && tsc_read() - sent_at < storm->lost_after) {
            cpu_pause();
            continue;
        }
        for (volatile unsigned spin = storm->sent * 37 % 1000; spin > 0; spin--)
            ;
        before = storm->taken;
        storm->sent++;
        sent_at = tsc_read();
        apic_send_nmi(storm->apic_id);
    }
    storm->over = true;
    return 0;
}

CHECK("smp.broker.nmi", SOFTWARE, "", NEED_BTS | NEED_SMP)
{
    static struct storm storm;
    struct sessions *s = sessions_open(run, FIXED);
    struct trap_slot outer;
    unsigned lost = 0;

    storm = (struct storm){.part = prepare(run, s), .owner = &s->debugger};
    storm.apic_id = apic_id();
    storm.lost_after = run->platform->tsc_khz * 5;
    storm.wanted = run_count_of(run, 2000, 100);
    patience = cross_call_ticks;
    storm.part.id = sessions_ask(s, &storm.part.request);
    outer = trap_set(VECTOR_NMI, on_nmi, &storm);
    company_start(run, 1, send_nmis, &storm);
    for (unsigned i = 0; !storm.over; i++) {
        uint64_t want = i & 1 ? DEBUGCTL_BTF : 0;

        storm.in_call = true;
        broker_set(BROKER_BLOCK_STEP, want);
        storm.in_call = false;
        lost += broker_bits(BROKER_BLOCK_STEP) != want;
        lost += (sessions_debugctl() & (DEBUGCTL_TR | DEBUGCTL_BTS | DEBUGCTL_BTF)) !=
                (DEBUGCTL_TR | DEBUGCTL_BTS | want);
    }
    company_wait(run, 1);
    trap_set(VECTOR_NMI, outer.handler, outer.arg);
    broker_clear(BROKER_BLOCK_STEP);
    EXPECT_EQ(run, lost, 0, "rounds after which a client's bits were not what it set");
    EXPECT_EQ(run, storm.wrong, 0, "calls that went wrong in an NMI");
    run_detail(run, "%u NMIs sent, %u taken, %u inside a call", storm.sent, storm.taken,
               storm.inside);
    /* How many come in time is the machine's affair. */
    NEED(run, storm.taken > 0, "none of %u NMIs came", storm.sent);
}
