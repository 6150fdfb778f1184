/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Single-stepping on branches, with the trace beside it.
 *
 * Claim: SDM Vol. 3, "Single-Stepping on Branches". TF with BTF traps after instructions that
 *   take a branch and after no others, with DR6.BS set; #DB clears BTF, and the debugger sets
 *   it again; BTF without TF does nothing. The branch's record comes before any of its #DB.
 * How: ring 3 runs with TF set; the list of traps must be the list of targets of the branches
 *   that the labels name. The broker's block-step client sets BTF again after each trap, or is
 *   told not to.
 * Wrong if: the kernel is stepped as well: TF is clear there, and the workloads of the main
 *   checks never enter it. Seen in the field: a switch of threads that trusted the bit to be
 *   what it had written, while #DB had cleared it.
 */
#define CHECK_GROUP "38 bts.block_step"
#include "ds/broker.h"
#include "harness/fixture/pmi_log.h"
#include "harness/fixture/trace.h"
#include "harness/oracle/decode.h"
#include "hw/msr.h"
#include "hw/regs.h"
#include "hw/string.h"

#define TRAPS_MAX 64

struct steps {
    unsigned count;
    unsigned without_bs, with_btf; /* traps with DR6.BS clear; with BTF still set */
    uint64_t rip[TRAPS_MAX];
};

static bool on_step(struct trap_frame *frame, void *arg)
{
    struct steps *s = arg;
    uint64_t debugctl = 0, dr6 = dr6_read();

    broker_raw_read_debugctl(&debugctl);
    s->without_bs += !(dr6 & DR6_BS);
    s->with_btf += (debugctl & DEBUGCTL_BTF) != 0;
    dr6_write(dr6 & ~DR6_BS);
    broker_db_taken();
    if (s->count < TRAPS_MAX)
        s->rip[s->count] = frame->rip;
    if (++s->count >= TRAPS_MAX)
        frame->rflags &= ~RFLAGS_TF;
    return true;
}

static void close_steps(void *arg)
{
    const struct trap_slot *before = arg;

    trap_set(VECTOR_DB, before->handler, before->arg);
    broker_rearm(BROKER_BLOCK_STEP, true);
    broker_clear(BROKER_BLOCK_STEP);
}

/* After trace_guest, whose handler this one replaces. */
static void open_steps(struct run *run, struct steps *s, bool rearm)
{
    static struct trap_slot before;

    memset(s, 0, sizeof(*s));
    before = trap_set(VECTOR_DB, on_step, s);
    run_defer(run, close_steps, &before);
    broker_rearm(BROKER_BLOCK_STEP, rearm);
}

/* Runs it in ring 3 with BTF set for just that time, traced or, with t NULL, not. */
static void run_steps(struct run *run, struct trace *t, struct guest_run *r)
{
    struct guest_call call = guest_prepare(trace_guest(run), r);
    enum ds_error error = broker_set(BROKER_BLOCK_STEP, DEBUGCTL_BTF);
    uint64_t returned = 0;

    NEED(run, error == DS_OK, "BTF cannot be set");
    if (t)
        error = bts_bracket(&t->bts, call.fn, call.arg, &returned);
    else
        returned = call.fn(call.arg);
    broker_clear(BROKER_BLOCK_STEP);
    guest_finish(trace_guest(run), r, returned);
    NEED(run, error == DS_OK, "the trace is refused");
    NEED(run, r->end == GUEST_RETURNED, "%s did not return", r->workload->name);
    if (t)
        trace_collect(t);
}

/* Targets of the branches that stay in ring 3: where the traps must be. */
static size_t targets(struct run *run, const struct workload *w, uint64_t out[TRAPS_MAX])
{
    size_t count, used = 0;
    const struct expected_edge *e = trace_expected(run, w, 3, 0, &count);

    for (size_t i = 0; i < count && used < TRAPS_MAX; i++)
        if (e[i].cpl_before == 3 && e[i].cpl_after == 3)
            out[used++] = e[i].to;
    return used;
}

static void expect_targets(struct run *run, const struct workload *w, const struct steps *s)
{
    uint64_t want[TRAPS_MAX];
    size_t count = targets(run, w, want);

    EXPECT(run, s->count == count, "%s: %u traps for %zu branches", w->name, s->count, count);
    for (size_t i = 0; i < count && i < s->count; i++)
        if (!EXPECT(run, s->rip[i] == want[i], "%s: trap %zu at %lx, want %lx", w->name, i,
                    s->rip[i], want[i]))
            return;
    EXPECT_EQ(run, s->without_bs, 0, "traps with DR6.BS clear");
    EXPECT_EQ(run, s->with_btf, 0, "traps with BTF still set");
}

static const char *const walks[] = {"debug.blocks", "call.nested", "jcc.taken.rel32",
                                    "loop.loop",    "zero.jmp",    "far.jmp",
                                    "far.call",     "far.ret"};
