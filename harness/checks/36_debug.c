/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Debug exceptions in traced code.
 *
 * Claim: SDM Vol. 3, "IA32_DEBUGCTL MSR", "Single-Stepping on Branches", "Debug Exceptions".
 *   Delivering #DB clears LBR and BTF and leaves TR and BTS; the branch before it is recorded
 *   as ever, and tracing goes on behind it. Whether the delivery leaves a record of its own,
 *   and from where, is open.
 * How: DR0 waits for an instruction or a store of the workload, RFLAGS.TF for one step; the
 *   handler reads IA32_DEBUGCTL before anything else. Each trap is taken untraced first, so
 *   that one that does not come is known from one that tracing lost.
 * Wrong if: the handler's own way changes the register before it is read: it is read in the
 *   first call that the dispatch makes. Seen in the field: a machine that a breakpoint under
 *   branch tracing took down, and a hypervisor that left the bits as they were.
 */
#define CHECK_GROUP "36 bts.debug"
#include "ds/broker.h"
#include "guest/abi.h"
#include "harness/fixture/trace.h"
#include "hw/msr.h"
#include "hw/regs.h"

struct seen {
    unsigned traps;
    uint64_t debugctl, dr6, rip; /* of the first */
};

static void on_trap(struct guest_run *r, struct trap_frame *frame)
{
    struct seen *seen = r->listener;
    uint64_t debugctl = 0;

    if (frame->vector != VECTOR_DB)
        return;
    broker_raw_read_debugctl(&debugctl);
    if (seen->traps++ == 0)
        *seen = (struct seen){1, debugctl, dr6_read(), frame->rip};
    if (dr6_read() & DR6_B0)
        frame->rflags |= RFLAGS_RF; /* past a breakpoint on an instruction */
    dr6_write(dr6_read() & ~DR6_B0);
    broker_db_taken();
}

static void close_debug(void *arg)
{
    (void)arg;
    dr7_write(DR7_FIXED);
    dr0_write(0);
    broker_clear(BROKER_LBR);
    broker_clear(BROKER_BLOCK_STEP);
}

/* One way to raise #DB: what DR0 waits for in which workload; 0 = the workload steps itself. */
struct cause {
    const char *workload;
    uint64_t dr7;
    const char *name;
};

static const struct cause execution = {"debug.execute", DR7_EXECUTE_0, "a breakpoint"};
static const struct cause watchpoint = {"debug.write", DR7_WRITE_8_0, "a data breakpoint"};
static const struct cause step = {"trap.step_jmp", 0, "a step over a branch"};

static uint64_t trap_source(struct run *run, const struct workload *w, unsigned ring)
{
    size_t count;
    const struct expected_edge *e = trace_expected(run, w, ring, 0, &count);

    for (size_t i = 0; i < count; i++)
        if (e[i].kind == EDGE_TRAP)
            return e[i].from;
    NEED(run, false, "%s has no trap", w->name);
    return 0;
}

static void arm(struct run *run, const struct cause *cause, const struct workload *w,
                unsigned ring)
{
    const struct guest *g = trace_guest(run);

    if (cause == &step)
        return;
    dr0_write(cause == &watchpoint ? (ring ? g->data : g->kernel_data) + DATA_WATCHED
                                   : trap_source(run, w, ring));
    dr7_write(DR7_FIXED | DR7_G0 | cause->dr7);
}

/* LBR cannot be set beside TR everywhere, and is dropped where other means replaced it. */
static uint64_t set_extra(struct run *run)
{
    uint64_t debugctl = 0;

    NEED(run, broker_set(BROKER_BLOCK_STEP, DEBUGCTL_BTF) == DS_OK, "BTF cannot be set");
    broker_set(BROKER_LBR, DEBUGCTL_LBR);
    broker_raw_read_debugctl(&debugctl);
    if (!(debugctl & DEBUGCTL_LBR))
        broker_clear(BROKER_LBR);
    return debugctl;
}

static void clear_extra(void)
{
    broker_clear(BROKER_LBR);
    broker_clear(BROKER_BLOCK_STEP);
}

/*
 * Runs the cause under a trace, on request with BTF and LBR set for just that time: software
 * that models them is slow while they are. The trace stays open.
 */
static struct seen raise(struct run *run, struct trace *t, const struct cause *cause,
                         unsigned ring, bool extra)
{
    const struct workload *w = trace_find(run, cause->workload);
    struct seen seen = {0};
    struct guest_run r = {.workload = w, .ring = ring, .on_trap = on_trap, .listener = &seen};
    struct guest_call call;
    uint64_t returned = 0;
    enum ds_error error;

    trace_open(run, t, &(struct trace_setup){.records = 512});
    call = guest_prepare(trace_guest(run), &r);
    run_defer(run, close_debug, NULL);
    arm(run, cause, w, ring);
    if (extra)
        set_extra(run);
    error = bts_bracket(&t->bts, call.fn, call.arg, &returned);
    clear_extra();
    dr7_write(DR7_FIXED);
    guest_finish(trace_guest(run), &r, returned);
    NEED(run, error == DS_OK && r.end == GUEST_RETURNED, "%s did not return", w->name);
    trace_collect(t);
    return seen;
}

