/* SPDX-License-Identifier: BSD-2-Clause */
/* Coverage of clauses by the checks of this run. */
#include "harness/suite/clauses.h"

#include "harness/suite/registry.h"
#include "hw/string.h"

struct clause {
    char id[8];
    uint8_t kind;
    bool counted; /* in the coverage of a run */
};

/* Only ids and classes go into the image. */
#define CLAUSE(name, class, section, title, reason) {name, class, true},
#define BESIDE(name, class, section, title, reason) {name, class, false},
static const struct clause clauses[] = {
#include "harness/suite/clauses.def"
};
#undef CLAUSE
#undef BESIDE
#define CLAUSE_COUNT (sizeof(clauses) / sizeof(clauses[0]))

/* Steps through a blank-separated list; returns the word's length, 0 at the end. */
static size_t next_word(const char **list)
{
    size_t bytes = 0;

    while (**list == ' ')
        ++*list;
    while ((*list)[bytes] && (*list)[bytes] != ' ')
        bytes++;
    return bytes;
}

bool clauses_name(const char *list, const char *id)
{
    size_t bytes;

    for (; (bytes = next_word(&list)) != 0; list += bytes)
        if (bytes == strlen(id) && strncmp(list, id, bytes) == 0)
            return true;
    return false;
}

static bool decided(const char *id)
{
    for (size_t i = 0; i < registry_total(); i++) {
        const struct result *r = registry_at(i);

        if (r->finished && (r->verdict == VERDICT_PASS || r->verdict == VERDICT_FAIL) &&
            clauses_name(r->check->clauses, id))
            return true;
    }
    return false;
}

struct coverage coverage_of(enum check_kind kind)
{
    struct coverage coverage = {0, 0};

    for (size_t i = 0; i < CLAUSE_COUNT; i++) {
        if (clauses[i].kind != kind || !clauses[i].counted)
            continue;
        coverage.total++;
        coverage.covered += decided(clauses[i].id);
    }
    return coverage;
}
