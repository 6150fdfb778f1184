/* SPDX-License-Identifier: BSD-2-Clause */
/* Declarations of checks with which no image is built, and what is said of them. */
#include "harness/dev/check_rules.h"
#include "harness/suite/registry.h"

/* The suite's own words of the same name. */
#undef EXPECT
#undef EXPECT_EQ

#include "harness/tests/fakes/unit.h"

static char said[1000];

static void keep(const struct check *check, const char *text)
{
    snprintf(said, sizeof(said), "%s: %s", check->name, text);
}

static unsigned rules(const char *name, const char *clauses)
{
    const struct check first = {.name = "bts.first", .clauses = "GEN-01"};
    const struct check second = {.name = name, .clauses = clauses};
    const struct check *const both[] = {&first, &second};

    said[0] = 0;
    return check_rules(both, 2, keep);
}

static void good(void)
{
    EXPECT_EQ(rules("bts.second-0_x", ""), 0);
    EXPECT_EQ(rules("bts.second", "GEN-01"), 0);
    EXPECT_EQ(rules("bts.second", "GEN-01 BUF-03"), 0);
    EXPECT_STR(said, "");
}

static void clauses(void)
{
    EXPECT_EQ(rules("bts.second", "GEN-01 GEN-99"), 1);
    EXPECT_STR(said, "bts.second: 'GEN-99' is no clause of harness/suite/clauses.def");
    EXPECT_EQ(rules("bts.second", "GEN-0 GEN-011"), 2);
    EXPECT_EQ(rules("bts.second", "GEN-01,BUF-03"), 1);
    EXPECT_EQ(rules("bts.second", "GEN-01  BUF-03"), 1);
}

static void names(void)
{
    char name[62];

    EXPECT_EQ(rules("bts.first", ""), 1);
    EXPECT_STR(said, "bts.first: the name is used twice");
    EXPECT_EQ(rules("bts.First", ""), 1);
    EXPECT_EQ(rules("bts first", ""), 1);
    EXPECT_EQ(rules("", ""), 1);
    memset(name, 'a', 61);
    name[61] = 0;
    EXPECT_EQ(rules(name, ""), 1);
    EXPECT_EQ(rules(name + 1, ""), 0);
}

static void many(void)
{
    static struct check checks[CHECKS_MAX + 1];
    static char names[CHECKS_MAX + 1][8];
    static const struct check *all[CHECKS_MAX + 1];

    for (unsigned i = 0; i <= CHECKS_MAX; i++) {
        snprintf(names[i], sizeof(names[i]), "x.%u", i);
        checks[i] = (struct check){.name = names[i], .clauses = ""};
        all[i] = &checks[i];
    }
    EXPECT_EQ(check_rules(all, CHECKS_MAX, keep), 0);
    EXPECT_EQ(check_rules(all, CHECKS_MAX + 1, keep), 1);
}

int main(void)
{
    RUN(good);
    RUN(clauses);
    RUN(names);
    RUN(many);
    UNIT_END();
}
