/* SPDX-License-Identifier: BSD-2-Clause */
/* The line that says how a check ended. */
#include "harness/suite/result_line.h"

#include "harness/check/out.h"
#include "harness/suite/suite.h"

/* LAVA has no word for what could not be found out. */
static const char *lava_word(enum verdict verdict)
{
    bool known = verdict != VERDICT_NONE && verdict != VERDICT_ERROR;

    return known ? verdict_word(verdict) : "unknown";
}

void result_print(const struct result *r)
{
    const char *name = r->check->name;

    switch (r->verdict) {
    case VERDICT_PASS:
        out_line("ok %u - %s", r->number, name);
        break;
    case VERDICT_SKIP:
        out_line("ok %u - %s # SKIP %s", r->number, name, r->reason);
        break;
    case VERDICT_FAIL:
        out_line("not ok %u - %s", r->number, name);
        break;
    default:
        out_line("not ok %u - %s # ERROR %s", r->number, name, r->reason);
    }
    /* A result line has the verdict in two places; LAVA wants name and word side by side. */
    if (suite_state()->options->lava)
        out_line("<LAVA_SIGNAL_TESTCASE TEST_CASE_ID=%s RESULT=%s>", name,
                 lava_word(r->verdict));
}
