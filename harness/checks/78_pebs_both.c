/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PEBS and BTS in one area, at once.
 *
 * Claim: SDM Vol. 3, "DS Save Area", "Processor Event Based Sampling (PEBS)", "Writing the DS
 *   Interrupt Service Routine". Neither half touches the fields or the buffer of the other.
 * When one instruction makes a record in each, that of PEBS comes first, and one interrupt
 * follows for both. How: the branches of a loop in ring 3 are traced and sampled together; each
 * half is then held against what it must be without the other. Thresholds are set to the same
 * branch. Wrong if: the halves are aligned by luck: both numbers of records are known from the
 * oracle.
 */
#define CHECK_GROUP "78 pebs.both"
#include "ds/broker.h"
#include "harness/fixture/sampling.h"
#include "harness/fixture/witness.h"
#include "hw/apic.h"
#include "hw/string.h"

#define ROUNDS 20

/* The BTS bracket as what the counters enclose. */
struct traced_call {
    struct bts *bts;
    struct guest_call call;
    enum ds_error error;
};

static uint64_t under_bts(void *arg)
{
    struct traced_call *traced = arg;
    uint64_t value = 0;

    traced->error = bts_bracket(traced->bts, traced->call.fn, traced->call.arg, &value);
    return value;
}

/* The loop in ring 3, traced and sampled. */
static void run_both(struct sampling *s, uint64_t rounds)
{
    struct run *run = s->run;
    struct guest_run r = {
        .workload = trace_find(run, "bench.loop"), .ring = 3, .argument = rounds};
    struct guest *g = trace_guest(run);
    struct traced_call traced = {&s->trace.bts, guest_prepare(g, &r), DS_OK};

    guest_finish(g, &r, sampling_call(s, under_bts, &traced));
    NEED(run, traced.error == DS_OK, "bts_bracket refused: %s", ds_strerror(traced.error));
    s->trace.argument = rounds;
    s->trace.index = s->trace.area->bts_index;
}

/* Both, each as it is alone. */
CHECK("pebs.both.independent", MUST, "PEBS-01 LAY-07", NEED_PEBS | NEED_BTS)
{
    struct sampling s;
    struct ds_area now;
    size_t branches;

    sampling_open(run, &s, &(struct sampling_setup){0});
    sampling_need_exact(&s);
    sampling_add(&s, 0, PMC_BRANCHES, PMC_USR, 3, 3);
    run_both(&s, ROUNDS);
    trace_expected(run, trace_find(run, "bench.loop"), 3, ROUNDS, &branches);
    /* The bracket's two, and what ring 3 takes. */
    EXPECT(run, s.trace.index > s.trace.base, "BTS stored nothing");
    EXPECT_EQ(run, sampling_count(&s), (ROUNDS + 3) / 4, "samples");
    memcpy(&now, s.trace.area, sizeof(now));
    now.pebs_index = s.before.pebs_index;
    now.bts_index = s.before.bts_index;
    EXPECT(run, memcmp(&now, &s.before, sizeof(now)) == 0,
           "a field of the area other than the two indices changed");
    trace_expect_untouched(&s.buffer, "after both halves ran");
    s.trace.before = now;
    s.trace.before.pebs_index = s.index;
    trace_collect(&s.trace);
    (void)branches;
}

/* PEBS alone moves nothing of the BTS half, whose buffer is there. */
CHECK("pebs.both.bts_untouched", MUST, "PEBS-01", NEED_PEBS)
{
    const struct workload *w = trace_find(run, "call.nested");
    struct sampling s;

    sampling_open(run, &s, &(struct sampling_setup){.threshold_records = 2});
    sampling_add(&s, 0, PMC_INSTRUCTIONS, PMC_USR, 1, 1);
    sampling_workload(&s, w, 3, NULL);
    EXPECT(run, sampling_count(&s) > (s.late ? 0 : 3), "%zu samples", sampling_count(&s));
    sampling_expect_untouched(&s, "after PEBS alone");
    for (uint64_t at = s.trace.base; at < s.trace.end; at += sizeof(struct bts_record))
        EXPECT(run, bts_slot_empty((const struct bts_record *)(uintptr_t)at),
               "the slot at %lx of the BTS buffer was written", at);
}

/* BTS alone, with a buffer and counters ready in the other half. */
CHECK("pebs.both.pebs_untouched", MUST, "PEBS-01", NEED_PEBS | NEED_BTS)
{
    struct sampling s;

    sampling_open(run, &s, &(struct sampling_setup){0});
    sampling_add(&s, 0, PMC_BRANCHES, PMC_USR, 1, 1);
    s.enable = 0;
    run_both(&s, ROUNDS);
    EXPECT_EQ(run, s.index, s.base, "PEBS index with PEBS off");
    EXPECT(run, s.trace.index > s.trace.base, "BTS stored nothing");
    trace_expect_untouched(&s.buffer, "after BTS alone");
}

/* --- thresholds on the same branch */

struct both_pmi {
    struct sampling *s;
    unsigned count;
    size_t samples; /* when the handler came */
    uint64_t status;
    bool bts_due, pebs_due;
};