#define WALKS (sizeof(walks) / sizeof(walks[0]))

CHECK("bts.block_step.branches_only", MUST, "BTF-01 BTF-02", NEED_BTS)
{
    for (unsigned i = 0; i < WALKS; i++) {
        const struct workload *w = trace_find(run, walks[i]);
        struct guest_run r = {.workload = w, .ring = 3, .step = true};
        struct steps s;

        trace_guest(run);
        open_steps(run, &s, true);
        run_steps(run, NULL, &r);
        expect_targets(run, w, &s);
        run_deferred_now(run);
    }
}

/* The same under a trace, whose records the traps must leave alone. */
CHECK("bts.block_step.traced", MUST, "BTF-01 BTF-05 GEN-01", NEED_BTS)
{
    for (unsigned i = 0; i < WALKS; i++) {
        const struct workload *w = trace_find(run, walks[i]);
        struct guest_run r = {.workload = w, .ring = 3, .step = true};
        uint64_t trap = trace_vector_entry(VECTOR_DB), want[TRAPS_MAX];
        size_t count = targets(run, w, want), at = 0, taken = 0;
        struct guest_place place = guest_place(trace_guest(run), 3, 0);
        struct steps s;
        struct trace t;

        trace_open(run, &t, &(struct trace_setup){.records = 4096});
        trace_guest(run);
        open_steps(run, &s, true);
        run_steps(run, &t, &r);
        expect_targets(run, w, &s);
        /* Each branch, and where #DB is recorded its record right behind, nowhere else. */
        for (size_t k = 0; k < t.count; k++) {
            if (t.records[k].to == trap)
                taken++;
            else if (at < count && t.records[k].to == want[at] &&
                     t.records[k].from - place.low < place.high - place.low)
                at++;
            else
                continue;
            EXPECT(run, taken == 0 || taken == at || taken + 1 == at,
                   "%s: record %zu: %zu branches but %zu traps before it", w->name, k, at,
                   taken);
        }
        EXPECT(run, at == count, "%s: only %zu of %zu branches are recorded", w->name, at,
               count);
        EXPECT(run, taken == 0 || taken == count, "%s: %zu of %zu traps are recorded", w->name,
               taken, count);
        trace_expect_sources(&t);
        run_deferred_now(run);
    }
}

CHECK("bts.block_step.without_tf", MUST, "BTF-01", NEED_BTS)
{
    const struct workload *w = trace_find(run, walks[0]);
    struct guest_run r = {.workload = w, .ring = 3};
    struct steps s;
    struct trace t;

    trace_open(run, &t, &(struct trace_setup){.records = 256});
    trace_guest(run);
    open_steps(run, &s, true);
    run_steps(run, &t, &r);
    EXPECT_EQ(run, s.count, 0, "debug exceptions with BTF set and TF clear");
    trace_expect_workload(&t, w, 3, NULL);
}

/* Not set again: the first trap ends a block, the next comes one instruction later. */
CHECK("bts.block_step.cleared", MUST, "BTF-02", NEED_BTS)
{
    const struct workload *w = trace_find(run, walks[0]);
    struct guest_run r = {.workload = w, .ring = 3, .step = true};
    struct decoded d = {0};
    uint64_t want[TRAPS_MAX];
    struct steps s;

    trace_guest(run);
    open_steps(run, &s, false);
    run_steps(run, NULL, &r);
    targets(run, w, want);
    REQUIRE(run, s.count >= 2, "%u debug exceptions", s.count);
    EXPECT_EQ(run, s.rip[0], want[0], "first trap");
    EXPECT_EQ(run, s.with_btf, 0, "traps with BTF still set");
    NEED(run, decode((const uint8_t *)(uintptr_t)s.rip[0], 15, &d) && d.branch == BRANCH_NONE,
         "the block begins with a branch");
    EXPECT_EQ(run, s.rip[1], s.rip[0] + d.length, "second trap, BTF being clear");
}

/* INT n and its IRET, with TF: does the return count as a branch that traps? */
CHECK("bts.block_step.across_interrupt", CHARACTERISE, "BTF-04", NEED_BTS)
{
    const struct workload *w = trace_find(run, "debug.int");
    struct guest_run r = {.workload = w, .ring = 3, .step = true};
    uint64_t behind = 0, target = 0;
    const struct expected_edge *e;
    struct steps s;
    size_t count;

    trace_guest(run);
    open_steps(run, &s, true);
    run_steps(run, NULL, &r);
    e = trace_expected(run, w, 3, 0, &count);
    for (size_t i = 0; i < count; i++) {
        if (e[i].kind == EDGE_INT)
            behind = e[i].from_alt;
        else if (e[i].kind == EDGE_JMP)
            target = e[i].to;
    }
    REQUIRE(run, s.count >= 1, "no debug exception");
    EXPECT(run, s.rip[0] >= behind && s.rip[0] <= target, "first trap at %lx", s.rip[0]);
    run_observe(run, "bts.btf-int",
                s.rip[0] == behind   ? "at-return"
                : s.rip[0] == target ? "next-branch"
                                     : "after-return");
}

