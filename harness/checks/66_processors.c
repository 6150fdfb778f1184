/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * More than one processor.
 *
 * Claim: SDM Vol. 3, "BTS and DS Save Area", "Local APIC State After Power-Up or Reset"; Vol.
 * 4, the scope columns. IA32_DEBUGCTL and IA32_DS_AREA belong to the logical processor; INIT
 *   clears the recording and masks the LVT performance entry; software gives each processor an
 *   area of its own.
 * How: another processor, taken over beside this one, writes its registers or is traced while
 *   this one reads its own or is traced elsewhere. What it brought along was read before
 *   anything of ours wrote it.
 * Wrong if: firmware or a hypervisor wrote the registers after the INIT: the check of the state
 *   after INIT is weak in that direction, and only in that one.
 */
#define CHECK_GROUP "66 smp"
#include "ds/broker.h"
#include "harness/check/format.h"
#include "harness/fixture/other_processors.h"
#include "harness/fixture/trace.h"
#include "harness/suite/cores.h"
#include "hw/apic.h"
#include "hw/msr.h"
#include "hw/regs.h"

#define LOOPS 200

static const struct other_processor *other(struct run *run)
{
    const struct other_processor *found = run->platform->other(1);

    NEED(run, found, "the other processor did not come");
    return found;
}

struct registers {
    uint64_t debugctl, ds_area;
};

static uint64_t write_registers(void *arg)
{
    const struct registers *r = arg;
    int vector = broker_raw_write_debugctl(r->debugctl);

    return (uint64_t)(vector ? vector : broker_raw_write_ds_area(r->ds_area));
}

static uint64_t read_registers(void *arg)
{
    struct registers *r = arg;

    broker_raw_read_debugctl(&r->debugctl);
    broker_raw_read_ds_area(&r->ds_area);
    return 0;
}

static uint64_t resync(void *arg)
{
    (void)arg;
    broker_resync();
    return 0;
}

CHECK("smp.registers", MUST, "RST-04", NEED_BTS | NEED_SMP)
{
    struct registers ours = {DEBUGCTL_BTS, 0x10000}, theirs = {DEBUGCTL_BTINT, 0x20000}, back;

    other(run);
    EXPECT_EQ(run, write_registers(&ours), 0, "vector, here");
    EXPECT_EQ(run, company_call(run, 1, write_registers, &theirs), 0, "vector, there");
    read_registers(&back);
    EXPECT_EQ(run, back.debugctl, ours.debugctl, "IA32_DEBUGCTL here");
    EXPECT_EQ(run, back.ds_area, ours.ds_area, "IA32_DS_AREA here");
    company_call(run, 1, read_registers, &back);
    EXPECT_EQ(run, back.debugctl, theirs.debugctl, "IA32_DEBUGCTL there");
    EXPECT_EQ(run, back.ds_area, theirs.ds_area, "IA32_DS_AREA there");
    broker_resync();
    company_call(run, 1, resync, NULL);
}

/* Tracing there; the area is given back, so that this processor can tear the trace down. */
struct job {
    struct trace *t;
    unsigned index; /* of the processor */
    struct guest_call call;
    uint64_t returned;
};

static uint64_t trace_there(void *arg)
{
    struct job *job = arg;
    enum ds_error error;

    cr3_write(cr3_read()); /* windows were mapped anew since this processor looked */
    error = bts_bracket(&job->t->bts, job->call.fn, job->call.arg, &job->returned);
    broker_set_ds_area(NULL);
    return error;
}

static uint64_t branches(void *arg)
{
    for (volatile unsigned i = 0; i < *(const unsigned *)arg; i++)
        ;
    return 0;
}

/* Starts LOOPS rounds of the loop under a trace on the other processor. */
static void start_there(struct run *run, struct job *job, struct guest_run *r)
{
    other(run);
    *r = (struct guest_run){.workload = trace_find(run, "bench.loop"), .argument = LOOPS};
    job->t->argument = LOOPS;
    job->call = guest_prepare(trace_guest(run), r);
    company_start(run, job->index, trace_there, job);
}

static void finish_there(struct run *run, struct job *job, struct guest_run *r)
{
    uint64_t error = company_wait(run, job->index);

    guest_finish(trace_guest(run), r, job->returned);
    NEED(run, error == DS_OK, "the trace there is refused: %u", (unsigned)error);
    trace_collect(job->t);
    trace_expect_workload(job->t, r->workload, 0, NULL);
}

