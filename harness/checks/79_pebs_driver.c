/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sampling through ds/: one handler for every cause.
 *
 * Claim: SDM Vol. 3, "Writing the DS Interrupt Service Routine": one vector serves BTS, PEBS
 * and counters; the handler tests all causes, and leaves alone what is not its own. The two
 * halves of an area come and go independently. How: a loop of known length in ring 3 is traced,
 * sampled and counted at once; each of the three must come out as it does alone, whatever
 * interrupts the others raise. Requests and releases of one half are made while the other runs.
 * Wrong if: the handler loses events of its own while counters stand still: they count ring 3,
 *   and the handler is ring 0.
 */
#define CHECK_GROUP "79 pebs.driver"
#include "ds/broker.h"
#include "harness/check/capability.h"
#include "harness/fixture/sampling.h"
#include "harness/fixture/witness.h"
#include "hw/apic.h"
#include "hw/regs.h"
#include "hw/string.h"

#define BIT(counter) (1ull << (counter))
#define SAMPLER      0u /* general counters, by their part */
#define ALARM        1u
#define NOBODYS      2u
#define ROUNDS       100
#define PERIOD       20

/* --- one handler */

struct causes {
    struct run *run;
    struct trace trace;   /* area and BTS buffer */
    struct trace samples; /* whose buffer serves PEBS */
    struct pebs pebs;
    struct pmi pmi;
    struct counting counting;
    uint64_t branches, sampled, alarms; /* handed over */
};

static void take_branches(void *context, const struct bts_record *records, size_t count)
{
    struct causes *c = context;

    (void)records;
    c->branches += count;
}

static void take_sample(void *context, const struct pebs_sample *sample)
{
    struct causes *c = context;

    (void)sample;
    c->sampled++;
}

static void take_alarm(void *context, uint64_t counters)
{
    struct causes *c = context;
    uint64_t value = 0;

    if (!(counters & BIT(ALARM)))
        return;
    c->alarms++;
    pmc_read(ALARM, &value);
    pmc_write(&c->counting.pmc, ALARM, value - 100);
}

static bool on_nmi(struct trap_frame *frame, void *arg)
{
    struct causes *c = arg;

    (void)frame;
    pmi_handle(&c->pmi);
    return true;
}

static void close_causes(void *arg)
{
    struct causes *c = arg;

    broker_count(BROKER_COUNTERS, 0);
    pebs_teardown(&c->pebs);
    pmi_disarm(&c->pmi);
    trap_set(VECTOR_NMI, NULL, NULL);
}

/* Everything set up and armed; nothing runs. A threshold of 0 is beyond the maximum. */
static void open_causes(struct run *run, struct causes *c, size_t branches, size_t samples,
                        bool alarm)
{
    const struct pmc *pmc = &capability()->pmc;
    const struct pebs_counter sampler = {SAMPLER, PMC_INSTRUCTIONS,
                                         pebs_reset_value(pmc, SAMPLER, PERIOD)};
    struct pebs_config config = {.pmc = pmc,
                                 .threshold_records = samples,
                                 .user = true,
                                 .counters = &sampler,
                                 .counter_count = 1};
    const struct pebs_format *format = pebs_format_find(&ds_layout_64, pmc->pebs_format);
    const char *why = "";

    memset(c, 0, sizeof(*c));
    c->run = run;
    if (!format) {
        run_skip(run, "PEBS record format %u is not known", pmc->pebs_format);
        run_stop(run);
    }
    trace_open(run, &c->trace,
               &(struct trace_setup){
                   .records = 1024, .threshold_records = branches, .interrupt = branches});
    trace_open(run, &c->samples, &(struct trace_setup){.records = 1024, .keep = 1});
    counting_open(run, &c->counting);
    run_defer(run, close_causes, c);
    config.base = c->samples.base;
    config.bytes = 100 * pebs_format_bytes(format, 0);
    NEED(run, pebs_setup(&c->pebs, c->trace.area, &config, &why) == DS_OK, "pebs_setup: %s",
         why);
    c->pmi = (struct pmi){.bts = &c->trace.bts,
                          .sink = take_branches,
                          .context = c,
                          .pebs = &c->pebs,
                          .samples = take_sample,
                          .samples_context = c,
                          .counters = alarm ? BIT(ALARM) : 0,
                          .overflow = take_alarm,
                          .overflow_context = c};
    trap_set(VECTOR_NMI, on_nmi, c);
    NEED(run, pmi_arm(&c->pmi, LVT_DELIVERY_NMI) == DS_OK, "the interrupt is not to be had");
    if (!alarm)
        return;
    pmc_write(&c->counting.pmc, ALARM, -100ull);
    pmc_program(ALARM, PMC_INSTRUCTIONS, PMC_USR | PMC_INT);
}

/* The loop in ring 3 with all of it on; what is left in the buffers is taken too. */
static void run_causes(struct causes *c, bool alarm)
{
    struct guest_run r = {
        .workload = trace_find(c->run, "bench.loop"), .ring = 3, .argument = ROUNDS};
    struct guest *g = trace_guest(c->run);
    struct guest_call call = guest_prepare(g, &r);
    enum ds_error error = pebs_start(&c->pebs);
    uint64_t value = 0;

    if (error == DS_OK && alarm)
        error = broker_count(BROKER_COUNTERS, BIT(ALARM));
    if (error == DS_OK)
        error = bts_bracket(&c->trace.bts, call.fn, call.arg, &value);
    guest_finish(g, &r, value);
    broker_count(BROKER_COUNTERS, 0);
    pebs_stop(&c->pebs);
    NEED(c->run, error == DS_OK, "it does not start: %s", ds_strerror(error));
    bts_drain(&c->trace.bts, take_branches, c, NULL);
    pebs_drain(&c->pebs, SIZE_MAX, take_sample, c, NULL);
}

