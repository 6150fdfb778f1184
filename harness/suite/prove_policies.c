/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every value of every policy must leave its name in the fingerprint: under the value, the
 * checks on its clause run, and the observation that belongs to the policy must be the value.
 */
#include "harness/check/format.h"
#include "harness/check/observe.h"
#include "harness/check/out.h"
#include "harness/suite/execute.h"
#include "harness/suite/prove.h"
#include "harness/suite/registry.h"
#include "hw/string.h"

/* Copies the i-th of "a|b|c"; false past the end. */
static bool value_at(const char *values, unsigned i, char *out, size_t bytes)
{
    size_t length = 0;

    for (; i > 0; i--) {
        values = strchr(values, '|');
        if (!values)
            return false;
        values++;
    }
    while (values[length] && values[length] != '|')
        length++;
    fmt(out, bytes, "%.*s", (int)length, values);
    return true;
}

bool policy_plan(void)
{
    struct stand_in_item item;
    char value[32], what[64];

    for (size_t p = 0; prove_stand_in()->policy(p, &item); p++)
        for (unsigned v = 0; value_at(item.values, v, value, sizeof(value)); v++) {
            fmt(what, sizeof(what), "%s:%s", item.name, value);
            prove_add("policy", what, item.clause);
        }
    return true;
}

static void run_clause(const char *clause)
{
    struct run run = {0};

    observe_forget();
    out_mute(true);
    for (size_t i = 0; i < registry_total(); i++)
        if (prove_can_judge(i, clause))
            execute_check(registry_at(i)->check, &run);
    out_mute(false);
}

/* Puts every policy back to its first value. */
static void reset_policies(void)
{
    struct stand_in_item item;
    char value[32], what[64];

    for (size_t p = 0; prove_stand_in()->policy(p, &item); p++) {
        value_at(item.values, 0, value, sizeof(value));
        fmt(what, sizeof(what), "%s:%s", item.name, value);
        prove_stand_in()->set("policy", what);
    }
}

enum verdict policy_judge(const char *what, const char *clause, char *reason, size_t bytes)
{
    const char *value = strchr(what, ':') + 1;
    char name[64];
    const char *seen;

    run_clause(clause);
    reset_policies();
    fmt(name, sizeof(name), "bts.%.*s", (int)(value - 1 - what), what);
    seen = observe_get(name);
    if (seen && strcmp(seen, value) == 0) {
        fmt(reason, bytes, "named by %s=%s", name, seen);
        return VERDICT_PASS;
    }
    fmt(reason, bytes, "%s is %s", name, seen ? seen : "not observed");
    return VERDICT_FAIL;
}
