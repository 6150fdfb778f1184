/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interrupt while ring 3 is traced, and the driver's own handler.
 *
 * Claim: SDM Vol. 3, "Writing the DS Interrupt Service Routine". The interrupt arrives at ring
 * 3 as any other does; a handler that claims by index, stops, drains, resets, unmasks and
 * re-arms, in this order, loses nothing and claims nothing that is not its own.
 * How: a ring-3 loop of known length under ds/'s handler: what all drains delivered together
 * must be the expected trace, record by record.
 * Wrong if: the handler's own branches are taken for the workload's: they lie in ring 0, which
 * the comparison passes over.
 */
#define CHECK_GROUP "62 bts.pmi.ring3"
#include "ds/broker.h"
#include "harness/fixture/pmi_log.h"
#include "hw/apic.h"
#include "hw/msr.h"
#include "hw/string.h"

struct drained {
    struct trace *t;
    struct pmi pmi;
    size_t used;
    bool overflow;
};

static void sink(void *context, const struct bts_record *records, size_t count)
{
    struct drained *d = context;

    for (size_t i = 0; i < count; i++) {
        if (d->used == TRACE_RECORDS_MAX / 2) {
            d->overflow = true;
            return;
        }
        d->t->records[d->used++] =
            (struct trace_record){records[i].from, records[i].to, records[i].flags};
    }
}

static bool on_pmi(struct trap_frame *frame, void *arg)
{
    struct drained *d = arg;

    (void)frame;
    pmi_handle(&d->pmi);
    /* A request for every record would keep us here for ever. */
    if (d->pmi.foreign > 64)
        broker_clear(BROKER_BTS);
    return true;
}

static void close_pmi(void *arg)
{
    struct drained *d = arg;

    pmi_disarm(&d->pmi);
    trap_set(VECTOR_PMI, NULL, NULL);
    trap_set(VECTOR_NMI, NULL, NULL);
}

/* A buffer of 512 in a pool of half of all records: the rest is where drains go. */
static void open_drained(struct run *run, struct drained *d, struct trace *t, uint32_t lvt)
{
    memset(d, 0, sizeof(*d));
    trace_open(run, t,
               &(struct trace_setup){.records = 512,
                                     .threshold_records = 256,
                                     .interrupt = true,
                                     .keep = TRACE_RECORDS_MAX / 2});
    d->t = t;
    d->pmi.bts = &t->bts;
    d->pmi.sink = sink;
    d->pmi.context = d;
    NEED(run, pmi_arm(&d->pmi, lvt) == DS_OK, "the LVT entry is refused");
    run_defer(run, close_pmi, d);
    trap_set(VECTOR_PMI, on_pmi, d);
    trap_set(VECTOR_NMI, on_pmi, d);
}

static void run_drained(struct drained *d, const struct workload *w, uint64_t argument)
{
    struct run *run = d->t->run;
    struct guest_run r = {.workload = w, .ring = 3, .argument = argument, .interrupts = true};
    struct guest_call call = guest_prepare(trace_guest(run), &r);
    uint64_t returned = 0;
    enum ds_error error = bts_bracket(&d->t->bts, call.fn, call.arg, &returned);

    guest_finish(trace_guest(run), &r, returned);
    NEED(run, error == DS_OK, "bts_bracket refused: %s", ds_strerror(error));
    NEED(run, r.end == GUEST_RETURNED, "%s did not return", w->name);
    bts_drain(&d->t->bts, sink, d, NULL);
    d->t->count = d->used;
    d->t->argument = argument;
    NEED(run, !d->overflow, "more records than the pool holds");
}

/* Removes the interrupts themselves: they may land anywhere, the labels cannot know. */
static unsigned take_out_interrupts(struct trace *t, unsigned vector)
{
    const uint64_t entry = trace_vector_entry(vector);
    unsigned taken = 0;
    size_t to = 0;
    bool inside = false;

    for (size_t i = 0; i < t->count; i++) {
        const struct trace_record *rec = &t->records[i];

        if (rec->to == entry) {
            inside = true;
            taken++;
            continue;
        }
        if (inside && rec->from == trap_iretq_address()) {
            inside = false;
            continue;
        }
        /* While inside, only the handler's own branches can appear. */
        if (!inside)
            t->records[to++] = *rec;
    }
    t->count = to;
    return taken;
}

