/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Declaring a check. One place gives name, clauses, kind, needs and function; list, plan,
 * report and coverage follow from it.
 *
 *     #define CHECK_GROUP "20 bts.record"
 *     #include "harness/check/check.h"
 *
 *     // Claim: a record is 24 bytes ...    How: ...    Wrong if: ...
 *     CHECK(record_size, .name = "bts.record.size", .clauses = "REC-01 BUF-01", .kind = MUST,
 *           .needs = NEED_BTS)
 *     {
 *         ...
 *         EXPECT_EQ(run, index - base, sizeof(struct bts_record), "index moved");
 *     }
 *
 * CHECK_GROUP is the group's place in the run and its title; groups run in that order, and the
 * checks of a group in the order of the file.
 */
#ifndef HARNESS_CHECK_CHECK_H
#define HARNESS_CHECK_CHECK_H

#include "harness/check/run.h"

#include <stdint.h>

enum check_kind {
    MUST = 1,    /* normative for the processor */
    SOFTWARE,    /* a rule for software, or a property of the suite's own layers */
    CHARACTERISE /* the manual is open: pass, and report what this processor does */
};

/* What a check needs; what is missing becomes the reason of its SKIP. */
enum check_needs {
    NEED_BTS = 1 << 0,      /* a provider whose BTS passed the probe */
    NEED_DS_CPL = 1 << 1,   /* BTS_OFF_OS and BTS_OFF_USR */
    NEED_FIRMWARE = 1 << 2, /* runs in firmware mode: no take-over, no snapshot, no REQUIRE */
    NEED_X2APIC = 1 << 3,   /* x2APIC enumerated */
    NEED_LA57 = 1 << 4,     /* 57-bit linear addresses enumerated */
    NEED_NO_BTS = 1 << 5,   /* the question is what a processor without BTS does */
    NEED_SMP = 1 << 6,      /* a second processor */
    NEED_PMC = 1 << 7,      /* architectural performance monitoring of version 2 or above */
    NEED_SMI = 1 << 9,      /* firmware's command port, and a count of what it raises */
    NEED_PEBS = 1 << 8      /* and PEBS, which IA32_MISC_ENABLE does not say is unavailable */
};

struct check {
    const char *name;    /* [a-z0-9._-]+, unique, no value in it, <= 60 bytes */
    const char *clauses; /* clause ids, blank-separated */
    void (*function)(struct run *run);
    const char *group; /* "NN title" */
    const char *file;
    uint16_t line;
    uint8_t kind;   /* enum check_kind */
    uint16_t needs; /* enum check_needs */
};

#define CHECK(identifier, ...)                                                                 \
    static void identifier(struct run *run);                                                   \
    static const struct check check_##identifier = {.function = identifier,                    \
                                                    .group = CHECK_GROUP,                      \
                                                    .file = __FILE__,                          \
                                                    .line = __LINE__,                          \
                                                    __VA_ARGS__};                              \
    static const struct check *const check_pointer_##identifier                                \
        __attribute__((used, section(".checks.all"))) = &check_##identifier;                   \
    static void identifier(struct run *run)

#endif
