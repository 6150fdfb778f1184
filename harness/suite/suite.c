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
#include "harness/suite/prove.h"
#include "harness/suite/registry.h"
#include "harness/suite/report.h"
#include "harness/suite/resume.h"
#include "harness/suite/soak.h"
#include "hw/regs.h"
#include "hw/string.h"

#define SHUFFLED_GROUP 32 /* checks between two writes of the files */

static struct suite suite;

const struct suite *suite_state(void)
{
    return &suite;
}

static void new_run_id(void)
{
    suite.run_id = (uint32_t)(tsc_read() * 2654435761u >> 8);
}

uint32_t harness_run_id(void)
{
    return suite.run_id;
}

void harness_init(const struct platform *platform, const struct options *options)
{
    suite.platform = platform;
    suite.options = options;
    new_run_id();
    out_init(platform);
    arena_init(platform->arena, platform->arena_bytes);
}

static void print_banner(void)
{
    /* Options that could not be read name no profile. */
    out_line("waymark format=1 run=%08X profile=%s", suite.run_id,
             suite.options ? suite.options->profile : "unknown");
}

/* A run that judges nothing: no plan, and figures instead of verdicts. */
static bool judges(void)
{
    return !suite.options->bench && !suite.options->program[0];
}

static void print_end(const struct tally *t, const char *verdict)
{
    out_line("# waymark end run=%08X planned=%u pass=%u fail=%u skip=%u error=%u verdict=%s",
             suite.run_id, t->planned, t->pass, t->fail, t->skip, t->error, verdict);
}

void harness_usage(const struct platform *platform, const char *message)
{
    struct tally none = {0};

    suite.platform = platform;
    new_run_id();
    out_init(platform);
    print_banner();
    out_line("waymark: %s", message);
    print_end(&none, "usage");
}

static uint64_t ask_machine(void *arg)
{
    (void)arg;
    capability_ask(suite.platform);
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
    size_t planned = registry_init(suite.options);

    if (!report_init(suite.platform)) {
        harness_usage(suite.platform, "not enough memory for the report");
        return false;
    }
    if (planned == 0) {
        print_banner();
        out_line("waymark: run=%s matches none of the %zu checks; list=1 prints them",
                 suite.options->run, registry_total());
        print_end(&(struct tally){0}, "usage");
        return false;
    }
    if (suite.options->prove && !prove_plan(suite.options->prove)) {
        harness_usage(suite.platform, "prove= needs a stand-in processor: provider=model");
        return false;
    }
    suite.platform->take_over(ask_machine, NULL);
    suite.platform->take_over_bare(machine_ask, NULL);
    print_banner();
    identity_print();
    if (suite.options->list || suite.options->help) {
        if (suite.options->list)
            list_checks();
        if (suite.options->help)
            options_help(out_line);
        print_end(&(struct tally){0}, "skip");
        return false;
    }
    if (judges()) {
        out_line("KTAP version 1");
        out_line("1..%zu", registry_reported());
    }
    soak_begin();
    if (!suite.options->bench && !suite.options->prove)
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
    if (suite.platform->take_over_all)
        suite.platform->take_over_all(prove, NULL);
    else
        suite.platform->take_over(prove, NULL);
}

/* Checks of one group are neighbours unless order= has scattered them. */
static size_t group_end(size_t first)
{
    const char *group = registry_at(first)->check->group;
    size_t end = first + 1;

    while (end < registry_total() &&
           (suite.options->order_given ? end < first + SHUFFLED_GROUP
                                       : strcmp(registry_at(end)->check->group, group) == 0))
        end++;
    return end;
}

bool harness_next_group(void)
{
    size_t end;

    while (suite.next < registry_total() && !registry_at(suite.next)->selected)
        suite.next++;
    if (suite.next == registry_total()) {
        suite.next = 0;
        return soak_next();
    }
    end = group_end(suite.next);
    /* "20 bts.record": the number only sorts. */
    if (!soak_quiet())
        out_line("# group %s", suite.options->order_given
                                   ? "shuffled"
                                   : registry_at(suite.next)->check->group + 3);
    execute_range(suite.next, end);
    suite.next = end;
    return true;
}

struct tally suite_tally(void)
{
    struct tally t = {0};

    for (size_t i = 0; i < registry_reported(); i++) {
        const struct result *r = registry_report_at(i);

        t.planned++;
        t.pass += r->finished && r->verdict == VERDICT_PASS;
        t.fail += r->finished && r->verdict == VERDICT_FAIL;
        t.skip += r->finished && r->verdict == VERDICT_SKIP;
        t.error += !r->finished || r->verdict == VERDICT_ERROR;
    }
    return t;
}

enum verdict suite_verdict(const struct tally *t)
{
    if (t->fail)
        return VERDICT_FAIL;
    if (t->error)
        return VERDICT_ERROR;
    return t->pass ? VERDICT_PASS : VERDICT_SKIP;
}

void harness_end(void)
{
    struct tally t = suite_tally();
    enum verdict verdict = suite_verdict(&t);
    struct coverage must = coverage_of(MUST);
    struct coverage software = coverage_of(SOFTWARE);
    struct coverage open = coverage_of(CHARACTERISE);

    if (!judges()) {
        print_end(&(struct tally){0}, "skip");
        return;
    }
    resume_end();
    attempt_summary();
    out_line("# coverage must=%u/%u software=%u/%u characterise=%u/%u", must.covered,
             must.total, software.covered, software.total, open.covered, open.total);
    if (strcmp(suite.platform->provider, "model") == 0)
        out_line("# note provider=model: this proves the suite, not a processor");
    print_end(&t, verdict_word(verdict));
}

void suite_abort(const char *check, unsigned vector, uint64_t rip)
{
    struct tally t = suite_tally();

    out_line("Bail out! vector=%u rip=%lx check=%s", vector, rip, check);
    print_end(&t, "abort");
    suite.platform->stop();
}
