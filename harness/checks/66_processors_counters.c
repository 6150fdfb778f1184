/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters of more than one processor.
 *
 * Claim: SDM Vol. 4, the scope columns: counters and their controls belong to the logical
 *   processor, as IA32_PEBS_ENABLE does.
 * How: another processor counts a loop of known length while this one's counter, set up alike,
 *   is off; then each looks at its own registers.
 * Wrong if: the other processor is not alone with its counter: it runs one call of ours.
 */
#define CHECK_GROUP "66 smp"
#include "ds/bracket.h"
#include "harness/fixture/counting.h"
#include "harness/fixture/other_processors.h"
#include "hw/regs.h"

#define HERE 77ull

struct job {
    struct pmc pmc;
    struct guest_call call;
    uint64_t counted, enable, pebs;
    int vector;
};

/* On the other processor: everything is put back there, nobody else will. */
static uint64_t count_there(void *arg)
{
    struct job *job = arg;
    struct pmc_state found;

    cr3_write(cr3_read()); /* windows were mapped anew since this processor looked */
    pmc_save(&job->pmc, &found);
    pmc_global_control_write(0);
    job->vector = pmc_program(0, PMC_INSTRUCTIONS, PMC_OS);
    pmc_write(&job->pmc, 0, 0);
    if (job->pmc.has_pebs)
        pmc_pebs_enable_read(&job->pebs);
    ds_bracket(1, 0, job->call.fn, job->call.arg, MSR_IA32_PERF_GLOBAL_CTRL);
    pmc_read(0, &job->counted);
    pmc_write(&job->pmc, 0, 0);
    pmc_restore(&found);
    return 0;
}

static uint64_t counted_there(struct run *run, struct job *job, uint64_t rounds)
{
    struct guest_run r = {.workload = trace_find(run, "bench.loop"), .argument = rounds};

    job->call = guest_prepare(trace_guest(run), &r);
    company_call(run, 1, count_there, job);
    guest_finish(trace_guest(run), &r, 0);
    EXPECT_EQ(run, job->vector, 0, "vector of the control's WRMSR there");
    return job->counted;
}

CHECK("smp.counters", MUST, "RST-04 PMC-04", NEED_PMC | NEED_SMP)
{
    struct counting c;
    struct job job = {0};
    uint64_t few;

    NEED(run, run->platform->other(1), "the other processor did not come");
    counting_open(run, &c);
    job.pmc = c.pmc;
    counting_add(&c, 0, PMC_INSTRUCTIONS, PMC_OS);
    pmc_write(&c.pmc, 0, HERE);
    if (c.pmc.has_pebs)
        NEED(run, pmc_pebs_enable_write(1) == 0, "counter 0 cannot sample");
    few = counted_there(run, &job, 10);
    EXPECT_EQ(run, counted_there(run, &job, 210) - few, 2 * 200, "instructions of 200 rounds");
    EXPECT_EQ(run, job.pebs, 0, "IA32_PEBS_ENABLE there, while it is set here");
    EXPECT_EQ(run, counting_read(&c, 0), HERE, "the counter here, which is off");
    if (c.pmc.has_pebs)
        pmc_pebs_enable_write(0);
}