CHECK("smp.one_traces", MUST, "RST-04 RST-05", NEED_BTS | NEED_SMP)
{
    struct trace here, there;
    struct job job = {.t = &there, .index = 1};
    struct guest_run r;
    unsigned rounds = 20 * LOOPS;
    uint64_t debugctl = 0;

    trace_open(run, &here, &(struct trace_setup){.records = 1024});
    trace_open(run, &there, &(struct trace_setup){.records = 4096});
    NEED(run, broker_set_ds_area(here.area) == DS_OK, "the area is refused");
    start_there(run, &job, &r);
    branches(&rounds);
    broker_raw_read_debugctl(&debugctl);
    finish_there(run, &job, &r);
    EXPECT_EQ(run, debugctl, 0, "IA32_DEBUGCTL of the processor that is not traced");
    EXPECT_EQ(run, here.area->bts_index, here.base, "its index");
    trace_expect_untouched(&here, "while another processor was traced");
}

CHECK("smp.own_areas", SOFTWARE, "RST-05", NEED_BTS | NEED_SMP)
{
    struct trace here, there;
    struct job job = {.t = &there, .index = 1};
    struct guest_run r;
    unsigned rounds = 2 * LOOPS;

    trace_open(run, &here, &(struct trace_setup){.records = 4096});
    trace_open(run, &there, &(struct trace_setup){.records = 4096});
    start_there(run, &job, &r);
    trace_call(&here, branches, &rounds);
    finish_there(run, &job, &r);
    EXPECT(run, here.count > rounds, "%zu records here", here.count);
    trace_expect_sane(&here);
}

/* Parts that mix kinds of cores: each kind is traced, and named in the fingerprint. */
CHECK("smp.core_kinds", CHARACTERISE, "RST-04", NEED_BTS | NEED_SMP)
{
    struct trace there[CORE_KINDS]; /* closed when the check is over */
    char names[32];
    size_t used = 0;

    other(run);
    for (unsigned kind = 0; kind < CORE_KINDS; kind++) {
        struct job job = {.t = &there[kind], .index = 1};
        struct guest_run r;

        while (job.index < cores_count() && cores_at(job.index)->kind != kind)
            job.index++;
        if (job.index == cores_count())
            continue;
        run_detail(run, "%s cores: processor %u", core_name(kind), job.index);
        trace_open(run, job.t, &(struct trace_setup){.records = 4096});
        start_there(run, &job, &r);
        finish_there(run, &job, &r);
        used +=
            fmt(names + used, sizeof(names) - used, "%s%s", used ? "+" : "", core_name(kind));
    }
    run_observe(run, "smp.core-kinds", "%s", names);
}

static uint64_t take_area(void *arg)
{
    enum ds_error error = broker_set_ds_area(arg);

    broker_set_ds_area(NULL);
    return error;
}

/* The driver refuses what would have two processors race for one index. */
CHECK("smp.shared_area", SOFTWARE, "RST-05", NEED_BTS | NEED_SMP)
{
    struct trace t;

    other(run);
    trace_open(run, &t, &(struct trace_setup){.records = 64});
    NEED(run, broker_set_ds_area(t.area) == DS_OK, "the area is refused here");
    EXPECT_EQ(run, company_call(run, 1, take_area, t.area), DS_EBUSY, "the same area there");
    broker_set_ds_area(NULL);
    EXPECT_EQ(run, company_call(run, 1, take_area, t.area), DS_OK, "the area there, now free");
}

CHECK("smp.after_init", MUST, "RST-01 RST-02", NEED_BTS | NEED_SMP)
{
    const struct other_processor *found = other(run);

    /* What stands in for a processor can only be started anew, not sent an INIT. */
    if (run->platform->stand_in)
        NEED(run, run->platform->other_renew(1), "the other processor does not come back");
    EXPECT_EQ(run, found->debugctl & (DEBUGCTL_TR | DEBUGCTL_BTS | DEBUGCTL_BTINT), 0,
              "TR, BTS and BTINT of a processor after INIT");
    EXPECT(run, found->lvt_perf & LVT_MASKED, "LVT performance entry as found: %x",
           found->lvt_perf);
    EXPECT(run, found->lvt_perf_inside & LVT_MASKED, "LVT performance entry: %x",
           found->lvt_perf_inside);
    run_observe(run, "bts.ds-area-after-init", found->ds_area ? "kept" : "zero");
}
