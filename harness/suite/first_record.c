/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The first record of a run, before any check: a trial of one branch, in the journal by the
 * name of TRIAL_STEP. Where it never came back, no check may trace.
 */
#include "ds/probe.h"
#include "harness/check/capability.h"
#include "harness/check/check.h"
#include "harness/check/out.h"
#include "harness/suite/execute.h"
#include "harness/suite/harness.h"
#include "harness/suite/registry.h"
#include "harness/suite/resume.h"
#include "harness/suite/selftest.h"
#include "harness/suite/suite.h"

static void withdraw(void)
{
    capability_withdraw_bts("the first record never came back: nothing may be traced");
}

static bool wanted(void)
{
    const struct options *o = suite_state()->options;

    if (o->bench || o->prove || o->program[0])
        return true;
    for (size_t i = 0; i < registry_total(); i++)
        if (registry_at(i)->selected && (registry_at(i)->check->needs & NEED_BTS))
            return true;
    return false;
}

static uint64_t record(void *found)
{
    selftest_first(suite_state()->options);
    ds_probe_first_record(found);
    return 0;
}

void harness_first_record(void)
{
    struct ds_first_record found;
    bool returned;

    if (resume_trial() == VERDICT_ERROR)
        withdraw();
    if (resume_trial() != VERDICT_NONE || !(capability()->have & NEED_BTS) || !wanted())
        return;
    /* In this order: who reads the line may cut the power, and the journal knows why. */
    resume_before(TRIAL_STEP);
    out_line("# " TRIAL_STEP ": one branch is traced");
    returned = execute_apart(record, &found);
    resume_after_trial(TRIAL_STEP, returned ? VERDICT_PASS : VERDICT_ERROR);
    if (!returned)
        withdraw();
    else if (found.result != DS_PROBE_PRESENT)
        out_line("# " TRIAL_STEP ": %s", ds_probe_reason(found.result));
    else
        out_line("# " TRIAL_STEP ": %lu bytes stored, %s", found.bytes,
                 found.expected ? "its record and nothing else" : "not its record alone");
}