static void lossless(struct run *run, uint32_t lvt, unsigned vector)
{
    const struct workload *w = trace_find(run, "bench.loop");
    const uint64_t argument = 3000;
    struct drained d;
    struct trace t;
    unsigned taken;

    open_drained(run, &d, &t, lvt);
    run_drained(&d, w, argument);
    taken = take_out_interrupts(&t, vector);
    EXPECT(run, d.pmi.claimed >= 10, "%lu interrupts claimed", d.pmi.claimed);
    EXPECT_EQ(run, taken, d.pmi.claimed, "interrupts in the trace, against those claimed");
    EXPECT_EQ(run, d.pmi.lost + d.pmi.bad, 0, "drains that lost records");
    EXPECT_EQ(run, d.pmi.foreign, 0, "interrupts that were nobody's");
    trace_expect_workload(&t, w, 3, NULL);
}

CHECK("bts.pmi.ring3.lossless", SOFTWARE, "INT-05 INT-07 BUF-12", NEED_BTS)
{
    lossless(run, LVT_DELIVERY_FIXED | VECTOR_PMI, VECTOR_PMI);
}

CHECK("bts.pmi.ring3.lossless_nmi", SOFTWARE, "INT-07 INT-02", NEED_BTS)
{
    lossless(run, LVT_DELIVERY_NMI, VECTOR_NMI);
}

/* Arrival at ring 3: the record's from is the saved RIP, an instruction of the loop. */
static void arrival(struct run *run, uint32_t lvt, unsigned vector)
{
    struct guest_run r = {.argument = 300, .interrupts = true};
    struct guest_place place = guest_place(trace_guest(run), 3, 300);
    struct pmi_log log;
    struct trace t;
    bool found = false;

    trace_open(
        run, &t,
        &(struct trace_setup){.records = 1024, .threshold_records = 128, .interrupt = true});
    pmi_log_open(&log, &t, lvt);
    log.stops = true;
    trace_workload(&t, trace_find(run, "bench.loop"), 3, &r);
    REQUIRE(run, log.count == 1, "%u interrupts, want one", log.count);
    EXPECT_EQ(run, log.cs & 3, 3, "CPL that was interrupted");
    EXPECT(run, log.rip >= place.low && log.rip < place.high, "saved RIP %lx", log.rip);
    for (size_t i = 0; i < t.count && !found; i++)
        found = t.records[i].to == trace_vector_entry(vector) && t.records[i].from == log.rip;
    EXPECT(run, found, "no record from the saved RIP to the handler's entry");
    trace_expect_sane(&t);
}

CHECK("bts.pmi.ring3.arrives", MUST, "GEN-05 INT-08", NEED_BTS)
{
    arrival(run, LVT_DELIVERY_FIXED | VECTOR_PMI, VECTOR_PMI);
}

CHECK("bts.pmi.ring3.arrives_nmi", MUST, "GEN-05 INT-02", NEED_BTS)
{
    arrival(run, LVT_DELIVERY_NMI, VECTOR_NMI);
}

/* An interrupt whose cause was removed is nobody's, and must not block the next one. */
CHECK("bts.pmi.ring3.foreign", SOFTWARE, "INT-05", NEED_BTS)
{
    struct drained d;
    struct trace t;

    open_drained(run, &d, &t, LVT_DELIVERY_FIXED | VECTOR_PMI);
    apic_self_ipi(VECTOR_PMI);
    pmi_swallow();
    EXPECT_EQ(run, d.pmi.foreign, 1, "foreign interrupts counted");
    EXPECT_EQ(run, d.pmi.claimed, 0, "interrupts claimed although the index is at the base");
    run_drained(&d, trace_find(run, "bench.loop"), 600);
    EXPECT(run, d.pmi.claimed >= 2, "after a foreign interrupt %lu were claimed",
           d.pmi.claimed);
}
