/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The suite's side of the journal.
 *
 * A check that runs while the machine is taken over cannot write a file. So where there is a
 * journal each check gets a take-over of its own, and its name is on the medium before that
 * begins. What ends a check is written together with the name of the next one: one write and
 * one flush a check.
 */
#include "harness/suite/resume.h"

#include "harness/check/format.h"
#include "harness/check/observe.h"
#include "harness/check/out.h"
#include "harness/suite/harness.h"
#include "harness/suite/journal.h"
#include "harness/suite/soak.h"
#include "harness/suite/suite.h"
#include "harness/suite/version.h"
#include "hw/regs.h"
#include "hw/string.h"

#define PENDING_BYTES 8192
#define RESULT_BYTES  256 /* kept free for the line that must not be lost */
#define HEADER_BYTES  200
#define OVER_BYTES    80 /* longer than any line that names a step */

static char pending[PENDING_BYTES];
static size_t pending_bytes;
static size_t observed; /* of the observations, in the journal already */
static bool resumed;
static enum verdict trial; /* as the journal has it */
static uint64_t writing_ticks;
static unsigned writes;

static struct result *find(const char *name)
{
    for (size_t i = 0; i < registry_total(); i++)
        if (registry_at(i)->selected && strcmp(registry_at(i)->check->name, name) == 0)
            return registry_at(i);
    return NULL;
}

static void take_result(const char *name, enum verdict verdict, const char *reason)
{
    struct result *r = find(name);

    if (strcmp(name, TRIAL_STEP) == 0)
        trial = verdict;
    if (!r)
        return;
    r->finished = r->carried = true;
    r->verdict = verdict;
    fmt(r->reason, sizeof(r->reason), "%s", reason);
}

static void take_observation(const char *name, const char *value)
{
    out_line("# observe %s=%s", name, value);
    observe_add(name, value);
}

static size_t header(char *to)
{
    return journal_header(to, HEADER_BYTES, waymark_version, harness_machine_signature(),
                          registry_selected(), suite_state()->options);
}

/* After so many boots the rest is given up: a machine that resets for ever helps nobody. */
static void give_up(void)
{
    for (size_t i = 0; i < registry_total(); i++)
        if (registry_at(i)->selected && !registry_at(i)->finished)
            take_result(registry_at(i)->check->name, VERDICT_ERROR, "not run");
}

void resume_begin(void)
{
    static const struct journal_reader reader = {take_result, take_observation};
    const struct platform *p = suite_state()->platform;
    char expected[HEADER_BYTES];
    struct journal_end end;

    resumed = false;
    pending_bytes = 0;
    if (!p->journal_text)
        return;
    header(expected);
    end = journal_read(p->journal_text, p->journal_text_bytes, expected, &reader);
    observed = observe_count();
    if (!end.usable || end.boots == 0) {
        out_line("# journal: one of another build, machine or selection is not gone on with");
        return;
    }
    resumed = true;
    soak_end();
    out_line("# journal: resume %u of %u of a run that did not come to its end", end.boots,
             JOURNAL_RESUMES_MAX);
    if (end.stuck[0]) {
        char reason[REASON_BYTES];

        fmt(reason, sizeof(reason), "never came back: the machine started again in boot %u",
            end.boots);
        take_result(end.stuck, VERDICT_ERROR, reason);
        pending_bytes =
            journal_result(pending, sizeof(pending), end.stuck, VERDICT_ERROR, reason);
    }
    if (end.boots > JOURNAL_RESUMES_MAX)
        give_up();
}

const char *harness_journal_start(size_t *bytes, bool *anew)
{
    static char text[HEADER_BYTES + 20 + PENDING_BYTES];
    size_t used = 0;

    *anew = !resumed;
    if (!resumed) {
        used = header(text);
        text[used++] = '\n';
    }
    memcpy(text + used, pending, pending_bytes);
    used += pending_bytes;
    pending_bytes = 0;
    used += fmt(text + used, sizeof(text) - used, "run %08X\n", suite_state()->run_id);
    *bytes = used;
    return text;
}

bool resume_journalled(void)
{
    return suite_state()->platform->journal;
}

static void add(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void add(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    pending_bytes += vfmt(pending + pending_bytes,
                          sizeof(pending) - RESULT_BYTES - pending_bytes, format, arguments);
    va_end(arguments);
}

/* From the second pass of a soak on the results are there: the last line is enough. */
static void write(void)
{
    const struct platform *p = suite_state()->platform;

    if (!soak_repeats()) {
        p->journal(pending, pending_bytes);
        return;
    }
    while (pending_bytes < OVER_BYTES)
        pending[pending_bytes++] = '\n';
    p->journal_over(pending, pending_bytes);
}

void resume_before(const char *name)
{
    uint64_t start;

    if (!resume_journalled())
        return;
    add("step %s\n", name);
    start = tsc_read();
    write();
    writing_ticks += tsc_read() - start;
    writes++;
    pending_bytes = 0;
}

enum verdict resume_trial(void)
{
    return trial;
}

void resume_end(void)
{
    uint64_t khz = suite_state()->platform->tsc_khz;

    if (writes > 0 && khz > 0)
        out_line("# journal: %u writes, %lu us each", writes,
                 writing_ticks * 1000 / khz / writes);
}

void resume_after_trial(const char *name, enum verdict verdict)
{
    if (resume_journalled())
        pending_bytes += journal_result(pending + pending_bytes,
                                        sizeof(pending) - pending_bytes, name, verdict, "");
}

void resume_after(const struct result *result)
{
    if (!resume_journalled() || soak_repeats())
        return;
    for (; observed < observe_count(); observed++)
        add("observe %s=%s\n", observe_at(observed)->name, observe_at(observed)->value);
    pending_bytes += journal_result(pending + pending_bytes, sizeof(pending) - pending_bytes,
                                    result->check->name, result->verdict, result->reason);
}
