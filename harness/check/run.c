/* SPDX-License-Identifier: BSD-2-Clause */
/* One running check: verdict, details, observations. */
#include "harness/check/run.h"

#include "harness/check/check.h"
#include "harness/check/format.h"
#include "harness/check/observe.h"
#include "harness/check/out.h"
#include "harness/check/unwind.h"
#include "hw/string.h"
#include "hw/user.h"

#define DETAILS_MAX 24

static void raise_verdict(struct run *run, enum verdict verdict, const char *format,
                          va_list arguments)
{
    char text[REASON_BYTES];

    vfmt(text, sizeof(text), format, arguments);
    if (verdict != VERDICT_SKIP)
        run_detail(run, "%s", text);
    if (verdict <= run->verdict)
        return;
    run->verdict = verdict;
    fmt(run->reason, sizeof(run->reason), "%s", text);
}

#define RAISE(name, verdict)                                                                   \
    void name(struct run *run, const char *format, ...)                                        \
    {                                                                                          \
        va_list arguments;                                                                     \
        va_start(arguments, format);                                                           \
        raise_verdict(run, verdict, format, arguments);                                        \
        va_end(arguments);                                                                     \
    }
RAISE(run_fail, VERDICT_FAIL)
RAISE(run_error, VERDICT_ERROR)
RAISE(run_skip, VERDICT_SKIP)

static void print_own(const struct run *run, const char *format, va_list arguments)
{
    char prefix[80];

    fmt(prefix, sizeof(prefix), "# %s: ", run->check->name);
    out_vline(prefix, format, arguments);
}

void run_detail(struct run *run, const char *format, ...)
{
    va_list arguments;

    if (run->details++ >= DETAILS_MAX)
        return;
    va_start(arguments, format);
    print_own(run, format, arguments);
    va_end(arguments);
}

void run_progress(const struct run *run, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    print_own(run, format, arguments);
    va_end(arguments);
}

void run_held(struct run *run)
{
    run->expectations++;
    if (run->verdict < VERDICT_PASS)
        run->verdict = VERDICT_PASS;
}

bool run_expect_eq(struct run *run, uint64_t got, uint64_t want, const char *what)
{
    return EXPECT(run, got == want, "%s: got %lx, want %lx", what, got, want);
}

void run_stop(struct run *run)
{
    (void)run;
    hw_unwind(UNWIND_STOP);
}

void run_defer(struct run *run, void (*fn)(void *arg), void *arg)
{
    NEED(run, run->deferred_count < RUN_DEFERRED_MAX, "too many things to undo");
    run->deferred[run->deferred_count++] = (struct deferred){fn, arg};
}

void run_deferred_now(struct run *run)
{
    while (run->deferred_count > 0) {
        struct deferred d = run->deferred[--run->deferred_count];

        d.fn(d.arg);
    }
}

static void compare_again(struct run *run, const char *name, const char *value)
{
    const char *before = run->again ? observe_get(name) : NULL;
    size_t used = strlen(run->unstable);

    if (!before || strcmp(before, value) == 0)
        return;
    run_detail(run, "unstable: %s was %s, is %s", name, before, value);
    if (used + 1 + strlen(name) < sizeof(run->unstable))
        fmt(run->unstable + used, sizeof(run->unstable) - used, "%s%s", used ? " " : "", name);
}

void run_observe(struct run *run, const char *name, const char *format, ...)
{
    char value[OBSERVATION_VALUE_BYTES];
    va_list arguments;

    va_start(arguments, format);
    vfmt(value, sizeof(value), format, arguments);
    va_end(arguments);
    compare_again(run, name, value);
    out_line("# observe %s=%s", name, value);
    if (!observe_add(name, value))
        run_error(run, "no room for the observation %s", name);
}

unsigned run_count_of(struct run *run, unsigned count, unsigned share)
{
    if (run->soak) {
        out_line("# %s: count %u (soak=1)", run->check->name, count);
        return count;
    }
    count = count >= share ? count / share : 1;
    out_line("# %s: count %u (soak=1 does %u times as many)", run->check->name, count, share);
    return count;
}

unsigned run_count(struct run *run, unsigned count)
{
    return run_count_of(run, count, 100);
}
