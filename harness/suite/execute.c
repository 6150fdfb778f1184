/* SPDX-License-Identifier: BSD-2-Clause */
/* Executing one check, between a snapshot and its restore, whatever the check does. */
#include "harness/suite/execute.h"

#include "harness/check/capability.h"
#include "harness/check/check.h"
#include "harness/check/out.h"
#include "harness/check/unwind.h"
#include "harness/suite/last_branches.h"
#include "harness/suite/selftest.h"
#include "harness/suite/snapshot.h"
#include "harness/suite/suite.h"
#include "harness/suite/tally.h"
#include "hw/regs.h"
#include "hw/trap.h"
#include "hw/user.h"

static struct run *running; /* the check that an unexpected trap belongs to */

static void dump_frame(struct run *run, const struct trap_frame *f)
{
    const uint64_t *g = &f->r15;
    static const char *const names[] = {"r15", "r14", "r13", "r12", "r11", "r10", "r9", "r8",
                                        "rbp", "rdi", "rsi", "rdx", "rcx", "rbx", "rax"};

    run_detail(run, "vector=%lu error=%lx rip=%lx cs=%lx rflags=%lx rsp=%lx ss=%lx", f->vector,
               f->error, f->rip, f->cs, f->rflags, f->rsp, f->ss);
    for (unsigned i = 0; i < 15; i += 3)
        run_detail(run, "%s=%016lx %s=%016lx %s=%016lx", names[i], g[i], names[i + 1], g[i + 1],
                   names[i + 2], g[i + 2]);
    run_detail(run, "cr2=%016lx cr3=%016lx", cr2_read(), cr3_read());
}

static void unexpected(struct trap_frame *f)
{
    struct run *run = running;

    if (!run)
        suite_abort("none", (unsigned)f->vector, f->rip);
    running = NULL; /* a second trap while dumping ends the run instead of recursing */
    run_error(run, "unexpected vector %lu at %lx", f->vector, f->rip);
    dump_frame(run, f);
    last_branches();
    hw_unwind(UNWIND_TRAP);
}

/* From another processor, by an NMI. Between two checks there is nothing to end. */
static void cut_short(struct trap_frame *f)
{
    struct run *run = running;

    if (!run)
        return;
    running = NULL;
    run_error(run, "hung at %lx in ring %u: cut by an NMI after %u s without a line", f->rip,
              (unsigned)f->cs & 3, suite_state()->platform->guard_seconds);
    dump_frame(run, f);
    last_branches();
    hw_unwind(UNWIND_TRAP);
}

static uint64_t call_check(void *arg)
{
    struct run *run = arg;

    selftest_apply(run);
    run->check->function(run);
    return 0;
}

/* What a check defers may lie in its own frames, which have been left: keep clear of them. */
#define CHECK_FRAMES_BYTES 6144

static uint64_t undo(void *arg)
{
    uint8_t left_alone[CHECK_FRAMES_BYTES];

    __asm__ volatile("" : : "r"(left_alone) : "memory");
    run_deferred_now(arg);
    /* The array must outlive the call, or the call could be made a jump. */
    __asm__ volatile("" : : "r"(left_alone) : "memory");
    return 0;
}

static void run_guarded(struct run *run)
{
    static struct snapshot before;
    char leaks[REASON_BYTES];
    uint64_t result;

    snapshot_take(&before);
    running = run;
    hw_try(call_check, run, &result);
    running = run;
    while (run->deferred_count > 0)
        hw_try(undo, run, &result);
    running = NULL;
    if (snapshot_restore(&before, leaks, sizeof(leaks)))
        run_error(run, "leaked: %s", leaks);
}

enum verdict execute_check(const struct check *check, struct run *run)
{
    const struct suite *suite = suite_state();
    const char *missing = capability_missing(check->needs);

    *run = (struct run){.check = check,
                        .options = suite->options,
                        .soak = suite->options->soak,
                        .platform = suite->platform,
                        .again = run->again};
    if (missing)
        run_skip(run, "%s", missing);
    else if (capability_withdrawn(check->needs))
        run_error(run, "%s", capability_withdrawn(check->needs));
    else if (check->needs & NEED_FIRMWARE)
        check->function(run);
    else
        run_guarded(run);
    if (run->verdict == VERDICT_NONE)
        run_error(run, "reported nothing");
    return run->verdict;
}

void execute_ready(void)
{
    trap_unexpected = unexpected;
    trap_cut_short = cut_short;
}

struct apart {
    uint64_t (*fn)(void *);
    void *arg;
    bool returned;
};

static uint64_t guarded(void *arg)
{
    static const struct check nothing = {.name = "first-record"};
    struct apart *apart = arg;
    struct run run = {.check = &nothing};
    uint64_t value;

    execute_ready();
    running = &run;
    apart->returned = hw_try(apart->fn, apart->arg, &value) == 0;
    running = NULL;
    return 0;
}

void execute_take_over(uint64_t (*fn)(void *), void *arg)
{
    const struct platform *platform = suite_state()->platform;

    (platform->take_over_all ? platform->take_over_all : platform->take_over)(fn, arg);
}

bool execute_apart(uint64_t (*fn)(void *), void *arg)
{
    struct apart apart = {fn, arg, false};

    execute_take_over(guarded, &apart);
    return apart.returned;
}
