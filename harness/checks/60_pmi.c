/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threshold and interrupt, in ring 0.
 *
 * Claim: SDM Vol. 3, "Local Vector Table", "Setting Up the BTS Buffer", "Writing the DS
 * Interrupt Service Routine". With BTINT set, an index that reaches the threshold raises the
 * interrupt of the LVT performance entry; the APIC sets the entry's mask bit; the cause is
 * index >= threshold; tracing goes on until software stops it. How: loops of known length cross
 * the threshold a known number of times; a handler counts and writes down what it finds.
 * Nothing polls, so an interrupt that does not come is seen. Wrong if: another source uses the
 * entry: a counter's overflow. All counters are left off.
 */
#define CHECK_GROUP "60 bts.pmi"
#include "ds/broker.h"
#include "harness/fixture/pmi_log.h"
#include "hw/apic.h"
#include "hw/msr.h"
#include "hw/regs.h"

#define RECORD sizeof(struct bts_record)

/* A buffer with its threshold inside and BTINT set, and the log as the handler. */
static void arm(struct run *run, struct pmi_log *log, struct trace *t, size_t records,
                size_t threshold, uint32_t lvt)
{
    trace_open(run, t,
               &(struct trace_setup){
                   .records = records, .threshold_records = threshold, .interrupt = true});
    pmi_log_open(log, t, lvt);
}

CHECK("bts.pmi.lvt_fields", MUST, "INT-01 INT-02", NEED_NOTHING)
{
    static const uint32_t values[] = {
        LVT_MASKED | VECTOR_PMI, LVT_MASKED | LVT_DELIVERY_NMI | VECTOR_PMI,
        LVT_DELIVERY_FIXED | VECTOR_PMI, LVT_DELIVERY_NMI, LVT_MASKED | 0xFE};
    const uint32_t fields = LVT_MASKED | LVT_DELIVERY_MASK | LVT_VECTOR_MASK;
    uint32_t before = apic_lvt_perf_read();

    for (unsigned i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        apic_lvt_perf_write(values[i]);
        EXPECT_EQ(run, apic_lvt_perf_read() & fields, values[i], "LVT performance entry");
    }
    apic_lvt_perf_write(before);
}

/* Emulated APICs are known to store the bit as written; a processor's may not. */
CHECK("bts.pmi.delivery_status", CHARACTERISE, "INT-01", NEED_NOTHING)
{
    uint32_t before = apic_lvt_perf_read(), after;

    apic_lvt_perf_write(LVT_MASKED | LVT_DELIVERY_STATUS | VECTOR_PMI);
    after = apic_lvt_perf_read();
    apic_lvt_perf_write(before & ~LVT_DELIVERY_STATUS);
    run_observe(run, "apic.lvt.delivery_status",
                after & LVT_DELIVERY_STATUS ? "writable" : "read-only");
    EXPECT_EQ(run, after & ~LVT_DELIVERY_STATUS, LVT_MASKED | VECTOR_PMI, "the other fields");
}

/* N thresholds, N interrupts: forgetting the mask bit gives one, and polling would hide it. */
CHECK("bts.pmi.exact_count", MUST, "INT-01 INT-03 BUF-08 CPL-01", NEED_BTS)
{
    struct pmi_log log;
    struct trace t;
    const unsigned crossings = 4, threshold = 256;

    /* The handler's way out is traced too; half a threshold is room for four of them. */
    arm(run, &log, &t, 512, threshold, LVT_DELIVERY_FIXED | VECTOR_PMI);
    log.resets = true;
    pmi_loop(&log, crossings * threshold + threshold / 2);
    EXPECT_EQ(run, log.count, crossings, "interrupts for that many thresholds");
    EXPECT_EQ(run, log.foreign, 0, "interrupts with the index below the threshold");
}

CHECK("bts.pmi.mask_bit", MUST, "INT-03", NEED_BTS)
{
    struct pmi_log log;
    struct trace t;

    arm(run, &log, &t, 512, 32, LVT_DELIVERY_FIXED | VECTOR_PMI);
    log.resets = true;
    log.keeps_mask = true; /* the second crossing must stay silent */
    pmi_loop(&log, 200);
    EXPECT_EQ(run, log.count, 1, "interrupts while the handler leaves the entry masked");
    EXPECT(run, log.lvt & LVT_MASKED, "the mask bit is clear in the handler");
    EXPECT_EQ(run, log.lvt & LVT_VECTOR_MASK, VECTOR_PMI, "vector in the handler");
    EXPECT(run, t.area->bts_index < t.area->bts_maximum, "the index left the buffer");
}

CHECK("bts.pmi.masked_entry", MUST, "INT-01", NEED_BTS)
{
    struct pmi_log log;
    struct trace t;

    arm(run, &log, &t, 512, 32, LVT_MASKED | LVT_DELIVERY_FIXED | VECTOR_PMI);
    pmi_loop(&log, 100);
    EXPECT_EQ(run, log.count, 0, "interrupts through a masked entry");
    EXPECT(run, t.area->bts_index >= t.area->bts_threshold, "the threshold was not reached");
}

