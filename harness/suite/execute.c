/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Executing checks. Consecutive checks that want the machine share one take-over; each of them
 * still runs between its own snapshot and restore.
 */
#include "harness/suite/execute.h"

#include "harness/check/capability.h"
#include "harness/check/format.h"
#include "harness/check/out.h"
#include "harness/check/unwind.h"
#include "harness/fixture/tasks.h"
#include "harness/suite/attempt.h"
#include "harness/suite/cores.h"
#include "harness/suite/last_branches.h"
#include "harness/suite/registry.h"
#include "harness/suite/resume.h"
#include "harness/suite/selftest.h"
#include "harness/suite/snapshot.h"
#include "harness/suite/soak.h"
#include "harness/suite/suite.h"
#include "hw/regs.h"
#include "hw/trap.h"
#include "hw/user.h"

#define WATCHDOG_US 20000000u /* ample on an emulator that has to share its processor, too */

static struct run *running; /* the check that an unexpected trap belongs to */

/* LAVA has no word for what could not be found out. */
static const char *lava_word(enum verdict verdict)
{
    bool known = verdict != VERDICT_NONE && verdict != VERDICT_ERROR;

    return known ? verdict_word(verdict) : "unknown";
}

void execute_print(const struct result *r)
{
    const char *name = r->check->name;

    switch (r->verdict) {
    case VERDICT_PASS:
        out_line("ok %u - %s", r->number, name);
        break;
    case VERDICT_SKIP:
        out_line("ok %u - %s # SKIP %s", r->number, name, r->reason);
        break;
    case VERDICT_FAIL:
        out_line("not ok %u - %s", r->number, name);
        break;
    default:
        out_line("not ok %u - %s # ERROR %s", r->number, name, r->reason);
    }
    /* A result line has the verdict in two places; LAVA wants name and word side by side. */
    if (suite_state()->options->lava)
        out_line("<LAVA_SIGNAL_TESTCASE TEST_CASE_ID=%s RESULT=%s>", name,
                 lava_word(r->verdict));
}

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

/* In a quiet pass nothing but the serial port hears which check is under way. */
static void announce(const struct result *r)
{
    char line[96];
    size_t bytes;

    if (!soak_quiet()) {
        out_line("# step %s", r->check->name);
        return;
    }
    bytes = fmt(line, sizeof(line), "# again %s\r\n", r->check->name);
    suite_state()->platform->raw_serial(line, bytes);
}

/* The first of the quiet passes says all that it has to say, the others what is new. */
static void execute_quietly(struct result *r)
{
    enum verdict before = r->verdict;

    out_mute(soak_repeats());
    attempt(r);
    out_mute(false);
    if (soak_repeats() && r->verdict != before)
        out_line("# %s: %s: %s", r->check->name, "unstable, another verdict in this pass",
                 r->reason);
}

static void execute_one(struct result *r)
{
    uint64_t start = tsc_read();

    announce(r);
    if (r->carried) {
        out_line("# %s: decided before the machine started again", r->check->name);
        execute_print(r);
        return;
    }
    if (r->skip_by_option) {
        r->verdict = VERDICT_SKIP;
        fmt(r->reason, sizeof(r->reason), "by option skip=");
    } else if (soak_quiet()) {
        execute_quietly(r);
    } else {
        attempt(r);
    }
    r->ticks = tsc_read() - start;
    r->finished = true;
    if (!soak_quiet())
        execute_print(r);
}

struct range {
    size_t first, end;
};

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

/* With the others where there are any: one of them is on guard. */
static void take_over(uint64_t (*fn)(void *), void *arg)
{
    const struct platform *platform = suite_state()->platform;

    (platform->take_over_all ? platform->take_over_all : platform->take_over)(fn, arg);
}

bool execute_apart(uint64_t (*fn)(void *), void *arg)
{
    struct apart apart = {fn, arg, false};

    take_over(guarded, &apart);
    return apart.returned;
}

static uint64_t execute_machine(void *arg)
{
    const struct range *range = arg;

    execute_ready();
    cores_note();
    guest_watchdog_ticks = tasks_ticks(WATCHDOG_US);
    for (size_t i = range->first; i < range->end; i++)
        if (registry_at(i)->selected)
            execute_one(registry_at(i));
    return 0;
}

/* Also what will not run: to skip it needs no machine. */
static bool wants_firmware(size_t index)
{
    unsigned needs = registry_at(index)->check->needs;

    return registry_at(index)->carried || (needs & NEED_FIRMWARE) != 0 ||
           registry_at(index)->skip_by_option || capability_missing(needs);
}

/* One check with its name in the journal first; carried ones are there already. */
static void execute_journalled(size_t index)
{
    struct result *r = registry_at(index);
    struct range one = {index, index + 1};

    if (!r->selected)
        return;
    if (!r->carried)
        resume_before(r->check->name);
    if (wants_firmware(index))
        execute_one(r);
    else
        take_over(execute_machine, &one);
    if (!r->carried)
        resume_after(r);
}

void execute_range(size_t first, size_t end)
{
    while (first < end && resume_journalled())
        execute_journalled(first++);
    while (first < end) {
        struct range batch = {first, first};

        if (wants_firmware(first)) {
            if (registry_at(first)->selected)
                execute_one(registry_at(first));
            first++;
            continue;
        }
        while (batch.end < end && !wants_firmware(batch.end))
            batch.end++;
        take_over(execute_machine, &batch);
        first = batch.end;
    }
}
