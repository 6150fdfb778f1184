/* SPDX-License-Identifier: BSD-2-Clause */
/* A declared check in words. */
#include "harness/check/check.h"

#include "harness/check/format.h"

const char *check_kind_word(enum check_kind kind)
{
    static const char *const words[] = {
        [MUST] = "must", [SOFTWARE] = "software", [CHARACTERISE] = "characterise"};

    return words[kind];
}

size_t check_describe(const struct check *check, char *to, size_t bytes)
{
    return fmt(to, bytes, "%s kind=%s at=%s:%u clauses=%s", check->name,
               check_kind_word((enum check_kind)check->kind), check->file, check->line,
               check->clauses);
}