/* What the next owner wishes is what the register holds, whatever came in between. */
CHECK("bts.block_step.wishes", MUST, "BTF-02 DCTL-01", NEED_BTS)
{
    static const char *const events[] = {"trap.step_jmp", "pf.read", "fault.gp_address"};

    for (unsigned i = 0; i < 12; i++) {
        struct guest_run r = {.workload = trace_find(run, events[i >> 2]), .ring = 3};
        uint64_t before = i & 1 ? DEBUGCTL_BTF : 0, next = i & 2 ? DEBUGCTL_BTF : 0, now = 0;

        NEED(run, broker_set(BROKER_BLOCK_STEP, before) == DS_OK, "BTF cannot be set");
        guest_run(trace_guest(run), &r); /* its handler of #DB tells the broker nothing */
        broker_set(BROKER_BLOCK_STEP, next);
        broker_raw_read_debugctl(&now);
        EXPECT(run, (now & DEBUGCTL_BTF) == next, "%s between %lx and %lx leaves %lx",
               r.workload->name, before, next, now);
        broker_clear(BROKER_BLOCK_STEP);
    }
}

/* --- WRMSR in the shadow of MOV SS */

struct shadow {
    unsigned traps;
    uint64_t rip;
};

static bool on_shadow(struct trap_frame *frame, void *arg)
{
    struct shadow *shadow = arg;

    if (shadow->traps++ == 0)
        shadow->rip = frame->rip;
    dr6_write(dr6_read() & ~DR6_BS);
    frame->rflags &= ~RFLAGS_TF;
    return true;
}

/*
 * TF, MOV SS, WRMSR: what MOV SS holds back is due behind the WRMSR. Returns whether the trap
 * came there. Raw, because no call may lie between the two instructions.
 */
static bool write_in_shadow(struct run *run, uint64_t from, uint64_t to)
{
    static struct trap_slot before;
    struct shadow shadow = {0, 0};
    uint64_t behind;

    before = trap_set(VECTOR_DB, on_shadow, &shadow);
    run_defer(run, close_steps, &before);
    broker_raw_write_debugctl(from);
    __asm__ volatile("mov %%ss, %%r8d\n\t"
                     "lea 1f(%%rip), %[behind]\n\t"
                     "pushfq\n\t"
                     "pushfq\n\t"
                     "orl %[tf], (%%rsp)\n\t"
                     "popfq\n\t"
                     "mov %%r8d, %%ss\n\t"
                     "wrmsr\n\t"
                     "1: nop\n\t"
                     "popfq"
                     : [behind] "=&r"(behind)
                     : [tf] "i"(RFLAGS_TF), "c"(MSR_IA32_DEBUGCTL), "a"((uint32_t)to),
                       "d"((uint32_t)(to >> 32))
                     : "r8", "memory", "cc");
    broker_resync();
    run_deferred_now(run);
    EXPECT(run, shadow.traps <= 1, "%u debug exceptions", shadow.traps);
    return shadow.traps && shadow.rip == behind;
}

CHECK("bts.block_step.in_shadow", CHARACTERISE, "BTF-06", NEED_BTS)
{
    run_observe(run, "bts.btf-cleared-in-shadow",
                write_in_shadow(run, DEBUGCTL_BTF, 0) ? "trap" : "none");
    run_observe(run, "bts.btf-set-in-shadow",
                write_in_shadow(run, 0, DEBUGCTL_BTF) ? "trap" : "none");
}

/* Nothing but #DB clears BTF: not what a hypervisor carries out for the processor either. */
CHECK("bts.block_step.kept_by_others", MUST, "BTF-01 BTF-02", NEED_BTS)
{
    static const char *const names[] = {"CPUID", "IN", "RDMSR", "RDTSC", "WRMSR of another"};
    uint64_t star = 0;

    msr_read_try(MSR_IA32_STAR, &star);
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        uint64_t debugctl = 0, other;

        NEED(run, broker_set(BROKER_BLOCK_STEP, DEBUGCTL_BTF) == DS_OK, "BTF cannot be set");
        if (i == 0)
            cpu_serialise();
        else if (i == 1)
            io_in8(0x61); /* system control port B: reading changes nothing */
        else if (i == 2)
            msr_read_try(MSR_IA32_STAR, &other);
        else if (i == 3)
            tsc_read();
        else
            msr_write_try(MSR_IA32_STAR, star);
        broker_raw_read_debugctl(&debugctl);
        broker_clear(BROKER_BLOCK_STEP);
        EXPECT(run, debugctl & DEBUGCTL_BTF, "%s clears BTF", names[i]);
    }
}
