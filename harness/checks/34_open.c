/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Transfers whose record the manual leaves open.
 *
 * Claim: none that binds. SDM Vol. 3, "Last Branch Records", names JMP, Jcc, LOOP, CALL,
 *   interrupts and exceptions; it does not say whether SYSCALL, SYSRET, IRET and #DB leave a
 *   record, nor whether INT n and INT3 are recorded from themselves or from the return address.
 * How: the labels list what is admissible; what was seen goes into the fingerprint. Only
 *   something outside the list fails.
 * Wrong if: one trace mixes two answers; that fails as well, whatever the manual leaves open.
 */
#define CHECK_GROUP "34 bts.open"
#include "harness/fixture/trace.h"

static struct compare_result judge(struct run *run, unsigned ring, const char *name)
{
    const struct workload *w = trace_find(run, name);
    struct guest_run r = {.interrupts = (w->flags & WORKLOAD_INTERRUPTS) != 0};
    struct compare_result result = {0};
    struct trace t;

    trace_open(run, &t, &(struct trace_setup){.records = 8192});
    trace_workload(&t, w, ring, &r);
    if (!trace_expect_workload(&t, w, ring, &result))
        run_detail(run, "in %s, ring %u", name, ring);
    run_deferred_now(run);
    return result;
}

/*
 * Without a record for #DB the trace is not connected, and one from the instruction that was
 * stepped lies before the target of its own branch: the labels alone decide.
 */
static struct compare_result judge_step(struct run *run, unsigned ring, const char *name)
{
    const struct workload *w = trace_find(run, name);
    struct compare_result result = {0};
    const struct expected_edge *expected;
    struct trace t;
    size_t count;

    trace_open(run, &t, &(struct trace_setup){.records = 8192});
    trace_workload(&t, w, ring, NULL);
    expected = trace_expected(run, w, ring, 0, &count);
    if (!trace_match(&t, expected, count, ring, &result))
        run_detail(run, "in %s, ring %u", name, ring);
    trace_expect_sources(&t);
    run_deferred_now(run);
    return result;
}

static void add(struct compare_result *sum, struct compare_result other)
{
    sum->alternative_seen |= other.alternative_seen;
    sum->primary_seen |= other.primary_seen;
    sum->optional_seen |= other.optional_seen;
    sum->optional_absent |= other.optional_absent;
}

static const char *presence(const struct compare_result *r, enum edge_kind kind)
{
    bool seen = r->optional_seen >> kind & 1, absent = r->optional_absent >> kind & 1;

    return seen && absent ? "sometimes" : seen ? "yes" : absent ? "no" : "?";
}

/* "insn", "next": the source is the instruction that raised it, or the one behind it. */
static const char *source(const struct compare_result *r, enum edge_kind kind)
{
    bool primary = r->primary_seen >> kind & 1, other = r->alternative_seen >> kind & 1;

    return primary && other ? "both" : primary ? "insn" : other ? "next" : "no record";
}

CHECK("bts.open.syscall", CHARACTERISE, "GEN-12", NEED_BTS)
{
    struct compare_result r = judge(run, 3, "syscall.once");

    add(&r, judge(run, 3, "syscall.row"));
    add(&r, judge(run, 3, "syscall.branches"));
    add(&r, judge(run, 3, "syscall.mixed"));
    add(&r, judge(run, 0, "syscall.ring0"));
    run_observe(run, "bts.syscall-record", "%s", presence(&r, EDGE_SYSCALL));
    run_observe(run, "bts.sysret-record", "%s", presence(&r, EDGE_SYSRET));
}

CHECK("bts.open.iret", CHARACTERISE, "GEN-12", NEED_BTS)
{
    struct compare_result r = judge(run, 3, "far.iret");

    run_observe(run, "bts.iret-record", "%s", presence(&r, EDGE_IRET));
    r = judge(run, 0, "far.iret");
    run_observe(run, "bts.iret-record.ring0", "%s", presence(&r, EDGE_IRET));
}

CHECK("bts.open.int_n", CHARACTERISE, "GEN-11", NEED_BTS)
{
    struct compare_result r = judge(run, 3, "int80.once");

    add(&r, judge(run, 3, "int80.row"));
    add(&r, judge(run, 0, "int80.row"));
    add(&r, judge(run, 3, "int3.long"));
    add(&r, judge(run, 0, "int3.long"));
    run_observe(run, "bts.int-n-from", "%s", source(&r, EDGE_INT));
}

CHECK("bts.open.int3", CHARACTERISE, "GEN-11 GEN-07", NEED_BTS)
{
    struct compare_result r = judge(run, 3, "int3.once");

    add(&r, judge(run, 3, "int3.row"));
    add(&r, judge(run, 0, "int3.row"));
    run_observe(run, "bts.int3-from", "%s", source(&r, EDGE_INT3));
}

CHECK("bts.open.int1", CHARACTERISE, "GEN-11 GEN-10", NEED_BTS)
{
    struct compare_result r = judge_step(run, 3, "int1.once");

    add(&r, judge_step(run, 0, "int1.once"));
    run_observe(run, "bts.int1-from", "%s", source(&r, EDGE_TRAP));
}

/* Whether or not #DB leaves a record: the branch that was stepped has its own, and first. */
CHECK("bts.event.trap_after_branch", MUST, "GEN-08", NEED_BTS)
{
    judge_step(run, 3, "trap.step_jmp");
    judge_step(run, 0, "trap.step_jmp");
}

CHECK("bts.open.single_step", CHARACTERISE, "GEN-10 GEN-07", NEED_BTS)
{
    struct compare_result r = judge_step(run, 3, "trap.step");

    add(&r, judge_step(run, 0, "trap.step"));
    add(&r, judge_step(run, 3, "trap.step_jmp"));
    add(&r, judge_step(run, 0, "trap.step_jmp"));
    run_observe(run, "bts.db-record", "%s", presence(&r, EDGE_TRAP));
    run_observe(run, "bts.db-from", "%s", source(&r, EDGE_TRAP));
}
