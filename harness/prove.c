/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The suite on trial. A defect is killed when a check that names its clause fails under it: an
 * error or a hang would be an accident, and so would a failure elsewhere. All checks must pass
 * without any defect first, or a failure would prove nothing.
 */
#include "harness/prove.h"

#include "harness/clauses.h"
#include "harness/execute.h"
#include "harness/out.h"
#include "harness/registry.h"
#include "harness/suite.h"

static const struct stand_in *stand_in(void)
{
    return suite_state()->platform->stand_in;
}

static enum verdict verdict_of(const struct check *check)
{
    struct run run;
    enum verdict verdict;

    out_mute(true);
    verdict = execute_check(check, &run);
    out_mute(false);
    return verdict;
}

/* The selected check of registry entry i can judge the clause; firmware mode is out of reach.
 */
static bool can_judge(size_t i, const char *clause)
{
    const struct result *r = registry_at(i);

    return r->selected && !(r->check->needs & NEED_FIRMWARE) &&
           clauses_name(r->check->clauses, clause);
}

/* The first check on the clause that fails now; NULL when none does. */
static const struct check *killer(const char *clause, bool *judged)
{
    *judged = false;
    for (size_t i = 0; i < registry_total(); i++) {
        if (!can_judge(i, clause))
            continue;
        *judged = true;
        if (verdict_of(registry_at(i)->check) == VERDICT_FAIL)
            return registry_at(i)->check;
    }
    return NULL;
}

/* True when every check that could kill anything passes on the undamaged stand-in. */
static bool baseline(void)
{
    bool good = true;

    for (size_t i = 0; i < registry_total(); i++) {
        const struct result *r = registry_at(i);
        enum verdict verdict;

        if (!r->selected || (r->check->needs & NEED_FIRMWARE))
            continue;
        verdict = verdict_of(r->check);
        if (verdict == VERDICT_FAIL || verdict == VERDICT_ERROR) {
            out_line("# baseline %s does not pass without a defect", r->check->name);
            good = false;
        }
    }
    return good;
}

void prove_defects(void)
{
    struct stand_in_item item;
    unsigned killed = 0, total = 0;

    stand_in()->set("defect", "none");
    if (!baseline())
        out_line("# defect results below are worth nothing: the baseline fails");
    for (; stand_in()->defect(total, &item); total++) {
        const struct check *by;
        bool judged;

        out_line("# step defect %s", item.name);
        stand_in()->set("defect", item.name);
        by = killer(item.clause, &judged);
        stand_in()->set("defect", "none");
        killed += by != NULL;
        if (by)
            out_line("# defect %s clause=%s killed by %s", item.name, item.clause, by->name);
        else
            out_line("# defect %s clause=%s SURVIVED%s: %s", item.name, item.clause,
                     judged ? "" : " (no check names the clause)", item.description);
    }
    out_line("# baseline after the trial: %s", baseline() ? "passes" : "FAILS");
    out_line("defects: %u of %u killed", killed, total);
}
