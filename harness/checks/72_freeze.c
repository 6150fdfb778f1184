/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the interrupt of a full buffer does to performance monitoring.
 *
 * Claim: SDM Vol. 3, "Freezing LBR and Performance Counters on PMI". The threshold counts as a
 *   PMI: with FREEZE_PERFMON_ON_PMI the counters stop, by IA32_PERF_GLOBAL_CTRL or, from
 *   version 4 on, by a status bit; with FREEZE_LBRS_ON_PMI the LBR stack does, by
 *   IA32_DEBUGCTL.LBR or a status bit. Whether the status names the buffer is open.
 * How: a fixed counter counts instructions while a loop crosses the threshold; the handler
 *   reads the registers first of all. Without the control bit everything must go on.
 * Wrong if: somebody else uses the counter: it is off before and after.
 */
#define CHECK_GROUP "72 bts.freeze"
#include "ds/broker.h"
#include "harness/fixture/pmi_log.h"
#include "hw/apic.h"
#include "hw/cpuid.h"
#include "hw/msr.h"

#define CROSS_LOOPS 100u

/* The newest entry of the LBR stack. */
struct newest {
    uint64_t top, from, to;
};

struct found {
    unsigned interrupts;
    uint64_t debugctl, status, control, first, second; /* the counter, read twice */
    struct newest early, late;                         /* calls lie in between */
};

static void read_newest(struct newest *newest)
{
    newest->top = 0;
    if (msr_read_try(MSR_LASTBRANCH_TOS, &newest->top) != 0)
        return;
    msr_read_try(MSR_LASTBRANCH_0_FROM_IP + (uint32_t)newest->top, &newest->from);
    msr_read_try(MSR_LASTBRANCH_0_TO_IP + (uint32_t)newest->top, &newest->to);
}

static bool on_pmi(struct trap_frame *frame, void *arg)
{
    struct found *found = arg;

    (void)frame;
    read_newest(&found->early);
    broker_raw_read_debugctl(&found->debugctl);
    msr_read_try(MSR_IA32_PERF_GLOBAL_STATUS, &found->status);
    msr_read_try(MSR_IA32_PERF_GLOBAL_CTRL, &found->control);
    msr_read_try(MSR_IA32_FIXED_CTR0, &found->first);
    msr_read_try(MSR_IA32_FIXED_CTR0, &found->second);
    read_newest(&found->late);
    broker_set(BROKER_BTS, broker_bits(BROKER_BTS) & ~DEBUGCTL_TR);
    found->interrupts++;
    return true;
}

static uint64_t control_found; /* a reset leaves the general counters enabled here */

static void close_counter(void *arg)
{
    (void)arg;
    msr_write_try(MSR_IA32_FIXED_CTR_CTRL, 0);
    msr_write_try(MSR_IA32_PERF_GLOBAL_CTRL, control_found);
    msr_write_try(MSR_IA32_PERF_GLOBAL_OVF_CTRL, GLOBAL_STATUS_OVF_BUFFER);
    /* Reserved before version 4, so in a write of their own. */
    msr_write_try(MSR_IA32_PERF_GLOBAL_OVF_CTRL, GLOBAL_STATUS_LBR_FRZ | GLOBAL_STATUS_CTR_FRZ);
    broker_clear(BROKER_FREEZE);
    broker_clear(BROKER_LBR);
}

static void need_perfmon(struct run *run)
{
    if (cpu_perfmon_version() >= 2)
        return;
    run_skip(run, "CPUID enumerates no performance monitoring of version 2");
    run_stop(run);
}

static void need_freeze(struct run *run, uint64_t bit)
{
    need_perfmon(run);
    msr_read_try(MSR_IA32_PERF_GLOBAL_CTRL, &control_found);
    run_defer(run, close_counter, NULL);
    if (broker_set(BROKER_FREEZE, bit) == DS_OK) {
        broker_clear(BROKER_FREEZE);
        return;
    }
    run_skip(run, "the control bit %lx cannot be set", bit);
    run_stop(run);
}

/* One interrupt of the buffer while the counter runs. */
static struct found cross(struct run *run, uint64_t freeze, uint64_t lbr)
{
    struct found found = {0};
    struct pmi_log log;
    struct trace t;

    trace_open(
        run, &t,
        &(struct trace_setup){.records = 512, .threshold_records = 64, .interrupt = true});
    pmi_log_open(&log, &t, LVT_DELIVERY_FIXED | VECTOR_PMI);
    trap_set(VECTOR_PMI, on_pmi, &found);
    msr_read_try(MSR_IA32_PERF_GLOBAL_CTRL, &control_found);
    run_defer(run, close_counter, NULL);
    NEED(run,
         msr_write_try(MSR_IA32_FIXED_CTR_CTRL, FIXED_CTR0_ALL_RINGS) == 0 &&
             msr_write_try(MSR_IA32_PERF_GLOBAL_CTRL, GLOBAL_CTRL_FIXED_CTR0) == 0,
         "the fixed counter cannot be started");
    broker_set(BROKER_FREEZE, freeze);
    broker_set(BROKER_LBR, lbr);
    pmi_loop(&log, CROSS_LOOPS);
    EXPECT_EQ(run, found.interrupts, 1, "interrupts");
    run_deferred_now(run);
    return found;
}

