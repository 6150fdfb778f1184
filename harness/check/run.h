/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One running check: its verdict and what it says. Verdicts only rise, pass < skip < error <
 * fail, and a check that asserted nothing ends as an error.
 */
#ifndef HARNESS_CHECK_RUN_H
#define HARNESS_CHECK_RUN_H

#include "harness/check/platform.h"
#include "harness/check/verdict.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REASON_BYTES   160
#define UNSTABLE_BYTES 96

/* Texts for report.json, in the suite's arena; NULL when there is none. */
struct evidence {
    const char *expected, *oracle, *trace, *first_difference, *buffer_hex;
};

#define RUN_DEFERRED_MAX 16
struct deferred {
    void (*fn)(void *arg);
    void *arg;
};

struct check;
struct options;
struct run {
    const struct check *check;
    enum verdict verdict;
    char reason[REASON_BYTES]; /* of the verdict in force */
    unsigned expectations;     /* assertions made */
    unsigned details;          /* detail lines printed */
    struct evidence evidence;
    struct deferred deferred[RUN_DEFERRED_MAX];
    unsigned deferred_count;
    const struct options *options;
    const struct platform *platform;
    bool soak;                     /* by option: long counts */
    bool again;                    /* an earlier run of the same check was observed */
    char unstable[UNSTABLE_BYTES]; /* observations that differ from it, blank-separated */
};

#define PRINTF(format_index, first) __attribute__((format(printf, format_index, first)))

void run_fail(struct run *run, const char *format, ...) PRINTF(2, 3);
void run_error(struct run *run, const char *format, ...) PRINTF(2, 3);
void run_skip(struct run *run, const char *format, ...) PRINTF(2, 3);
/* A line `# name: text`; at most 24 a check. */
void run_detail(struct run *run, const char *format, ...) PRINTF(2, 3);
/*
 * Such a line however many there were: who says nothing for long is taken for one that hangs.
 */
void run_progress(const struct run *run, const char *format, ...) PRINTF(2, 3);
/* One more assertion that held, for conditions tested by other means. */
void run_held(struct run *run);
/* Ends the check here with the verdict it has. Not in firmware mode. */
_Noreturn void run_stop(struct run *run);

/*
 * Has fn(arg) called when the check is over, however it ends, before its leaks are looked for.
 * Last in, first out; at most RUN_DEFERRED_MAX.
 */
void run_defer(struct run *run, void (*fn)(void *arg), void *arg);
void run_deferred_now(struct run *run);

/* A fingerprint entry: what this processor does where the manual is open. */
void run_observe(struct run *run, const char *name, const char *format, ...) PRINTF(3, 4);

/*
 * How often to do a long loop: all of count with soak=1, else a hundredth, at least one. The
 * number used is printed.
 */
unsigned run_count(struct run *run, unsigned count);
/* The same with another share than a hundredth, where even that is long for a plain run. */
unsigned run_count_of(struct run *run, unsigned count, unsigned share);

/* A text in the suite's arena, for evidence; NULL when the arena is full. */
char *run_text(size_t bytes);

/* Asserts and goes on; the value is the condition, so that details can follow. */
#define EXPECT(run, condition, ...)                                                            \
    ((condition) ? (run_held(run), true) : (run_fail(run, __VA_ARGS__), false))

/* A function, because there are hundreds of them: "what: got X, want Y" in hexadecimal. */
bool run_expect_eq(struct run *run, uint64_t got, uint64_t want, const char *what);
#define EXPECT_EQ(run, got, want, what) run_expect_eq(run, got, want, what)

/* Ends the check as a failure when it does not hold. */
#define REQUIRE(run, condition, ...)                                                           \
    do {                                                                                       \
        if (!EXPECT(run, condition, __VA_ARGS__))                                              \
            run_stop(run);                                                                     \
    } while (0)

/*
 * Ends the check as an error: the suite's own means failed, nothing is said of the processor.
 */
#define NEED(run, condition, ...)                                                              \
    do {                                                                                       \
        if (!(condition)) {                                                                    \
            run_error(run, __VA_ARGS__);                                                       \
            run_stop(run);                                                                     \
        }                                                                                      \
    } while (0)

#endif
