/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every value of every policy must leave its name in the fingerprint: under the value, the
 * checks on its clause run, and the observation that belongs to the policy must be the value.
 */
#include "harness/clauses.h"
#include "harness/execute.h"
#include "harness/format.h"
#include "harness/observe.h"
#include "harness/out.h"
#include "harness/prove.h"
#include "harness/registry.h"
#include "harness/suite.h"
#include "hw/string.h"

static void run_clause(const char *clause)
{
    struct run run;

    out_mute(true);
    for (size_t i = 0; i < registry_total(); i++) {
        const struct check *check = registry_at(i)->check;

        if (registry_at(i)->selected && !(check->needs & NEED_FIRMWARE) &&
            clauses_name(check->clauses, clause))
            execute_check(check, &run);
    }
    out_mute(false);
}

/* The observation of policy NAME is called bts.NAME. */
static bool identified(const char *policy, const char *value)
{
    char name[64];
    const char *seen;

    fmt(name, sizeof(name), "bts.%s", policy);
    seen = observe_get(name);
    if (seen && strcmp(seen, value) == 0)
        return true;
    out_line("# policy %s:%s is seen as %s=%s", policy, value, name, seen ? seen : "nothing");
    return false;
}

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

static bool set_policy(const char *name, const char *value)
{
    char word[96];

    fmt(word, sizeof(word), "%s:%s", name, value);
    return suite_state()->platform->stand_in->set("policy", word);
}

void prove_policies(void)
{
    const struct stand_in *stand_in = suite_state()->platform->stand_in;
    struct stand_in_item item;
    unsigned good = 0, total = 0;
    char value[48];

    for (unsigned p = 0; stand_in->policy(p, &item); p++) {
        for (unsigned v = 0; value_at(item.values, v, value, sizeof(value)); v++, total++) {
            out_line("# step policy %s:%s", item.name, value);
            if (!set_policy(item.name, value))
                continue;
            observe_forget();
            run_clause(item.clause);
            good += identified(item.name, value);
        }
        value_at(item.values, 0, value, sizeof(value));
        set_policy(item.name, value);
    }
    out_line("policies: %u of %u identified", good, total);
}