CHECK("bts.pmi.threshold_beyond_maximum", MUST, "BUF-09 BUF-08", NEED_BTS)
{
    struct pmi_log log;
    struct trace t;

    for (unsigned btint = 0; btint <= 1; btint++) {
        trace_open(run, &t, &(struct trace_setup){.records = 64, .interrupt = btint});
        pmi_log_open(&log, &t, LVT_DELIVERY_FIXED | VECTOR_PMI);
        pmi_loop(&log, 200);
        EXPECT(run, log.count == 0, "BTINT=%u: %u interrupts", btint, log.count);
        run_deferred_now(run);
    }
}

/* The manual says that clearing BTINT is not enough to prevent the interrupt. */
CHECK("bts.pmi.btint_clear", CHARACTERISE, "BUF-09", NEED_BTS)
{
    struct pmi_log log;
    struct trace t;

    trace_open(
        run, &t,
        &(struct trace_setup){.records = 256, .threshold_records = 32, .break_rules = true});
    pmi_log_open(&log, &t, LVT_DELIVERY_FIXED | VECTOR_PMI);
    log.resets = true;
    pmi_loop(&log, 100);
    run_observe(run, "bts.bts-int-off-threshold", log.count ? "pmi" : "none");
    EXPECT(run, log.foreign == 0, "an interrupt with the index below the threshold");
}

/* One record at a time with IF = 0: at which index is the interrupt requested? */
CHECK("bts.pmi.request_moment", CHARACTERISE, "BUF-08", NEED_BTS)
{
    unsigned first = 0;

    for (unsigned made = 8; made <= 20 && !first; made++) {
        struct trace t;
        struct pmi_log log;

        trace_open(
            run, &t,
            &(struct trace_setup){.records = 64, .threshold_records = 12, .interrupt = true});
        pmi_log_open(&log, &t, LVT_DELIVERY_FIXED | VECTOR_PMI);
        pmi_records(&log, made);
        EXPECT_EQ(run, (t.area->bts_index - t.base) / RECORD, made, "records made");
        if (apic_irr_test(VECTOR_PMI))
            first = made;
        pmi_swallow();
        run_deferred_now(run);
    }
    /*
     * Records written when the request is seen, threshold at 12: index reaches it with the
     * twelfth; the record at the threshold is the thirteenth.
     */
    EXPECT(run, first == 12 || first == 13, "first requested after %u records, threshold 12",
           first);
    run_observe(run, "bts.pmi-when", first == 12 ? "reach" : first == 13 ? "write" : "neither");
}

/* The interrupt is a branch too, and its handler is traced until software clears TR. */
CHECK("bts.pmi.own_record", MUST, "INT-08 GEN-05 GEN-01", NEED_BTS)
{
    struct pmi_log log;
    struct trace t;
    size_t at;

    arm(run, &log, &t, 512, 64, LVT_DELIVERY_FIXED | VECTOR_PMI);
    log.stops = true;
    pmi_loop(&log, 100);
    REQUIRE(run, log.count == 1, "%u interrupts", log.count);
    EXPECT(run, log.debugctl & DEBUGCTL_TR, "TR is clear in the handler");
    trace_collect(&t);
    for (at = 0; at < t.count; at++)
        if (t.records[at].to == trace_vector_entry(VECTOR_PMI))
            break;
    REQUIRE(run, at < t.count, "no record leads to the handler's first instruction");
    EXPECT_EQ(run, t.records[at].from, log.rip, "from of the interrupt's record, saved RIP");
    EXPECT(run, at >= 64, "the record of the interrupt is number %zu, before the threshold",
           at);
}

CHECK("bts.pmi.skid", CHARACTERISE, "INT-09", NEED_BTS)
{
    struct pmi_log log;
    struct trace t, once;
    size_t at;

    arm(run, &log, &once, 1024, 64, LVT_DELIVERY_FIXED | VECTOR_PMI);
    log.stops = true;
    pmi_loop(&log, 1000);
    trace_collect(&once);
    for (at = 0; at < once.count; at++)
        if (once.records[at].to == trace_vector_entry(VECTOR_PMI))
            break;
    EXPECT(run, at == once.count || at >= 64, "the handler ran before the threshold");
    run_observe(run, "bts.skid", "%s", at == 64 ? "none" : at == 65 ? "branch" : "branches");
    run_deferred_now(run);
    arm(run, &log, &t, 1024, 64, LVT_DELIVERY_FIXED | VECTOR_PMI);
    log.resets = true;
    pmi_loop(&log, 1000);
    REQUIRE(run, log.count > 0, "no interrupt came");
    run_observe(run, "bts.skid-least", "%zu", log.skid_least);
    run_observe(run, "bts.skid-most", "%zu", log.skid_most);
    EXPECT(run, log.skid_most < 1024 - 64, "the buffer filled before the handler ran");
}