CHECK("bts.freeze.counters", MUST, "INT-11", NEED_BTS)
{
    struct found on, off;

    need_freeze(run, DEBUGCTL_FREEZE_PERFMON_ON_PMI);
    off = cross(run, 0, 0);
    EXPECT(run, off.first > 0, "the counter stands still though nothing froze it");
    EXPECT(run, off.control & GLOBAL_CTRL_FIXED_CTR0, "the counter is off without the bit");
    on = cross(run, DEBUGCTL_FREEZE_PERFMON_ON_PMI, 0);
    EXPECT(run, !(on.status & GLOBAL_STATUS_LBR_FRZ), "LBR_FRZ is set, which nobody asked for");
    EXPECT(run, on.first > 0, "the counter never ran");
    EXPECT_EQ(run, on.second, on.first, "the counter, a moment later in the handler");
    if (cpu_perfmon_version() >= PERFMON_FROZEN_BY_STATUS)
        EXPECT(run, on.status & GLOBAL_STATUS_CTR_FRZ, "CTR_FRZ is clear in the status");
    else
        EXPECT_EQ(run, on.control, 0, "IA32_PERF_GLOBAL_CTRL in the handler");
    run_observe(run, "bts.freeze-by", on.status & GLOBAL_STATUS_CTR_FRZ ? "status" : "control");
}

/* What the stack holds, whatever the bits say of it. */
static void expect_frozen(struct run *run, const struct found *on, const struct found *off)
{
    struct guest_place place = guest_place(trace_guest(run), 0, CROSS_LOOPS);

    if (!off->early.from && !off->late.from)
        return; /* no stack that can be read */
    EXPECT(run, off->late.top != off->early.top || off->late.from != off->early.from,
           "the stack stands still though nothing froze it");
    EXPECT(run,
           on->late.top == on->early.top && on->late.from == on->early.from &&
               on->late.to == on->early.to,
           "the frozen stack moved in the handler: newest from %lx, then %lx", on->early.from,
           on->late.from);
    /* The delivery itself may be the last that got in, nothing behind it. */
    EXPECT(run, on->late.from >= place.low && on->late.from < place.high,
           "the newest entry comes from %lx, not from what was interrupted", on->late.from);
}

CHECK("bts.freeze.lbrs", MUST, "INT-11", NEED_BTS)
{
    struct found on, off;
    uint64_t debugctl = 0;

    need_freeze(run, DEBUGCTL_FREEZE_LBRS_ON_PMI);
    broker_set(BROKER_LBR, DEBUGCTL_LBR);
    broker_raw_read_debugctl(&debugctl);
    broker_clear(BROKER_LBR);
    if (!(debugctl & DEBUGCTL_LBR)) {
        run_skip(run, "LBR reads back as 0");
        return;
    }
    off = cross(run, 0, DEBUGCTL_LBR);
    EXPECT(run, off.debugctl & DEBUGCTL_LBR, "LBR is clear without the bit");
    EXPECT(run, !(off.status & GLOBAL_STATUS_LBR_FRZ), "LBR_FRZ is set without the bit");
    on = cross(run, DEBUGCTL_FREEZE_LBRS_ON_PMI, DEBUGCTL_LBR);
    /* Each control freezes its own half. */
    EXPECT(run,
           on.control & GLOBAL_CTRL_FIXED_CTR0 && !(on.status & GLOBAL_STATUS_CTR_FRZ) &&
               on.second > on.first,
           "the counter is frozen along with the stack");
    if (cpu_perfmon_version() >= PERFMON_FROZEN_BY_STATUS)
        EXPECT(run, on.status & GLOBAL_STATUS_LBR_FRZ, "LBR_FRZ is clear in the status");
    else
        EXPECT(run, !(on.debugctl & DEBUGCTL_LBR), "LBR is set in the handler");
    expect_frozen(run, &on, &off);
}

CHECK("bts.freeze.status", CHARACTERISE, "INT-06", NEED_BTS)
{
    struct found found;

    need_perfmon(run);
    found = cross(run, 0, 0);
    EXPECT_EQ(run, found.status & 0xFFFFFFFFull, 0, "overflow bits of general counters");
    run_observe(run, "bts.status-ds-buffer",
                found.status & GLOBAL_STATUS_OVF_BUFFER ? "set" : "clear");
}
