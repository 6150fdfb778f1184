/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Declaring a check. One place gives name, kind, clauses and needs; list, plan, report and
 * coverage follow from it. The function has no name of its own.
 *
 *     #define CHECK_GROUP "20 bts.record"
 *     #include "harness/check/check.h"
 *
 *     // Claim: a record is 24 bytes ...    How: ...    Wrong if: ...
 *     CHECK("bts.record.size", MUST, "REC-01 BUF-01", NEED_BTS)
 *     {
 *         ...
 *         EXPECT_EQ(run, index - base, sizeof(struct bts_record), "index moved");
 *     }
 *
 * CHECK_GROUP is the group's place in the run and its title; groups run in that order, and the
 * checks of a group in the order of the file. A clause that harness/suite/clauses.def does not
 * have, and a name that is malformed or used twice, do not build: harness/dev/facts.c.
 */
#ifndef HARNESS_CHECK_CHECK_H
#define HARNESS_CHECK_CHECK_H

#include "harness/check/run.h"

#include <stddef.h>
#include <stdint.h>

enum check_kind {
    MUST = 1,    /* normative for the processor */
    SOFTWARE,    /* a rule for software, or a property of the suite's own layers */
    CHARACTERISE /* the manual is open: pass, and report what this processor does */
};

/* What a check needs; what is missing becomes the reason of its SKIP. */
enum check_needs {
    NEED_NOTHING = 0,
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

/* The word for a kind in reports. */
const char *check_kind_word(enum check_kind kind);
/* One check for a list: name, kind, place and clauses, the latter last; the bytes written. */
size_t check_describe(const struct check *check, char *to, size_t bytes);

/*
 * CHECK(name, kind, clauses, needs), and behind them what else a struct check may say, by
 * field. The line tells the functions of a file apart.
 */
#define CHECK(check_name, ...) CHECK_AT_LINE(__LINE__, check_name, __VA_ARGS__)
#define CHECK_AT_LINE(at, ...) CHECK_PASTE(at, __VA_ARGS__)
#define CHECK_PASTE(at, ...)   CHECK_DECLARE(check_##at, check_pointer_##at, __VA_ARGS__)
#define CHECK_DECLARE(runs, pointer, check_name, check_kind, check_clauses, check_needs, ...)  \
    static void runs(struct run *run);                                                         \
    static const struct check *const pointer __attribute__((used, section(".checks.all"))) =   \
        &(const struct check){.name = check_name,                                              \
                              .clauses = check_clauses,                                        \
                              .function = runs,                                                \
                              .group = CHECK_GROUP,                                            \
                              .file = __FILE__,                                                \
                              .line = __LINE__,                                                \
                              .kind = check_kind,                                              \
                              .needs = check_needs,                                            \
                              __VA_ARGS__};                                                    \
    static void runs(struct run *run)

#endif
