/* SPDX-License-Identifier: BSD-2-Clause */
/* report.json: complete JSON at every moment, checks without a result count as errors. */
#include "harness/suite/report.h"

#include "harness/check/arena.h"
#include "harness/check/capability.h"
#include "harness/check/format.h"
#include "harness/check/observe.h"
#include "harness/suite/clauses.h"
#include "harness/suite/cores.h"
#include "harness/suite/identity.h"
#include "harness/suite/json.h"
#include "harness/suite/machine.h"
#include "harness/suite/registry.h"
#include "harness/suite/suite.h"
#include "harness/suite/tally.h"
#include "hw/string.h"

#define REPORT_BYTES (1u << 20)

static char *report_text;

bool report_init(const struct platform *platform)
{
    (void)platform;
    if (!report_text)
        report_text = arena_alloc(REPORT_BYTES);
    return report_text && machine_init();
}

static void put_evidence(struct json *j, const struct evidence *e)
{
    const char *const values[] = {e->expected, e->oracle, e->trace, e->first_difference,
                                  e->buffer_hex};
    static const char *const keys[] = {"expected", "oracle", "trace", "first_difference",
                                       "buffer_hex"};
    bool any = false;

    for (size_t i = 0; i < 5; i++) {
        if (!values[i])
            continue;
        if (!any)
            json_open(j, "evidence", '{');
        any = true;
        json_string(j, keys[i], values[i]);
    }
    if (any)
        json_close(j, '}');
}

static void put_verdicts(struct json *j, const char *key, const unsigned *counts)
{
    json_open(j, key, '{');
    for (unsigned v = VERDICT_PASS; v <= VERDICT_FAIL; v++)
        json_number(j, verdict_word((enum verdict)v), counts[v]);
    json_close(j, '}');
}

/* How often it ran, where that was not just once, and whether the runs agree. */
static void put_account(struct json *j, const struct result *r)
{
    char names[UNSTABLE_BYTES + 10];

    if (r->account.runs > 1)
        put_verdicts(j, "runs", r->account.counts);
    if (r->account.interrupts) {
        json_open(j, "smi", '{');
        json_number(j, "interrupts", r->account.interrupts);
        json_number(j, "disturbed", r->account.disturbed);
        put_verdicts(j, "set_aside", r->account.aside);
        json_close(j, '}');
    }
    fmt(names, sizeof(names), "%s%s%s", repeat_unstable(&r->account) ? "verdict" : "",
        repeat_unstable(&r->account) && r->unstable[0] ? " " : "", r->unstable);
    if (names[0])
        json_words(j, "unstable", names);
}

static void put_check(struct json *j, const struct result *r)
{
    uint64_t khz = suite_state()->platform->tsc_khz;

    json_open(j, NULL, '{');
    json_string(j, "name", r->check->name);
    json_words(j, "clauses", r->check->clauses);
    json_string(j, "kind", check_kind_word((enum check_kind)r->check->kind));
    json_string(j, "verdict", r->finished ? verdict_word(r->verdict) : "error");
    json_string(j, "reason", r->finished ? r->reason : "not run");
    json_number(j, "ms", khz ? r->ticks / khz : 0);
    put_evidence(j, &r->evidence);
    put_account(j, r);
    json_close(j, '}');
}

static void put_coverage(struct json *j)
{
    json_open(j, "coverage", '{');
    for (enum check_kind kind = MUST; kind <= CHARACTERISE; kind++) {
        struct coverage c = coverage_of(kind);

        json_open(j, check_kind_word(kind), '{');
        json_number(j, "covered", c.covered);
        json_number(j, "total", c.total);
        json_close(j, '}');
    }
    json_close(j, '}');
}

static void put_counts(struct json *j, const struct tally *t)
{
    json_open(j, "counts", '{');
    json_number(j, "planned", t->planned);
    json_number(j, "pass", t->pass);
    json_number(j, "fail", t->fail);
    json_number(j, "skip", t->skip);
    json_number(j, "error", t->error);
    json_close(j, '}');
}

const char *harness_report_json(size_t *bytes)
{
    const struct suite *s = suite_state();
    struct tally tally = suite_tally();
    struct json j;
    char id[12];

    fmt(id, sizeof(id), "%08X", s->run_id);
    json_begin(&j, report_text, REPORT_BYTES);
    json_open(&j, NULL, '{');
    json_number(&j, "format", 1);
    json_string(&j, "run_id", id);
    json_string(&j, "provider", s->platform->provider);
    json_string(&j, "profile", s->options->profile);
    identity_json(&j);
    cores_json(&j);
    json_open(&j, "checks", '[');
    for (size_t i = 0; i < registry_reported(); i++)
        put_check(&j, registry_report_at(i));
    json_close(&j, ']');
    json_open(&j, "observations", '{');
    for (size_t i = 0; i < observe_count(); i++)
        json_string(&j, observe_at(i)->name, observe_at(i)->value);
    json_close(&j, '}');
    put_counts(&j, &tally);
    put_coverage(&j);
    json_string(&j, "verdict", verdict_word(suite_verdict(&tally)));
    json_close(&j, '}');
    *bytes = j.overflow ? 0 : j.used;
    return report_text;
}
