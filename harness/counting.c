/* SPDX-License-Identifier: BSD-2-Clause */
/* Counting inside a check. */
#include "harness/counting.h"

#include "ds/bracket.h"
#include "ds/broker.h"
#include "harness/pmi_log.h"
#include "hw/apic.h"
#include "hw/regs.h"

static void close_counting(void *arg)
{
    struct counting *c = arg;

    pmc_global_control_write(0);
    for (unsigned counter = 0; counter < PMC_FIXED + PMC_FIXED_MAX; counter++)
        if (pmc_exists(&c->pmc, counter))
            pmc_write(&c->pmc, counter, 0); /* nothing half-way to an overflow */
    pmc_restore(&c->found);
}

void counting_open(struct run *run, struct counting *c)
{
    *c = (struct counting){.run = run};
    pmc_identify(&c->pmc);
    pmc_save(&c->pmc, &c->found);
    run_defer(run, close_counting, c);
    pmc_global_control_write(0);
    pmc_fixed_control_write(0);
    if (c->pmc.has_pebs)
        pmc_pebs_enable_write(0);
    for (unsigned counter = 0; pmc_exists(&c->pmc, counter); counter++)
        pmc_select_write(counter, 0);
    /* A bracket's WRMSR is not caught when it faults: once before, with nothing to count. */
    NEED(run,
         pmc_global_control_write(pmc_all(&c->pmc)) == 0 && pmc_global_control_write(0) == 0,
         "the global control refuses %llx", (unsigned long long)pmc_all(&c->pmc));
    counting_clear_status(c);
}

void counting_add(struct counting *c, unsigned counter, enum pmc_event event, unsigned flags)
{
    NEED(c->run, pmc_program(counter, event, flags) == 0 && pmc_write(&c->pmc, counter, 0) == 0,
         "counter %u refuses to be set up", counter);
    c->enable |= 1ull << counter;
}

void counting_remove_all(struct counting *c)
{
    for (unsigned counter = 0; counter < PMC_FIXED + PMC_FIXED_MAX; counter++)
        if (c->enable >> counter & 1)
            pmc_stop(counter);
    c->enable = 0;
    counting_clear_status(c);
}

void counting_until(struct counting *c, unsigned counter, uint64_t events)
{
    NEED(c->run, pmc_write(&c->pmc, counter, -events) == 0, "counter %u refuses its value",
         counter);
}

void counting_clear_status(struct counting *c)
{
    uint64_t status = counting_status(c);

    /* One at a time: which of them can be cleared is a question of its own. */
    for (unsigned bit = 0; bit < 64; bit++)
        if (status >> bit & 1)
            pmc_status_clear(1ull << bit);
}

uint64_t counting_call(struct counting *c, uint64_t (*fn)(void *), void *arg)
{
    return ds_bracket(c->enable, 0, fn, arg, MSR_IA32_PERF_GLOBAL_CTRL);
}

void counting_workload(struct counting *c, const struct workload *w, unsigned ring,
                       struct guest_run *with)
{
    struct guest *g = trace_guest(c->run);
    struct guest_run plain = {0};
    struct guest_run *r = with ? with : &plain;
    struct guest_call call;

    r->workload = w;
    r->ring = ring;
    call = guest_prepare(g, r);
    guest_finish(g, r, counting_call(c, call.fn, call.arg));
    NEED(c->run, r->end == GUEST_RETURNED, "%s did not return: vector %llu at %llx", w->name,
         (unsigned long long)r->frame.vector, (unsigned long long)r->frame.rip);
}

static void set_cr4(void *value)
{
    cr4_write((uint64_t)(uintptr_t)value);
}

/* Ring 3's first three instructions, and a look: was the IRETQ that entered one of them? */
bool counting_by_ring_after(struct counting *c)
{
    struct guest_run r = {.argument = 0};
    struct counting own = *c;

    own.enable = 0;
    run_defer(c->run, set_cr4, (void *)(uintptr_t)cr4_read());
    cr4_write(cr4_read() | CR4_PCE);
    counting_add(&own, 0, PMC_INSTRUCTIONS, PMC_USR);
    counting_workload(&own, trace_find(c->run, "count.rdpmc"), 3, &r);
    counting_remove_all(&own);
    REQUIRE(c->run, r.result == 3 || r.result == 4, "%llu instructions before ring 3's fourth",
            (unsigned long long)r.result);
    return r.result == 4;
}

uint64_t counting_read(struct counting *c, unsigned counter)
{
    uint64_t value = 0;

    NEED(c->run, pmc_read(counter, &value) == 0, "counter %u cannot be read", counter);
    return value;
}

uint64_t counting_status(struct counting *c)
{
    uint64_t status = 0;

    NEED(c->run, pmc_status_read(&status) == 0, "the global status cannot be read");
    return status;
}

/* --- the interrupt */

static void note(struct counting_pmi *pmi, const struct trap_frame *frame)
{
    pmc_status_read(&pmi->status);
    pmc_global_control_read(&pmi->control);
    pmc_read(pmi->counter, &pmi->value);
    pmc_read(pmi->counter, &pmi->later);
    broker_raw_read_debugctl(&pmi->debugctl);
    pmi->lvt = apic_lvt_perf_read();
    pmi->rip = frame->rip;
    pmi->cs = frame->cs;
}

/* Counters go on meanwhile, unless the processor froze them: they are for ring 3. */
static bool on_pmi(struct trap_frame *frame, void *arg)
{
    struct counting_pmi *pmi = arg;
    uint64_t value;

    if (pmi->count++ == 0)
        note(pmi, frame);
    if (!pmi->keeps_status)
        counting_clear_status(pmi->counting);
    if (pmi->period && pmc_read(pmi->counter, &value) == 0)
        pmc_write(&pmi->counting->pmc, pmi->counter, value - pmi->period);
    if (!pmi->keeps_mask)
        apic_lvt_perf_write(pmi->entry);
    return true;
}

static void close_listener(void *arg)
{
    struct counting_pmi *pmi = arg;

    pmc_global_control_write(0);
    apic_lvt_perf_write(pmi->before & ~LVT_DELIVERY_STATUS);
    pmi_swallow();
    trap_set(VECTOR_PMI, NULL, NULL);
    trap_set(VECTOR_NMI, NULL, NULL);
}

void counting_listen(struct counting *c, struct counting_pmi *pmi, uint32_t lvt)
{
    pmi->counting = c;
    pmi->entry = lvt;
    pmi->before = apic_lvt_perf_read();
    run_defer(c->run, close_listener, pmi);
    trap_set(VECTOR_PMI, on_pmi, pmi);
    trap_set(VECTOR_NMI, on_pmi, pmi);
    apic_lvt_perf_write(lvt);
}

static void release_freeze(void *arg)
{
    (void)arg;
    broker_clear(BROKER_FREEZE);
}

void counting_freeze(struct counting *c)
{
    if (broker_set(BROKER_FREEZE, DEBUGCTL_FREEZE_PERFMON_ON_PMI) != DS_OK) {
        run_skip(c->run, "FREEZE_PERFMON_ON_PMI cannot be set");
        run_stop(c->run);
    }
    run_defer(c->run, release_freeze, NULL);
}
