/* SPDX-License-Identifier: BSD-2-Clause */
/* The rules for declarations of checks. Host code: it runs while the image is built. */
#include "harness/dev/check_rules.h"

#include "harness/suite/registry.h"

#include <stdio.h>
#include <string.h>

#define NAME_BYTES_MAX                                                                         \
    60 /* a name, its verdict and a short reason fit into a line of output                     \
        */

static const char *const clauses[] = {
#define CLAUSE(id, kind, section, title, why) id,
#define BESIDE(id, kind, section, title, why) id,
#include "harness/suite/clauses.def"
#undef CLAUSE
#undef BESIDE
};

static bool is_clause(const char *id, size_t bytes)
{
    for (size_t i = 0; i < sizeof(clauses) / sizeof(clauses[0]); i++)
        if (strlen(clauses[i]) == bytes && memcmp(clauses[i], id, bytes) == 0)
            return true;
    return false;
}

static const char *name_trouble(const struct check *const *checks, size_t index)
{
    const char *name = checks[index]->name;

    if (!*name || strlen(name) > NAME_BYTES_MAX)
        return "a name has 1 to 60 characters";
    if (name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789._-")])
        return "a name is made of a-z, 0-9, '.', '_' and '-'";
    for (size_t i = 0; i < index; i++)
        if (strcmp(checks[i]->name, name) == 0)
            return "the name is used twice";
    return NULL;
}

static unsigned unknown_clauses(const struct check *check,
                                void (*wrong)(const struct check *check, const char *text))
{
    unsigned found = 0;
    char text[100];

    for (const char *at = check->clauses; *at;) {
        size_t bytes = strcspn(at, " ");

        if (!is_clause(at, bytes)) {
            snprintf(text, sizeof(text), "'%.*s' is no clause of harness/suite/clauses.def",
                     (int)bytes, at);
            wrong(check, text);
            found++;
        }
        at += bytes + (at[bytes] == ' ');
    }
    return found;
}

unsigned check_rules(const struct check *const *checks, size_t count,
                     void (*wrong)(const struct check *check, const char *text))
{
    unsigned found = 0;

    for (size_t i = 0; i < count; i++) {
        const char *trouble = name_trouble(checks, i);

        if (trouble) {
            wrong(checks[i], trouble);
            found++;
        }
        found += unknown_clauses(checks[i], wrong);
    }
    if (count > CHECKS_MAX) {
        wrong(checks[CHECKS_MAX], "more checks than CHECKS_MAX in harness/suite/registry.h");
        found++;
    }
    return found;
}
