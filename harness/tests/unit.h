/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unit tests on the host: expectations that go on, and one summary line.
 *
 *     int main(void)
 *     {
 *         EXPECT(range_valid(0, 24));
 *         EXPECT_EQ(layout_bytes(), 24);
 *         return unit_done("layout");
 *     }
 */
#ifndef HARNESS_TESTS_UNIT_H
#define HARNESS_TESTS_UNIT_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

static unsigned unit_expectations, unit_failures;

static inline int unit_expect(int good, const char *file, int line, const char *text)
{
    unit_expectations++;
    if (!good) {
        unit_failures++;
        fprintf(stderr, "%s:%d: expected %s\n", file, line, text);
    }
    return good;
}

static inline int unit_expect_eq(uint64_t got, uint64_t want, const char *file, int line,
                                 const char *text)
{
    int good = unit_expect(got == want, file, line, text);

    if (!good)
        fprintf(stderr, "    got 0x%" PRIx64 ", want 0x%" PRIx64 "\n", got, want);
    return good;
}

#define EXPECT(condition) unit_expect(!!(condition), __FILE__, __LINE__, #condition)
#define EXPECT_EQ(got, want)                                                                   \
    unit_expect_eq((uint64_t)(got), (uint64_t)(want), __FILE__, __LINE__, #got " == " #want)

/* Prints the totals; the value for main to return. A test without expectations fails. */
static inline int unit_done(const char *name)
{
    printf("%s: %u expectations, %u failed\n", name, unit_expectations, unit_failures);
    return unit_failures != 0 || unit_expectations == 0;
}

#endif
