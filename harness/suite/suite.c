/* SPDX-License-Identifier: BSD-2-Clause */
/* The life of a run: banner, identity, plan, groups, end line. */
#include "harness/suite/suite.h"
#include "harness/check/arena.h"
#include "harness/check/capability.h"
#include "harness/check/out.h"
#include "harness/suite/attempt.h"
#include "harness/suite/clauses.h"
#include "harness/suite/execute.h"
#include "harness/suite/harness.h"
#include "harness/suite/identity.h"
#include "harness/suite/machine.h"
#include "harness/suite/plan.h"
#include "harness/suite/prove.h"
#include "harness/suite/registry.h"
#include "harness/suite/report.h"
#include "harness/suite/resume.h"
#include "harness/suite/soak.h"
#include "harness/suite/tally.h"
#include "hw/regs.h"
#include "hw/string.h"

#define SHUFFLED_GROUP 32 /* checks between two writes of the files */

static size_t next; /* first check of the registry that no group has reached yet */

void harness_init(const struct platform *platform, const struct options *options)
{
    suite_begin(platform, options);
    arena_init(platform->arena, platform->arena_bytes);
}

static void print_banner(void)
{
    /* Options that could not be read name no profile. */
    out_line("waymark format=1 run=%08X profile=%s", suite_state()->run_id,
             suite_state()->options ? suite_state()->options->profile : "unknown");
}

/* A run that judges nothing: no plan, and figures instead of verdicts. */
static bool judges(void)
{
    return !suite_state()->options->bench && !suite_state()->options->program[0];
}

void harness_usage(const struct platform *platform, const char *message)
{
    struct tally none = {0};

    suite_begin(platform, NULL);
    print_banner();
    out_line("waymark: %s", message);
    suite_print_end(&none, "usage");
}

static uint64_t ask_machine(void *arg)
{
    (void)arg;
    capability_ask(suite_state()->platform);
    return 0;
}

static void list_checks(void)
{
    char line[OUT_LINE_BYTES];

    for (size_t i = 0; i < registry_total(); i++)
        if (registry_at(i)->selected) {
            check_describe(registry_at(i)->check, line, sizeof(line));
            out_line("# check %s", line);
        }
}

bool harness_begin(void)
{
    size_t planned = registry_init(suite_state()->options);
    char unknown[OPTION_TEXT_BYTES];

    if (!report_init(suite_state()->platform)) {
        harness_usage(suite_state()->platform, "not enough memory for the report");
        return false;
    }
    /* Of several patterns, too, one that names nothing is a mistake that would pass unseen. */
    if (registry_unknown(suite_state()->options->run, unknown, sizeof(unknown)) ||
        planned == 0) {
        print_banner();
        out_line("waymark: run=%s matches none of the %zu checks; list=1 prints them", unknown,
                 registry_total());
        suite_print_end(&(struct tally){0}, "usage");
        return false;
    }
    if (suite_state()->options->prove && !prove_plan(suite_state()->options->prove)) {
        harness_usage(suite_state()->platform,
                      "prove= needs a stand-in processor: provider=model");
        return false;
    }
    suite_state()->platform->take_over(ask_machine, NULL);
    suite_state()->platform->take_over_bare(machine_ask, NULL);
    print_banner();
    identity_print();
    if (suite_state()->options->list || suite_state()->options->help) {
        if (suite_state()->options->list)
            list_checks();
        if (suite_state()->options->help)
            options_help(out_line);
        suite_print_end(&(struct tally){0}, "skip");
        return false;
    }
    if (judges()) {
        out_line("KTAP version 1");
        out_line("1..%zu", registry_reported());
    }
    soak_begin();
    if (!suite_state()->options->bench && !suite_state()->options->prove)
        resume_begin();
    return true;
}

static uint64_t prove(void *arg)
{
    (void)arg;
    execute_ready();
    prove_run();
    return 0;
}

void harness_prove(void)
{
    if (suite_state()->platform->take_over_all)
        suite_state()->platform->take_over_all(prove, NULL);
    else
        suite_state()->platform->take_over(prove, NULL);
}

/* Checks of one group are neighbours unless order= has scattered them. */
static size_t group_end(size_t first)
{
    const char *group = registry_at(first)->check->group;
    size_t end = first + 1;

    while (end < registry_total() && (suite_state()->options->order_given
                                          ? end < first + SHUFFLED_GROUP
                                          : strcmp(registry_at(end)->check->group, group) == 0))
        end++;
    return end;
}

bool harness_next_group(void)
{
    size_t end;

    while (next < registry_total() && !registry_at(next)->selected)
        next++;
    if (next == registry_total()) {
        next = 0;
        return soak_next();
    }
    end = group_end(next);
    /* "20 bts.record": the number only sorts. */
    if (!soak_quiet())
        out_line("# group %s", suite_state()->options->order_given
                                   ? "shuffled"
                                   : registry_at(next)->check->group + 3);
    plan_run(next, end);
    next = end;
    return true;
}

void harness_end(void)
{
    struct tally t = suite_tally();
    enum verdict verdict = suite_verdict(&t);
    struct coverage must = coverage_of(MUST);
    struct coverage software = coverage_of(SOFTWARE);
    struct coverage open = coverage_of(CHARACTERISE);

    if (!judges()) {
        suite_print_end(&(struct tally){0}, "skip");
        return;
    }
    resume_end();
    attempt_summary();
    out_line("# coverage must=%u/%u software=%u/%u characterise=%u/%u", must.covered,
             must.total, software.covered, software.total, open.covered, open.total);
    if (strcmp(suite_state()->platform->provider, "model") == 0)
        out_line("# note provider=model: this proves the suite, not a processor");
    suite_print_end(&t, verdict_word(verdict));
}
