/* SPDX-License-Identifier: BSD-2-Clause */
/* Counting verdicts, and ending the run with them. */
#include "harness/suite/tally.h"

#include "harness/check/out.h"
#include "harness/suite/registry.h"
#include "harness/suite/suite.h"

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

void suite_print_end(const struct tally *t, const char *verdict)
{
    out_line("# waymark end run=%08X planned=%u pass=%u fail=%u skip=%u error=%u verdict=%s",
             suite_state()->run_id, t->planned, t->pass, t->fail, t->skip, t->error, verdict);
}

void suite_abort(const char *check, unsigned vector, uint64_t rip)
{
    struct tally t = suite_tally();

    out_line("Bail out! vector=%u rip=%lx check=%s", vector, rip, check);
    suite_print_end(&t, "abort");
    suite_state()->platform->stop();
}
