/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The control bits in all their combinations.
 *
 * Claim: SDM Vol. 3, "Setting Up the BTS Buffer", "Setting Up CPL-Qualified BTS". TR clear:
 * nothing. TR without BTS: messages on the bus, nothing in memory. TR and BTS: records, except
 * those of CPL 0 with BTS_OFF_OS and those of CPL > 0 with BTS_OFF_USR. BTINT chooses between
 * a circular buffer and an interrupt at the threshold.
 * How: each of the 32 combinations runs the same loop in ring 0 and in ring 3 in a buffer with
 * the threshold inside; records within the loop and requests of the interrupt are counted.
 * Wrong if: a record of a crossing is counted as one of the loop. Only records whose both ends
 * lie inside the workload are.
 */
#define CHECK_GROUP "40 bts.control"
#include "ds/broker.h"
#include "harness/fixture/trace.h"
#include "hw/apic.h"
#include "hw/msr.h"

#define LOOPS     50
#define CAPACITY  512
#define THRESHOLD 20

struct outcome {
    size_t inside;  /* records with both ends in the workload */
    size_t total;   /* records of any kind */
    bool requested; /* the LVT performance entry was used: its mask bit got set */
};

static uint64_t loop_count(struct run *run, const struct workload *w, unsigned ring)
{
    size_t count, inside = 0;
    struct guest_place place = guest_place(trace_guest(run), ring, LOOPS);
    const struct expected_edge *e = trace_expected(run, w, ring, LOOPS, &count);

    for (size_t i = 0; i < count; i++)
        inside += e[i].from >= place.low && e[i].from < place.high && e[i].to >= place.low &&
                  e[i].to < place.high;
    return inside;
}

static bool ignore_pmi(struct trap_frame *frame, void *arg)
{
    (void)frame;
    (void)arg;
    return true;
}

/* One run of the loop under exactly these bits. The vector stays pending: IF is 0 in ring 0. */
static struct outcome try_bits(struct run *run, uint64_t bits, unsigned ring)
{
    struct guest *g = trace_guest(run);
    struct guest_place place = guest_place(g, ring, LOOPS);
    struct guest_run r = {
        .workload = trace_find(run, "bench.loop"), .ring = ring, .argument = LOOPS};
    struct outcome out = {0};
    struct guest_call call;
    struct trace t;
    uint32_t lvt = apic_lvt_perf_read();
    uint64_t returned = 0;
    size_t slots;

    trace_open(run, &t,
               &(struct trace_setup){.records = CAPACITY,
                                     .threshold_records = THRESHOLD,
                                     .interrupt = (bits & DEBUGCTL_BTINT) != 0,
                                     .break_rules = true});
    NEED(run, broker_set_ds_area(t.area) == DS_OK, "the area is refused");
    call = guest_prepare(g, &r);
    apic_lvt_perf_write(LVT_DELIVERY_FIXED | VECTOR_PMI);
    broker_bracket(BROKER_BTS, bits, call.fn, call.arg, &returned);
    out.requested = (apic_lvt_perf_read() & LVT_MASKED) != 0;
    apic_lvt_perf_write(lvt);
    guest_finish(g, &r, returned);
    slots = (t.area->bts_index - t.base) / sizeof(struct bts_record);
    out.total = slots;
    for (size_t i = 0; i < slots && i < CAPACITY; i++) {
        const struct bts_record *rec = (const struct bts_record *)(uintptr_t)t.base + i;

        out.inside += rec->from >= place.low && rec->from < place.high &&
                      rec->to >= place.low && rec->to < place.high;
    }
    trace_expect_untouched(&t, "under these bits");
    run_deferred_now(run); /* t is about to go out of scope */
    return out;
}

/* Lets a vector that stayed pending go by, so that the next run starts without one. */
static void drain_pending(void)
{
    __asm__ volatile("sti\n\tnop\n\tnop\n\tcli" ::: "memory");
}