static bool came(struct run *run, const struct seen *seen, const struct cause *cause)
{
    return EXPECT(run, seen->traps == 1, "%s under a trace: %u debug exceptions", cause->name,
                  seen->traps);
}

static void add(struct compare_result *sum, const struct compare_result *other)
{
    sum->alternative_seen |= other->alternative_seen;
    sum->primary_seen |= other->primary_seen;
    sum->optional_seen |= other->optional_seen;
}

#define TRAP_BIT (1u << EDGE_TRAP)

/* Both rings: the trace is the labels', with the #DB where it may be. */
static struct compare_result judge(struct run *run, const struct cause *cause)
{
    struct compare_result sum = {0};

    for (unsigned ring = 0; ring <= 3; ring += 3) {
        struct compare_result result = {0};
        const struct expected_edge *e;
        struct seen seen;
        struct trace t;
        size_t count;

        seen = raise(run, &t, cause, ring, false);
        if (!came(run, &seen, cause))
            run_stop(run);
        e = trace_expected(run, trace_find(run, cause->workload), ring, 0, &count);
        if (!trace_match(&t, e, count, ring, &result))
            run_detail(run, "with %s in ring %u", cause->name, ring);
        trace_expect_sources(&t);
        add(&sum, &result);
        run_deferred_now(run);
    }
    return sum;
}

CHECK("bts.debug.breakpoint", CHARACTERISE, "GEN-10 GEN-06", NEED_BTS)
{
    struct compare_result r = judge(run, &execution);

    run_observe(run, "bts.db-record.breakpoint", r.optional_seen & TRAP_BIT ? "yes" : "no");
}

CHECK("bts.debug.watchpoint", CHARACTERISE, "GEN-07 GEN-10", NEED_BTS)
{
    struct compare_result r = judge(run, &watchpoint);

    run_observe(run, "bts.db-record.watchpoint", r.optional_seen & TRAP_BIT ? "yes" : "no");
    run_observe(run, "bts.watch-from",
                r.primary_seen & TRAP_BIT       ? "insn"
                : r.alternative_seen & TRAP_BIT ? "next"
                                                : "no record");
}

static void expect_bits(struct run *run, const struct cause *cause, unsigned ring)
{
    struct seen seen;
    struct trace t;

    seen = raise(run, &t, cause, ring, true);
    if (!EXPECT(run, seen.traps >= 1, "%s in ring %u: no debug exception", cause->name, ring))
        return;
    EXPECT(run, !(seen.debugctl & DEBUGCTL_BTF), "%s in ring %u: BTF is set in the handler",
           cause->name, ring);
    EXPECT(run, !(seen.debugctl & DEBUGCTL_LBR), "%s in ring %u: LBR is set in the handler",
           cause->name, ring);
    EXPECT(run, seen.debugctl & DEBUGCTL_TR, "%s in ring %u: TR is clear in the handler",
           cause->name, ring);
    EXPECT(run, seen.debugctl & DEBUGCTL_BTS, "%s in ring %u: BTS is clear in the handler",
           cause->name, ring);
    run_deferred_now(run);
}

CHECK("bts.debug.control_bits", MUST, "LBR-03 BTF-02", NEED_BTS)
{
    /* With BTF the trap comes after a branch, so a branch is what is stepped. */
    expect_bits(run, &execution, 3);
    expect_bits(run, &execution, 0);
    expect_bits(run, &step, 3);
    expect_bits(run, &step, 0);
    expect_bits(run, &watchpoint, 3);
    expect_bits(run, &watchpoint, 0);
}

/* Without a trace the same holds; and without any #DB the bits stay. */
CHECK("bts.debug.untraced_bits", MUST, "LBR-03", NEED_BTS)
{
    const struct workload *w = trace_find(run, execution.workload);

    for (unsigned armed = 0; armed <= 1; armed++) {
        struct seen seen = {0};
        struct guest_run r = {.workload = w, .ring = 3, .on_trap = on_trap, .listener = &seen};
        struct guest_call call = guest_prepare(trace_guest(run), &r);
        uint64_t before, after = 0, returned;

        run_defer(run, close_debug, NULL);
        if (armed)
            arm(run, &execution, w, 3);
        before = set_extra(run);
        returned = call.fn(call.arg);
        broker_raw_read_debugctl(&after);
        clear_extra();
        dr7_write(DR7_FIXED);
        guest_finish(trace_guest(run), &r, returned);
        EXPECT(run, before & DEBUGCTL_BTF, "BTF does not read back");
        EXPECT_EQ(run, seen.traps, armed, "debug exceptions");
        EXPECT_EQ(run, after, before, "IA32_DEBUGCTL in the end: the broker sets it again");
        EXPECT_EQ(run, seen.debugctl & (DEBUGCTL_LBR | DEBUGCTL_BTF), 0,
                  "LBR and BTF in the handler");
    }
}