static bool on_pmi(struct trap_frame *frame, void *arg)
{
    struct both_pmi *pmi = arg;
    const volatile struct ds_area *area = pmi->s->trace.area;

    (void)frame;
    broker_set(BROKER_BTS, broker_bits(BROKER_BTS) & ~DEBUGCTL_TR);
    pmc_global_control_write(0);
    if (pmi->count++)
        return true;
    pmc_status_read(&pmi->status);
    pmi->samples = (area->pebs_index - pmi->s->base) / pmi->s->record_bytes;
    pmi->bts_due = area->bts_index >= area->bts_threshold;
    pmi->pebs_due = area->pebs_index >= area->pebs_threshold;
    pmc_status_clear(GLOBAL_STATUS_OVF_BUFFER);
    apic_lvt_perf_write(LVT_DELIVERY_NMI); /* a second one would come now */
    return true;
}

static void close_pmi(void *arg)
{
    apic_lvt_perf_write((uint32_t)(uintptr_t)arg & ~LVT_DELIVERY_STATUS);
    trap_set(VECTOR_NMI, NULL, NULL);
}

static void listen(struct run *run, struct both_pmi *pmi)
{
    run_defer(run, close_pmi, (void *)(uintptr_t)apic_lvt_perf_read());
    trap_set(VECTOR_NMI, on_pmi, pmi);
    apic_lvt_perf_write(LVT_DELIVERY_NMI);
}

/* How many records the way into ring 3 leaves before the loop's first branch. */
static size_t records_before_loop(struct run *run)
{
    const struct expected_edge *edges;
    const struct bts_record *record;
    struct sampling s;
    size_t count, before = 0;

    sampling_open(run, &s, &(struct sampling_setup){0});
    sampling_add(&s, 0, PMC_BRANCHES, PMC_USR, 1000, 1000);
    run_both(&s, 1);
    edges = trace_expected(run, trace_find(run, "bench.loop"), 3, 1, &count);
    for (record = (const struct bts_record *)(uintptr_t)s.trace.base;
         (uintptr_t)record < s.trace.index && record->from != edges[1].from; record++)
        before++;
    NEED(run, (uintptr_t)record < s.trace.index, "the loop's branch is not in the trace");
    run_deferred_now(run);
    return before;
}

/* The sample comes with branch number n when n - 1 of them overflow. */
CHECK("pebs.both.same_branch", MUST, "INT-10 PEBS-05 INT-05", NEED_PEBS | NEED_BTS)
{
    const size_t branch = 12, before = records_before_loop(run);
    uint64_t events = branch - 1; /* one more where the entering IRETQ is one */
    struct both_pmi pmi = {0};
    struct sampling s;
    struct pebs_sample sample;
    struct bts_record record;

    sampling_open(run, &s,
                  &(struct sampling_setup){.threshold_records = 1,
                                           .btint = true,
                                           .threshold_branches = branch + before});
    pmi.s = &s;
    sampling_need_exact(&s);
    if (counting_by_ring_after(&s.counting))
        events++;
    sampling_add(&s, 0, PMC_BRANCHES, PMC_USR, events, 1000);
    listen(run, &pmi);
    run_both(&s, ROUNDS);
    EXPECT_EQ(run, pmi.count, 1, "interrupts of both thresholds");
    EXPECT(run, pmi.bts_due && pmi.pebs_due, "in the handler BTS is %s and PEBS is %s",
           pmi.bts_due ? "due" : "not due", pmi.pebs_due ? "due" : "not due");
    EXPECT(run, pmi.status & GLOBAL_STATUS_OVF_BUFFER, "bit 62 of the status is clear");
    EXPECT_EQ(run, pmi.samples, 1, "samples when the handler came");
    sample = sampling_record(&s, 0);
    record = *((const struct bts_record *)(uintptr_t)s.trace.base + branch + before - 1);
    if (sample.valid & PEBS_EVENTING_IP)
        EXPECT_EQ(run, sample.eventing_ip, record.from, "eventing IP of what both recorded");
    else
        EXPECT_EQ(run, sample.ip, s.counting.pmc.pebs_trap ? record.to : record.from,
                  "IP of what both recorded");
    trace_expect_untouched(&s.buffer, "after both thresholds");
}

/* One threshold at a time: the other half is not due. */
CHECK("pebs.both.one_threshold", MUST, "INT-05 PEBS-05 BUF-08", NEED_PEBS | NEED_BTS)
{
    for (unsigned bts = 0; bts < 2; bts++) {
        struct both_pmi pmi = {0};
        struct sampling s;

        sampling_open(run, &s,
                      &(struct sampling_setup){.threshold_records = bts ? 0 : 2,
                                               .btint = true,
                                               .threshold_branches = bts ? 10 : 0});
        pmi.s = &s;
        sampling_add(&s, 0, PMC_BRANCHES, PMC_USR, 3, 3);
        listen(run, &pmi);
        run_both(&s, ROUNDS);
        EXPECT_EQ(run, pmi.count, 1, bts ? "interrupts of BTS" : "interrupts of PEBS");
        EXPECT_EQ(run, pmi.bts_due, bts, "BTS is due");
        EXPECT_EQ(run, pmi.pebs_due, !bts, "PEBS is due");
        run_deferred_now(run);
    }
}