static void combinations(struct run *run, unsigned ring)
{
    uint64_t all = loop_count(run, trace_find(run, "bench.loop"), ring);
    struct trap_slot before = trap_set(VECTOR_PMI, ignore_pmi, NULL);

    for (unsigned i = 0; i < 32; i++) {
        uint64_t bits = (uint64_t)i << 6; /* TR, BTS, BTINT, BTS_OFF_OS, BTS_OFF_USR */
        bool stores = (bits & DEBUGCTL_TR) && (bits & DEBUGCTL_BTS);
        bool off = bits & (ring == 0 ? DEBUGCTL_BTS_OFF_OS : DEBUGCTL_BTS_OFF_USR);
        bool silent =
            !stores || ((bits & DEBUGCTL_BTS_OFF_OS) && (bits & DEBUGCTL_BTS_OFF_USR));
        struct outcome got = try_bits(run, bits, ring);

        EXPECT(run, got.inside == (stores && !off ? all : 0),
               "bits %lx: %zu records inside, want %lu", bits, got.inside,
               stores && !off ? all : 0);
        if (silent)
            EXPECT(run, got.total == 0, "bits %lx: %zu records, want none", bits, got.total);
        if (!stores || silent)
            EXPECT(run, !got.requested, "bits %lx: an interrupt was requested", bits);
        if (stores && !off && (bits & DEBUGCTL_BTINT))
            EXPECT(run, got.requested, "bits %lx: no interrupt was requested", bits);
        drain_pending();
    }
    trap_set(VECTOR_PMI, before.handler, before.arg);
}

CHECK("bts.control.combinations.ring0", MUST, "CPL-01 CPL-02 GEN-01", NEED_BTS | NEED_DS_CPL)
{
    combinations(run, 0);
}

CHECK("bts.control.combinations.ring3", MUST, "CPL-01 CPL-02 GEN-01", NEED_BTS | NEED_DS_CPL)
{
    combinations(run, 3);
}

/* The loop above is one Jcc: here is every other kind of branch, and faults, filtered out. */
static const char *const kinds[] = {"loop.loop", "call.nested", "call.register", "jmp.memory",
                                    "zero.call", "far.call",    "far.ret",       "far.jmp"};

static void filtered_kind(struct run *run, const struct workload *w, unsigned ring,
                          bool beside_interrupt)
{
    struct trace_setup setup = {.records = CAPACITY,
                                .off_os = ring == 0,
                                .off_usr = ring != 0,
                                .interrupt = beside_interrupt,
                                .break_rules = true};
    struct guest_place place;
    struct trace t;

    trace_open(run, &t, &setup);
    trace_workload(&t, w, ring, NULL);
    place = guest_place(trace_guest(run), ring, t.argument);
    for (size_t i = 0; i < t.count; i++)
        EXPECT(run,
               t.records[i].from < place.low || t.records[i].from >= place.high ||
                   t.records[i].to < place.low || t.records[i].to >= place.high,
               "%s in ring %u: record %zu, from %lx, in spite of the filter", w->name, ring, i,
               t.records[i].from);
    if (ring == 0)
        EXPECT(run, t.count == 0, "%s in ring 0: %zu records in spite of BTS_OFF_OS", w->name,
               t.count);
    run_held(run);
    run_deferred_now(run);
}

CHECK("bts.control.kinds_filtered", MUST, "CPL-02", NEED_BTS | NEED_DS_CPL)
{
    for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        filtered_kind(run, trace_find(run, kinds[i]), 3, i & 1);
        filtered_kind(run, trace_find(run, kinds[i]), 0, i & 1);
    }
}

CHECK("bts.control.messages_only", MUST, "BTM-01 CPL-01", NEED_BTS)
{
    struct outcome got = try_bits(run, DEBUGCTL_TR, 0);

    EXPECT_EQ(run, got.total, 0, "records with TR set and BTS clear");
    EXPECT(run, !got.requested, "TR without BTS requested an interrupt");
}
