/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The checks of a plan one after the other. Consecutive checks that want the machine share one
 * take-over, unless each of them must have its name in the journal first.
 */
#include "harness/suite/plan.h"

#include "harness/check/capability.h"
#include "harness/check/format.h"
#include "harness/check/out.h"
#include "harness/fixture/tasks.h"
#include "harness/suite/attempt.h"
#include "harness/suite/cores.h"
#include "harness/suite/execute.h"
#include "harness/suite/registry.h"
#include "harness/suite/result_line.h"
#include "harness/suite/resume.h"
#include "harness/suite/soak.h"
#include "harness/suite/suite.h"
#include "hw/regs.h"
#include "hw/user.h"

#define WATCHDOG_US 20000000u /* ample on an emulator that has to share its processor, too */

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
        result_print(r);
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
        result_print(r);
}

struct range {
    size_t first, end;
};

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
        execute_take_over(execute_machine, &one);
    if (!r->carried)
        resume_after(r);
}

void plan_run(size_t first, size_t end)
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
        execute_take_over(execute_machine, &batch);
        first = batch.end;
    }
}
