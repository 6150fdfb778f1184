/* SPDX-License-Identifier: BSD-2-Clause */
/* The gate's two stages: bit 7 alone, then TR on an area that can take records. */
#include "ds/probe.h"

#include "ds/bracket.h"
#include "ds/broker.h"
#include "ds/bts.h"
#include "hw/apic.h"
#include "hw/cpuid.h"
#include "hw/irq.h"
#include "hw/msr.h"

/* Room for the records of an interrupt that nothing here expects. */
#define PROBE_RECORDS 64

static struct {
    _Alignas(DS_AREA_BYTES) struct ds_area area;
    _Alignas(64) struct bts_record records[PROBE_RECORDS];
} page;

const char *ds_probe_reason(enum ds_probe_result result)
{
    switch (result) {
    case DS_PROBE_PRESENT:
        return "the processor has BTS";
    case DS_PROBE_NO_DS:
        return "CPUID does not enumerate DS";
    case DS_PROBE_NO_MISC_ENABLE:
        return "IA32_MISC_ENABLE cannot be read";
    case DS_PROBE_BTS_UNAVAILABLE:
        return "IA32_MISC_ENABLE says BTS is unavailable";
    case DS_PROBE_NO_DEBUGCTL:
        return "IA32_DEBUGCTL cannot be read";
    case DS_PROBE_IN_USE:
        return "TR is set already: something else is tracing";
    case DS_PROBE_BTS_FAULTS:
        return "IA32_DEBUGCTL faults on bit 7 (BTS)";
    case DS_PROBE_BTS_DROPPED:
        return "IA32_DEBUGCTL drops bit 7 (BTS)";
    case DS_PROBE_DS_AREA_FAULTS:
        return "IA32_DS_AREA faults on a good address";
    case DS_PROBE_DS_AREA_DROPPED:
        return "IA32_DS_AREA does not read back";
    case DS_PROBE_AREA_UNUSABLE:
        return "the probe's own DS area is not usable";
    case DS_PROBE_TR_FAULTS:
        return "IA32_DEBUGCTL faults on bit 6 (TR)";
    case DS_PROBE_TR_DROPPED:
        return "IA32_DEBUGCTL drops bits 6 and 7 (TR, BTS) together";
    case DS_PROBE_RESULTS:
        break;
    }
    return "?";
}

/* What the processor promises; no register is written. */
static enum ds_probe_result enumerate(struct ds_probe_report *report)
{
    report->dtes64 = cpu_has_dtes64();
    report->ds_cpl = cpu_has_ds_cpl();
    if (!cpu_has_ds())
        return DS_PROBE_NO_DS;
    report->vector = msr_read_try(MSR_IA32_MISC_ENABLE, &report->misc_enable);
    if (report->vector)
        return DS_PROBE_NO_MISC_ENABLE;
    if (report->misc_enable & MISC_ENABLE_BTS_UNAVAILABLE)
        return DS_PROBE_BTS_UNAVAILABLE;
    report->vector = broker_raw_read_debugctl(&report->debugctl);
    if (report->vector)
        return DS_PROBE_NO_DEBUGCTL;
    return report->debugctl & DEBUGCTL_TR ? DS_PROBE_IN_USE : DS_PROBE_PRESENT;
}

/* With TR clear bit 7 stores nothing, so it may be tried without any area. */
static enum ds_probe_result try_bts(struct ds_probe_report *report)
{
    report->vector = broker_raw_write_debugctl(report->debugctl | DEBUGCTL_BTS);
    if (report->vector)
        return DS_PROBE_BTS_FAULTS;
    broker_raw_read_debugctl(&report->debugctl);
    return report->debugctl & DEBUGCTL_BTS ? DS_PROBE_PRESENT : DS_PROBE_BTS_DROPPED;
}

static enum ds_probe_result try_area(struct ds_probe_report *report)
{
    uint64_t linear = (uintptr_t)&page.area, back = 0;

    report->vector = broker_raw_write_ds_area(linear);
    if (report->vector)
        return DS_PROBE_DS_AREA_FAULTS;
    broker_raw_read_ds_area(&back);
    return back == linear ? DS_PROBE_PRESENT : DS_PROBE_DS_AREA_DROPPED;
}

static uint64_t index_now(void)
{
    return *(volatile uint64_t *)&page.area.bts_index;
}

/*
 * TR alone goes first, through the accessor that survives a fault: with BTS clear nothing is
 * stored. The flip then sets both where no fault can be caught any more.
 */
static enum ds_probe_result try_tr(struct ds_probe_report *report)
{
    const uint64_t both = DEBUGCTL_TR | DEBUGCTL_BTS;
    uint64_t off = broker_shadow() & ~both;
    uint64_t found;

    report->vector = broker_raw_write_debugctl(off | DEBUGCTL_TR);
    if (report->vector)
        return DS_PROBE_TR_FAULTS;
    broker_raw_write_debugctl(off);
    found = index_now();
    report->debugctl = ds_bracket_flip(off | both, off, MSR_IA32_DEBUGCTL);
    report->moved = index_now() - found;
    return (report->debugctl & both) == both ? DS_PROBE_PRESENT : DS_PROBE_TR_DROPPED;
}

/* TR has been tried already, so that no write here is expected to fault. */
static enum ds_probe_result try_one(struct ds_probe_report *report)
{
    const uint64_t both = DEBUGCTL_TR | DEBUGCTL_BTS;
    uint64_t off = broker_shadow() & ~both;
    uint64_t found = index_now();

    ds_bracket_one(off | both, off, MSR_IA32_DEBUGCTL);
    report->moved = index_now() - found;
    return DS_PROBE_PRESENT;
}

static enum ds_probe_result
try_trace(struct ds_probe_report *report,
          enum ds_probe_result (*with)(struct ds_probe_report *report))
{
    const struct bts_config config = {
        .base = (uintptr_t)page.records,
        .bytes = sizeof(page.records),
    };
    struct bts bts = {0};
    irqflags_t flags;
    uint32_t lvt;
    enum ds_probe_result result;

    if (bts_setup(&bts, &page.area, &config, NULL) != DS_OK)
        return DS_PROBE_AREA_UNUSABLE;
    flags = irq_save();
    lvt = apic_lvt_perf_read();
    apic_lvt_perf_write((lvt & ~LVT_DELIVERY_STATUS) | LVT_MASKED);
    result = try_area(report);
    if (result == DS_PROBE_PRESENT)
        result = with(report);
    broker_resync();
    apic_lvt_perf_write(lvt & ~LVT_DELIVERY_STATUS);
    irq_restore(flags);
    return result;
}

enum ds_probe_result ds_probe(struct ds_probe_report *report)
{
    *report = (struct ds_probe_report){0};
    report->result = enumerate(report);
    if (report->result == DS_PROBE_PRESENT) {
        report->stage = 1;
        report->result = try_bts(report);
        broker_resync();
    }
    if (report->result == DS_PROBE_PRESENT) {
        report->stage = 2;
        report->result = try_trace(report, try_tr);
    }
    report->reason = ds_probe_reason(report->result);
    return report->result;
}

void ds_probe_first_record(struct ds_first_record *found)
{
    struct ds_probe_report report = {0};
    const volatile struct bts_record *record = &page.records[0];

    *found = (struct ds_first_record){0};
    found->result = try_trace(&report, try_one);
    found->bytes = report.moved;
    found->expected = found->result == DS_PROBE_PRESENT &&
                      found->bytes == sizeof(struct bts_record) &&
                      record->from == (uintptr_t)ds_bracket_one_from &&
                      record->to == (uintptr_t)ds_bracket_one_to;
}