CHECK("bts.pmi.nmi", MUST, "INT-02 INT-03", NEED_BTS)
{
    const unsigned crossings = 4, threshold = 256;
    struct pmi_log log;
    struct trace t;

    arm(run, &log, &t, 512, threshold, LVT_DELIVERY_NMI);
    log.resets = true;
    pmi_records(&log, crossings * threshold + threshold / 2); /* IF = 0: an NMI does not care */
    EXPECT_EQ(run, log.count, crossings, "NMIs for that many thresholds");
    EXPECT(run, log.lvt & LVT_MASKED, "the mask bit is clear in the NMI handler");
    EXPECT_EQ(run, log.foreign, 0, "NMIs with the index below the threshold");
}

CHECK("bts.pmi.nmi_record", MUST, "GEN-05 INT-08", NEED_BTS)
{
    struct pmi_log log;
    struct trace t;
    bool found = false;

    arm(run, &log, &t, 512, 64, LVT_DELIVERY_NMI);
    log.stops = true;
    pmi_records(&log, 100);
    REQUIRE(run, log.count == 1, "%u NMIs", log.count);
    trace_collect(&t);
    for (size_t i = 0; i < t.count && !found; i++)
        found =
            t.records[i].to == trace_vector_entry(VECTOR_NMI) && t.records[i].from == log.rip;
    EXPECT(run, found, "no record from the interrupted address to the NMI handler's entry");
}

/* The handler unmasks but does not reset: does every further record ask again? */
CHECK("bts.pmi.without_reset", CHARACTERISE, "BUF-11", NEED_BTS)
{
    struct pmi_log log;
    struct trace t;

    arm(run, &log, &t, 2048, 64, LVT_DELIVERY_FIXED | VECTOR_PMI);
    log.limit = 8; /* then the handler leaves the entry masked */
    pmi_loop(&log, 300);
    EXPECT(run, log.count >= 1, "no interrupt came");
    run_observe(run, "bts.repeat-pmi", log.count > 1 ? "yes" : "no");
}

/* IF = 0 while the request waits: is the entry masked already? */
CHECK("bts.pmi.mask_while_pending", CHARACTERISE, "INT-03", NEED_BTS)
{
    struct pmi_log log;
    struct trace t;
    uint32_t lvt;

    arm(run, &log, &t, 256, 32, LVT_DELIVERY_FIXED | VECTOR_PMI);
    pmi_records(&log, 64);
    lvt = apic_lvt_perf_read();
    EXPECT(run, apic_irr_test(VECTOR_PMI), "the request is not in the IRR");
    run_observe(run, "bts.mask-while-pending", lvt & LVT_MASKED ? "set" : "clear");
    pmi_swallow();
    EXPECT_EQ(run, log.count, 1, "interrupts once IF was set");
}

/* Start, cross once, stop, many times over: no interrupt is lost, none comes twice. */
CHECK("bts.pmi.storm", MUST, "INT-03 BUF-08", NEED_BTS)
{
    unsigned rounds = run_count_of(run, 10000, 250);
    struct pmi_log log;
    struct trace t;

    arm(run, &log, &t, 256, 64, LVT_DELIVERY_FIXED | VECTOR_PMI);
    log.resets = true;
    for (unsigned i = 1; i <= rounds; i++) {
        bts_reset(&t.bts);
        pmi_loop(&log, 64 + 8);
        REQUIRE(run, log.count == i, "after round %u: %u interrupts", i, log.count);
    }
    EXPECT_EQ(run, log.foreign, 0, "interrupts with the index below the threshold");
}

/* The interrupt itself may not touch the area either: the threshold serves the next one. */
CHECK("bts.pmi.area_kept", MUST, "LAY-07", NEED_BTS)
{
    struct pmi_log log;
    struct trace t;

    arm(run, &log, &t, 512, 64, LVT_DELIVERY_FIXED | VECTOR_PMI);
    log.stops = true;
    pmi_loop(&log, 100);
    EXPECT_EQ(run, log.count, 1, "interrupts");
    trace_expect_untouched(&t, "after the interrupt");
}

/*
 * Software may set BTINT with an index that has long passed the threshold, or put the index
 * there. The manual calls the cause present then; whether a record asks for the interrupt
 * where none has reached the threshold is left to the processor.
 */
CHECK("bts.pmi.threshold_passed", CHARACTERISE, "BUF-08 BUF-11", NEED_BTS)
{
    struct pmi_log log;
    struct trace t;

    arm(run, &log, &t, 512, 16, LVT_DELIVERY_FIXED | VECTOR_PMI);
    log.stops = true;
    t.area->bts_index = t.base + 32 * RECORD;
    pmi_loop(&log, 64);
    run_observe(run, "bts.threshold-passed", log.count ? "pmi" : "none");
    EXPECT_EQ(run, log.foreign, 0, "interrupts with the index below the threshold");
    EXPECT(run, t.area->bts_index > t.base + 32 * RECORD, "nothing was stored");
}
