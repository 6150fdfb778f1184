/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The LBR stack beside the trace.
 *
 * Claim: none that binds. SDM Vol. 3, "LBR Stack", "IA32_DEBUGCTL MSR": whether both see the
 *   same branches, whether the stack moves with LBR clear while TR is set, and whether
 *   LBR_SELECT filters the trace, differs by processor and by edition of the manual.
 * How: a few branches with LBR, TR and BTS set; LBR is cleared first, so that the stack stands
 *   still while it is read. Its entries are looked for in the trace, backwards from the newest.
 * Wrong if: flags share the entries with the addresses: only the 48 low bits are compared.
 */
#define CHECK_GROUP "70 bts.lbr"
#include "ds/broker.h"
#include "harness/check/capability.h"
#include "harness/fixture/trace.h"
#include "hw/msr.h"
#include "hw/string.h"

#define DEPTH_MAX 32u
#define ADDRESS   0x0000FFFFFFFFFFFFull

struct lbr {
    unsigned depth, top;
    uint64_t from[DEPTH_MAX], to[DEPTH_MAX];
};

/* Depth is the number of entries that can be read; 0 where there is no stack. */
static void read_stack(struct lbr *lbr)
{
    uint64_t top = 0;

    memset(lbr, 0, sizeof(*lbr));
    if (msr_read_try(MSR_LASTBRANCH_TOS, &top) != 0)
        return;
    while (lbr->depth < DEPTH_MAX &&
           msr_read_try(MSR_LASTBRANCH_0_FROM_IP + lbr->depth, &lbr->from[lbr->depth]) == 0 &&
           msr_read_try(MSR_LASTBRANCH_0_TO_IP + lbr->depth, &lbr->to[lbr->depth]) == 0)
        lbr->depth++;
    lbr->top = lbr->depth ? (unsigned)top % lbr->depth : 0;
}

static bool stack_empty(const struct lbr *lbr)
{
    for (unsigned i = 0; i < lbr->depth; i++)
        if (lbr->from[i] || lbr->to[i])
            return false;
    return true;
}

static void close_lbr(void *arg)
{
    (void)arg;
    msr_write_try(MSR_LBR_SELECT, 0);
    broker_clear(BROKER_LBR);
    broker_resync();
}

struct traced {
    uint64_t stop; /* DEBUGCTL with LBR clear, 0 = leave it */
    unsigned rounds;
    struct lbr lbr;
};

/* Branches, then the stack stops and is read. The reading is traced, and is no matter. */
static uint64_t branches(void *arg)
{
    struct traced *traced = arg;

    for (volatile unsigned i = 0; i < traced->rounds; i++)
        ;
    if (traced->stop)
        broker_raw_write_debugctl(traced->stop);
    read_stack(&traced->lbr);
    return 0;
}

/* A stack that fills when LBR is set: anything less ends the check as a SKIP. */
static void need_stack(struct run *run)
{
    struct traced probe = {.rounds = 4};
    uint64_t debugctl = 0;

    run_defer(run, close_lbr, NULL);
    broker_set(BROKER_LBR, DEBUGCTL_LBR);
    broker_raw_read_debugctl(&debugctl);
    branches(&probe);
    broker_clear(BROKER_LBR);
    if (debugctl & DEBUGCTL_LBR && probe.lbr.depth && !stack_empty(&probe.lbr))
        return;
    run_skip(run,
             debugctl & DEBUGCTL_LBR ? "the LBR stack stays empty" : "LBR reads back as 0");
    run_stop(run);
}

/* How many entries, from the newest back, are the records that end at some place near at. */
static unsigned same_from(const struct trace *t, const struct lbr *lbr, size_t at)
{
    unsigned same = 0;

    for (; same < lbr->depth && same <= at; same++) {
        unsigned entry = (lbr->top + lbr->depth - same) % lbr->depth;
        const struct trace_record *r = &t->records[at - same];

        if ((r->from ^ lbr->from[entry]) & ADDRESS || (r->to ^ lbr->to[entry]) & ADDRESS)
            break;
    }
    return same;
}

CHECK("bts.lbr.same_stream", CHARACTERISE, "LBR-04", NEED_BTS)
{
    struct traced traced = {.stop = DEBUGCTL_TR | DEBUGCTL_BTS, .rounds = 40};
    unsigned best = 0;
    struct trace t;

    need_stack(run);
    trace_open(run, &t, &(struct trace_setup){.records = 2048});
    broker_set(BROKER_LBR, DEBUGCTL_LBR);
    trace_call(&t, branches, &traced);
    broker_clear(BROKER_LBR);
    broker_resync();
    for (size_t at = 0; at < t.count; at++) {
        unsigned same = same_from(&t, &traced.lbr, at);

        best = same > best ? same : best;
    }
    EXPECT(run, t.count > traced.lbr.depth, "%zu records, fewer than the stack holds", t.count);
    run_observe(run, "bts.lbr-depth", "%u", traced.lbr.depth);
    run_observe(run, "bts.lbr-stream", best == traced.lbr.depth ? "same" : "differs");
}

CHECK("bts.lbr.moves_without_lbr", CHARACTERISE, "LBR-02", NEED_BTS)
{
    struct traced traced = {.rounds = 40};
    struct lbr before;
    bool moves, found = false;
    struct trace t;

    need_stack(run);
    trace_open(run, &t, &(struct trace_setup){.records = 2048});
    read_stack(&before);
    trace_call(&t, branches, &traced);
    EXPECT(run, t.count > 40, "only %zu records", t.count);
    moves = memcmp(&before, &traced.lbr, sizeof(before)) != 0;
    for (size_t i = 0; i < t.count && moves && !found; i++)
        found = !((t.records[i].from ^ traced.lbr.from[traced.lbr.top]) & ADDRESS) &&
                !((t.records[i].to ^ traced.lbr.to[traced.lbr.top]) & ADDRESS);
    EXPECT(run, found == moves, "the stack moved, and its newest entry is of no branch traced");
    run_observe(run, "bts.lbr-while-tr", moves ? "moves" : "still");
}