/* Branches and samples of the same run without an interrupt. */
static uint64_t branches_alone(struct run *run, uint64_t *samples)
{
    struct causes c;

    open_causes(run, &c, 0, 0, false);
    run_causes(&c, false);
    EXPECT_EQ(run, c.pmi.claimed + c.pmi.sampled.claimed + c.pmi.foreign, 0, "interrupts");
    run_deferred_now(run);
    *samples = c.sampled;
    return c.branches;
}

/*
 * Branches of ring 3 are the same in number; the handler's own add to the trace. An interrupt
 * adds two events at most, where its delivery and the IRETQ out of it count for ring 3.
 */
CHECK("pebs.driver.three_causes", SOFTWARE, "INT-05 INT-07 PEBS-01 PMC-07",
      NEED_PEBS | NEED_BTS)
{
    uint64_t least, alone = branches_alone(run, &least);
    struct oracle oracle = witness_follow(run, trace_find(run, "bench.loop"), ROUNDS);
    struct causes c;

    /* Where the processor arms late, it need not do so by as many events each time. */
    if (least < oracle.instructions / (PERIOD + 1))
        least -= least / 4;
    EXPECT(run, least > 0, "no samples at all");

    for (unsigned causes = 1; causes < 8; causes++) {
        bool bts = causes & 1, pebs = causes & 2, alarm = causes & 4;
        uint64_t most;

        open_causes(run, &c, bts ? 80 : 0, pebs ? 3 : 0, alarm);
        run_causes(&c, alarm);
        EXPECT(run, c.pmi.foreign == 0 && c.pmi.stray == 0 && c.pmi.stuck == 0,
               "causes %u: %lu interrupts of nobody, %lu stray, %lu stuck", causes,
               c.pmi.foreign, c.pmi.stray, c.pmi.stuck);
        EXPECT(run, (c.pmi.claimed > 0) == bts, "causes %u: %lu interrupts of BTS", causes,
               c.pmi.claimed);
        EXPECT(run, (c.pmi.sampled.claimed > 0) == pebs, "causes %u: %lu interrupts of PEBS",
               causes, c.pmi.sampled.claimed);
        most = oracle.instructions +
               2 * (c.pmi.claimed + c.pmi.sampled.claimed + c.pmi.overflows + 1);
        EXPECT(run,
               alarm ? c.alarms >= oracle.instructions / 100 && c.alarms <= most / 100
                     : c.alarms == 0,
               "causes %u: %lu alarms of %lu instructions", causes, c.alarms,
               oracle.instructions);
        EXPECT(run, c.sampled >= least && c.sampled <= most / (PERIOD + 1),
               "causes %u: %lu samples of %lu instructions", causes, c.sampled,
               oracle.instructions);
        EXPECT(run, c.pmi.lost == 0 && c.pmi.bad == 0 && c.branches >= alone,
               "causes %u: %lu branches, %lu alone", causes, c.branches, alone);
        run_deferred_now(run);
    }
}

/* An NMI from elsewhere, in the middle of it, changes nothing but the count of foreign ones. */
static uint64_t send_nmi_first(void *arg)
{
    (void)arg;
    apic_self_nmi();
    for (unsigned i = 0; i < 100; i++)
        cpu_pause();
    return 0;
}

CHECK("pebs.driver.foreign", SOFTWARE, "INT-05", NEED_PEBS | NEED_BTS)
{
    struct causes c;
    uint64_t value;

    open_causes(run, &c, 100, 3, true);
    NEED(run, pebs_start(&c.pebs) == DS_OK, "sampling does not start");
    bts_bracket(&c.trace.bts, send_nmi_first, NULL, &value);
    EXPECT_EQ(run, c.pmi.foreign, 1, "interrupts of nobody");
    EXPECT_EQ(run, broker_counters(BROKER_PEBS), BIT(SAMPLER), "counters that sample after it");
    pebs_stop(&c.pebs);
    run_causes(&c, true);
    EXPECT_EQ(run, c.pmi.foreign, 1, "interrupts of nobody, after a run of its own");
    EXPECT(run, c.pmi.sampled.claimed > 0 && c.pmi.claimed > 0, "no interrupt of its own came");
}

/*
 * A counter that nobody told the handler of: its status is cleared, or it would stay for ever.
 */
CHECK("pebs.driver.stray", SOFTWARE, "INT-05 PMC-06", NEED_PEBS | NEED_BTS)
{
    struct causes c;

    open_causes(run, &c, 0, 3, false);
    if (!pmc_exists(&c.counting.pmc, NOBODYS)) {
        run_skip(run, "there are two general counters only");
        return;
    }
    pmc_program(NOBODYS, PMC_INSTRUCTIONS, PMC_USR | PMC_INT);
    pmc_write(&c.counting.pmc, NOBODYS, -50ull);
    pmc_global_control_write(BIT(NOBODYS)); /* found set, and left so, by the broker */
    run_causes(&c, false);
    pmc_global_control_write(0);
    EXPECT_EQ(run, c.pmi.stray, 1, "interrupts with a status that nobody owns");
    EXPECT_EQ(run, c.pmi.stray_bits, BIT(NOBODYS), "its bits");
    EXPECT_EQ(run, counting_status(&c.counting), 0, "status at the end");
    EXPECT(run, c.pmi.sampled.claimed > 0, "the sampler's interrupts did not come");
}
