/* SPDX-License-Identifier: BSD-2-Clause */
/* A PMI handler for checks. */
#include "harness/pmi_log.h"

#include "ds/broker.h"
#include "hw/apic.h"
#include "hw/irq.h"
#include "hw/msr.h"
#include "hw/regs.h"
#include "hw/string.h"

#define FOREIGN_MAX 64

static void note(struct pmi_log *log, const struct trap_frame *frame)
{
    const volatile struct ds_area *area = log->trace->area;
    uint64_t index = area->bts_index, threshold = area->bts_threshold;
    size_t skid = index >= threshold ? (index - threshold) / sizeof(struct bts_record) : 0;

    if (log->count++ == 0) {
        log->rip = frame->rip;
        log->cs = frame->cs;
        log->skid_least = skid;
    }
    log->foreign += index < threshold;
    log->skid_least = skid < log->skid_least ? skid : log->skid_least;
    log->skid_most = skid > log->skid_most ? skid : log->skid_most;
    log->lvt = apic_lvt_perf_read();
}

static bool handle(struct trap_frame *frame, void *arg)
{
    struct pmi_log *log = arg;
    uint64_t bits = broker_bits(BROKER_BTS);

    broker_raw_read_debugctl(&log->debugctl);
    broker_set(BROKER_BTS, bits & ~DEBUGCTL_TR);
    note(log, frame);
    if (log->resets)
        log->trace->area->bts_index = log->trace->base;
    /* A request for every record would keep us here for ever. */
    if (log->foreign > FOREIGN_MAX)
        log->stops = true;
    if (!log->keeps_mask && !log->stops && (!log->limit || log->count < log->limit))
        apic_lvt_perf_write(log->entry);
    if (!log->stops)
        broker_set(BROKER_BTS, bits);
    return true;
}

static void close_log(void *arg)
{
    struct pmi_log *log = arg;

    apic_lvt_perf_write(log->before & ~LVT_DELIVERY_STATUS);
    pmi_swallow();
    trap_set(VECTOR_PMI, NULL, NULL);
    trap_set(VECTOR_NMI, NULL, NULL);
}

void pmi_log_open(struct pmi_log *log, struct trace *t, uint32_t lvt)
{
    memset(log, 0, sizeof(*log));
    log->trace = t;
    log->entry = lvt;
    log->before = apic_lvt_perf_read();
    run_defer(t->run, close_log, log);
    trap_set(VECTOR_PMI, handle, log);
    trap_set(VECTOR_NMI, handle, log);
    apic_lvt_perf_write(lvt);
}

static void traced(struct pmi_log *log, unsigned count, bool interrupts)
{
    struct run *run = log->trace->run;
    struct guest_run r = {.workload = trace_find(run, "bench.loop"), .argument = count};
    struct guest_call call = guest_prepare(trace_guest(run), &r);
    irqflags_t flags = irq_save();
    uint64_t returned = 0;
    enum ds_error error;

    log->trace->argument = count;
    if (interrupts)
        irq_restore(flags | RFLAGS_IF);
    error = bts_bracket(&log->trace->bts, call.fn, call.arg, &returned);
    irq_restore(flags);
    guest_finish(trace_guest(run), &r, returned);
    NEED(run, error == DS_OK, "bts_bracket refused: %s", ds_strerror(error));
}

void pmi_loop(struct pmi_log *log, unsigned count)
{
    traced(log, count, true);
}

void pmi_records(struct pmi_log *log, unsigned records)
{
    const struct workload *w = trace_find(log->trace->run, "bench.loop");
    size_t overhead;

    trace_expected(log->trace->run, w, 0, 2, &overhead);
    NEED(log->trace->run, records >= overhead, "a loop of two makes %zu records already",
         overhead);
    traced(log, (unsigned)(records - overhead + 2), false);
}

void pmi_swallow(void)
{
    irqflags_t flags = irq_save();

    irq_restore(flags | RFLAGS_IF);
    for (unsigned i = 0; i < 8; i++)
        cpu_pause();
    irq_restore(flags);
}

uint64_t trace_vector_entry(unsigned vector)
{
    return trap_entry_address(vector);
}
