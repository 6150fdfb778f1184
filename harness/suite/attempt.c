/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The runs of one check. MSR_SMI_COUNT is read around each run of a check that judges records:
 * some processors store nonsense right after a return from system management mode, and every
 * one lets firmware take as long as it likes. A count that changed sets the run aside.
 */
#include "harness/suite/attempt.h"

#include "harness/check/capability.h"
#include "harness/check/format.h"
#include "harness/check/out.h"
#include "harness/suite/execute.h"
#include "harness/suite/soak.h"
#include "harness/suite/suite.h"
#include "hw/msr.h"
#include "hw/string.h"

static struct run latest; /* kept out of the stack: its details are large */

static enum verdict run_once(void *context)
{
    struct result *r = context;

    latest = (struct run){.again = r->account.runs + r->account.set_aside > 0};
    execute_check(r->check, &latest);
    if (latest.unstable[0] && !r->unstable[0])
        memcpy(r->unstable, latest.unstable, sizeof(r->unstable));
    return latest.verdict;
}

static void keep(void *context)
{
    struct result *r = context;

    r->verdict = latest.verdict;
    fmt(r->reason, sizeof(r->reason), "%s", latest.reason);
    r->evidence = latest.evidence;
}

/*
 * Only where records or counts are judged: elsewhere an interrupt of firmware's changes
 * nothing. A check that raises them itself wants them.
 */
static bool interrupts(void *context, uint32_t *count)
{
    const struct check *check = ((struct result *)context)->check;
    uint64_t value;

    /* What will not run is skipped in firmware mode, where the read could not fault. */
    if (!(check->needs & (NEED_BTS | NEED_PMC | NEED_PEBS)) ||
        (check->needs & (NEED_FIRMWARE | NEED_SMI)) || capability_missing(check->needs) ||
        msr_read_try(MSR_SMI_COUNT, &value) != 0)
        return false;
    *count = (uint32_t)value;
    return true;
}

static void tell(void *context, uint32_t came, enum verdict verdict, unsigned again)
{
    const char *name = ((struct result *)context)->check->name;

    if (again)
        out_line("# %s: %s with %u SMIs: set aside, repeat %u of %u", name,
                 verdict_word(verdict), came, again, REPEAT_SET_ASIDE_MAX);
    else
        out_line("# %s: %s with %u SMIs, as in every repeat: this one counts", name,
                 verdict_word(verdict), came);
}

static void say_counts(const struct result *r)
{
    const unsigned *c = r->account.counts;

    out_line("# %s: unstable: %u pass, %u skip, %u error, %u fail in %u runs", r->check->name,
             c[VERDICT_PASS], c[VERDICT_SKIP], c[VERDICT_ERROR], c[VERDICT_FAIL],
             r->account.runs);
}

void attempt(struct result *r)
{
    const struct repeat_io io = {run_once, keep, interrupts, tell, r};

    repeat_run(&io, suite_state()->options->repeat, &r->account);
    if (repeat_unstable(&r->account) && !soak_quiet())
        say_counts(r);
}

void attempt_summary(void)
{
    unsigned unsteady = 0, aside = 0;
    uint64_t came = 0;

    for (size_t i = 0; i < registry_total(); i++) {
        const struct result *r = registry_at(i);

        unsteady += repeat_unstable(&r->account) || r->unstable[0];
        aside += r->account.set_aside;
        came += r->account.interrupts;
    }
    if (suite_state()->options->repeat > 1 || soak_repeats())
        out_line("# unstable: %u of %zu checks", unsteady, registry_selected());
    if (came)
        out_line("# smi: %lu came into checks, %u runs were set aside", came, aside);
}
