/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The suite on trial. A defect is killed when a check that names its clause fails under it: an
 * error or a hang would be an accident, and so would a failure elsewhere. Every check must pass
 * without any defect first, or a failure would prove nothing.
 */
#include "harness/suite/prove.h"

#include "harness/check/arena.h"
#include "harness/check/format.h"
#include "harness/check/observe.h"
#include "harness/check/out.h"
#include "harness/suite/clauses.h"
#include "harness/suite/execute.h"
#include "harness/suite/registry.h"
#include "harness/suite/result_line.h"
#include "harness/suite/suite.h"
#include "hw/regs.h"
#include "hw/string.h"

#define NAME_BYTES 64

/* What a trial tells the stand-in lies behind its name in the same allocation. */
struct trial {
    struct check check;
    char name[NAME_BYTES], what[NAME_BYTES];
};

static const char *key; /* "defect" or "policy" */

const struct stand_in *prove_stand_in(void)
{
    return suite_state()->platform->stand_in;
}

void prove_add(const char *prefix, const char *what, const char *clause)
{
    struct trial *t = arena_alloc(sizeof(*t));

    if (!t)
        return;
    fmt(t->what, sizeof(t->what), "%s", what);
    fmt(t->name, sizeof(t->name), "%s.%s", prefix, what);
    for (char *c = t->name; *c; c++)
        if (*c == ':')
            *c = '.';
    t->check = (struct check){
        .name = t->name, .clauses = clause, .group = "00 trial", .kind = SOFTWARE};
    registry_add_trial(&t->check);
}

static void defect_plan(void)
{
    struct stand_in_item item;

    for (size_t i = 0; prove_stand_in()->defect(i, &item); i++)
        prove_add("defect", item.name, item.clause);
}

bool prove_plan(enum option_prove what)
{
    if (!prove_stand_in())
        return false;
    key = what == PROVE_DEFECTS ? "defect" : "policy";
    if (what == PROVE_DEFECTS)
        defect_plan();
    else
        policy_plan();
    return true;
}

/* --- holding them */

bool prove_can_judge(size_t index, const char *clause)
{
    const struct result *r = registry_at(index);

    return r->selected && !(r->check->needs & NEED_FIRMWARE) &&
           (!clause || clauses_name(r->check->clauses, clause));
}

/* Without its lines: what fails here is meant to. */
static enum verdict verdict_of(const struct check *check)
{
    struct run run = {0};
    enum verdict verdict;

    out_mute(true);
    verdict = execute_check(check, &run);
    out_mute(false);
    return verdict;
}

/* The first check that does not pass on the undamaged stand-in; NULL when all do. */
static const struct check *baseline(void)
{
    for (size_t i = 0; i < registry_total(); i++) {
        enum verdict verdict;

        if (!prove_can_judge(i, NULL) || !registry_at(i)->check->clauses[0])
            continue; /* the last: it can kill nothing */
        out_line("# undamaged: %s", registry_at(i)->check->name);
        verdict = verdict_of(registry_at(i)->check);
        if (verdict == VERDICT_FAIL || verdict == VERDICT_ERROR)
            return registry_at(i)->check;
    }
    return NULL;
}

static enum verdict defect_judge(const char *clause, char *reason, size_t bytes)
{
    bool named = false, error = false;

    for (size_t i = 0; i < registry_total(); i++) {
        enum verdict verdict;

        if (!prove_can_judge(i, clause))
            continue;
        named = true;
        verdict = verdict_of(registry_at(i)->check);
        error = error || verdict == VERDICT_ERROR;
        if (verdict == VERDICT_FAIL) {
            fmt(reason, bytes, "killed by %s", registry_at(i)->check->name);
            return VERDICT_PASS;
        }
    }
    fmt(reason, bytes, "survived: %s %s",
        !named  ? "no check names"
        : error ? "an accident, not a failure, met it on"
                : "no check fails on",
        clause);
    return VERDICT_FAIL;
}

static void hold(struct result *r, const struct check *bad)
{
    const struct trial *t = (const struct trial *)r->check;
    uint64_t start = tsc_read();

    out_line("# step %s", r->check->name);
    if (bad) {
        r->verdict = VERDICT_ERROR;
        fmt(r->reason, sizeof(r->reason), "%s does not pass undamaged", bad->name);
    } else if (!prove_stand_in()->set(key, t->what)) {
        r->verdict = VERDICT_ERROR;
        fmt(r->reason, sizeof(r->reason), "the stand-in does not know it");
    } else if (strcmp(key, "defect") == 0) {
        r->verdict = defect_judge(t->check.clauses, r->reason, sizeof(r->reason));
        prove_stand_in()->set("defect", "none");
    } else {
        r->verdict = policy_judge(t->what, t->check.clauses, r->reason, sizeof(r->reason));
    }
    r->ticks = tsc_read() - start;
    r->finished = true;
    out_line("# %s: %s", r->check->name, r->reason);
    result_print(r);
}

void prove_run(void)
{
    const struct check *bad = baseline();

    for (size_t i = 0; i < registry_reported(); i++)
        hold(registry_report_at(i), bad);
    bad = baseline();
    if (bad)
        out_line("# after the trials %s does not pass undamaged", bad->name);
    observe_forget(); /* what muted checks saw is no fingerprint of this run */
}