/* One edition of the manual says that LBR_SELECT filters the trace as well. */
CHECK("bts.lbr.select", CHARACTERISE, "CPL-06", NEED_BTS)
{
    const struct workload *w = trace_find(run, "jcc.taken.rel32");
    size_t records[2];
    uint64_t back = 0;

    need_stack(run);
    for (unsigned filtered = 0; filtered < 2; filtered++) {
        struct trace t;

        trace_open(run, &t, &(struct trace_setup){.records = 512});
        if (msr_write_try(MSR_LBR_SELECT, filtered ? LBR_SELECT_JCC : 0) ||
            msr_read_try(MSR_LBR_SELECT, &back) || back != (filtered ? LBR_SELECT_JCC : 0)) {
            run_skip(run, "LBR_SELECT does not read back");
            return;
        }
        trace_workload(&t, w, 0, NULL);
        msr_write_try(MSR_LBR_SELECT, 0);
        records[filtered] = t.count;
        if (!filtered || t.count == records[0])
            trace_expect_workload(&t, w, 0, NULL);
        run_deferred_now(run); /* t is about to go out of scope */
    }
    EXPECT(run, records[1] <= records[0], "the filter added records");
    run_observe(run, "bts.lbr-select", records[1] == records[0] ? "lbr-only" : "bts-too");
}

/*
 * Whoever gives each task a stack of its own writes it back whole, the newest entry's number
 * with it: SDM Vol. 4 lists the register as R/W from the Core microarchitecture on.
 */
CHECK("bts.lbr.top_written", MUST, "LBR-04", NEED_BTS)
{
    struct lbr before, after;

    need_stack(run);
    read_stack(&before);
    for (unsigned top = 0; top < before.depth; top++) {
        EXPECT_EQ(run, msr_write_try(MSR_LASTBRANCH_TOS, top), 0, "vector of the write");
        read_stack(&after);
        EXPECT_EQ(run, after.top, top, "number of the newest entry");
    }
    msr_write_try(MSR_LASTBRANCH_TOS, before.top);
    read_stack(&after);
    EXPECT(run, memcmp(&before, &after, sizeof(before)) == 0, "the entries have changed");
}

/* Some processors clear TR when FREEZE_LBRS_ON_PMI is set. */
CHECK("bts.lbr.freeze_and_tr", CHARACTERISE, "LBR-05", NEED_BTS)
{
    struct trace t;
    uint64_t debugctl = 0;

    if (broker_set(BROKER_FREEZE, DEBUGCTL_FREEZE_LBRS_ON_PMI) != DS_OK) {
        run_skip(run, "FREEZE_LBRS_ON_PMI cannot be set");
        return;
    }
    trace_open(run, &t, &(struct trace_setup){.records = 512});
    NEED(run, bts_start(&t.bts) == DS_OK, "the trace does not start");
    broker_raw_read_debugctl(&debugctl);
    bts_stop(&t.bts);
    broker_clear(BROKER_FREEZE);
    EXPECT(run, debugctl & DEBUGCTL_BTS, "BTS is clear as well");
    run_observe(run, "bts.freeze-lbrs-tr", debugctl & DEBUGCTL_TR ? "kept" : "cleared");
}

/*
 * Intel's P6 family, Pentium M, Core Duo and Core microarchitecture. Signatures of the same
 * numbers are other vendors' as well.
 */
static bool of_excluding_family(const struct cpu_identity *cpu)
{
    return strcmp(cpu->vendor, "GenuineIntel") == 0 && cpu->family == 6 &&
           (cpu->model <= 0x17 || cpu->model == 0x1D);
}

/*
 * From Nehalem on both may be set; on the Core microarchitecture and before they exclude. The
 * signature tells which only on a bare machine: a hypervisor that announces itself may give an
 * old one to something new. Then either is right, and what it does is reported.
 */
CHECK("bts.lbr.beside_tr", MUST, "LBR-01", NEED_BTS)
{
    const struct cpu_identity *cpu = &capability()->cpu;
    const uint64_t pair = DEBUGCTL_LBR | DEBUGCTL_TR;
    bool old = of_excluding_family(cpu), bare = !cpu->hypervisor[0];
    uint64_t alone = 0, both = 0;
    struct trace t;

    run_defer(run, close_lbr, NULL);
    broker_set(BROKER_LBR, DEBUGCTL_LBR);
    broker_raw_read_debugctl(&alone);
    broker_clear(BROKER_LBR);
    if (!(alone & DEBUGCTL_LBR)) {
        run_skip(run, "LBR reads back as 0");
        return;
    }
    trace_open(run, &t, &(struct trace_setup){.records = 512});
    NEED(run, bts_start(&t.bts) == DS_OK, "the trace does not start");
    broker_set(BROKER_LBR, DEBUGCTL_LBR);
    broker_raw_read_debugctl(&both);
    broker_clear(BROKER_LBR);
    bts_stop(&t.bts);
    both &= pair;
    if (old && !bare) {
        EXPECT(run, both != 0, "neither LBR nor TR stays set, model %x", cpu->model);
        run_detail(run, "model %x under a hypervisor: LBR and TR read back as %lx", cpu->model,
                   both);
        return;
    }
    EXPECT(run, (both == pair) == !old, "LBR and TR: %lx, model %x", both, cpu->model);
}
