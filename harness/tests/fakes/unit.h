/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unit tests on the host. A test program is functions of EXPECTs, run by RUN, ended by
 * UNIT_END in main: it prints `N passed, N failed` and gives the exit status.
 */
#ifndef HARNESS_TESTS_FAKES_UNIT_H
#define HARNESS_TESTS_FAKES_UNIT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned unit_passed, unit_failed;
static const char *unit_test = "?";

static inline bool unit_expect(bool good, const char *text, const char *file, int line)
{
    if (good)
        return true;
    printf("%s:%d: %s: expected %s\n", file, line, unit_test, text);
    return false;
}

static inline bool unit_expect_eq(uint64_t got, uint64_t want, const char *text,
                                  const char *file, int line)
{
    if (got == want)
        return true;
    printf("%s:%d: %s: %s is 0x%lx, expected 0x%lx\n", file, line, unit_test, text, got, want);
    return false;
}

static inline bool unit_expect_str(const char *got, const char *want, const char *text,
                                   const char *file, int line)
{
    if (got && strcmp(got, want) == 0)
        return true;
    printf("%s:%d: %s: %s is \"%s\", expected \"%s\"\n", file, line, unit_test, text,
           got ? got : "(null)", want);
    return false;
}

static inline bool unit_count(bool good)
{
    if (good)
        unit_passed++;
    else
        unit_failed++;
    return good;
}

/* Each counts once; all are expressions that tell whether they held. */
#define EXPECT(condition) unit_count(unit_expect((condition), #condition, __FILE__, __LINE__))
#define EXPECT_EQ(got, want)                                                                   \
    unit_count(unit_expect_eq((uint64_t)(got), (uint64_t)(want), #got, __FILE__, __LINE__))
#define EXPECT_STR(got, want)                                                                  \
    unit_count(unit_expect_str((got), (want), #got, __FILE__, __LINE__))

/* For what the rest of the function stands on. */
#define ASSERT(condition)                                                                      \
    do {                                                                                       \
        if (!EXPECT(condition))                                                                \
            return;                                                                            \
    } while (0)

#define RUN(function)                                                                          \
    do {                                                                                       \
        unit_test = #function;                                                                 \
        function();                                                                            \
    } while (0)

/* A program in which nothing was tested has failed. */
#define UNIT_END()                                                                             \
    do {                                                                                       \
        printf("%u passed, %u failed\n", unit_passed, unit_failed);                            \
        return unit_failed || !unit_passed;                                                    \
    } while (0)

#endif
