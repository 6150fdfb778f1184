/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Branches: exact records, in order, nothing more.
 *
 * Claim: SDM Vol. 3, "Branch Trace Store (BTS)", "Last Branch Records". A taken branch is
 *   recorded with the address of its first byte and that of its target; what is not taken, or
 *   is no branch, leaves nothing.
 * How: each workload's labels name its branches; the trace must be those, in ring 3 and in
 *   ring 0, connected, and each source must be a branch.
 * Wrong if: an interrupt that nobody asked for arrives. IF is 0 throughout.
 */
#define CHECK_GROUP "30 bts.branch"
#include "harness/fixture/trace.h"
#include "hw/string.h"

static void judge_in(struct run *run, unsigned ring, const struct workload *w)
{
    struct guest_run r = {.argument = 25};
    struct trace t;

    trace_open(run, &t, &(struct trace_setup){.records = 8192});
    trace_workload(&t, w, ring, &r);
    if (!trace_expect_workload(&t, w, ring, NULL))
        run_detail(run, "in %s, ring %u", w->name, ring);
    run_deferred_now(run);
}

/* A family is every workload whose name begins like this and that its author gave edges. */
static void judge(struct run *run, unsigned ring, const char *family)
{
    size_t length = strlen(family);

    for (size_t i = 0; i < workload_count(); i++) {
        const struct workload *w = workload_at(i);

        if (strncmp(w->name, family, length) == 0 && workload_possible(w, ring) &&
            w->edge_count)
            judge_in(run, ring, w);
    }
}

CHECK("bts.branch.jcc.ring3", MUST, "GEN-01 GEN-02 GEN-03", NEED_BTS)
{
    judge(run, 3, "jcc.");
}

CHECK("bts.branch.jcc.ring0", MUST, "GEN-01 GEN-02 GEN-03", NEED_BTS)
{
    judge(run, 0, "jcc.");
}

CHECK("bts.branch.loop.ring3", MUST, "GEN-02 GEN-03", NEED_BTS)
{
    judge(run, 3, "loop.l");
    judge(run, 3, "loop.j");
    judge(run, 3, "loop.e");
}

CHECK("bts.branch.loop.ring0", MUST, "GEN-02 GEN-03", NEED_BTS)
{
    judge(run, 0, "loop.l");
    judge(run, 0, "loop.j");
    judge(run, 0, "loop.e");
}

CHECK("bts.branch.jmp.ring3", MUST, "GEN-03", NEED_BTS)
{
    judge(run, 3, "jmp.");
}

CHECK("bts.branch.jmp.ring0", MUST, "GEN-03", NEED_BTS)
{
    judge(run, 0, "jmp.");
}

CHECK("bts.branch.call.ring3", MUST, "GEN-03", NEED_BTS)
{
    judge(run, 3, "call.");
}

CHECK("bts.branch.call.ring0", MUST, "GEN-03", NEED_BTS)
{
    judge(run, 0, "call.");
}

/* To the next instruction: taken all the same. */
CHECK("bts.branch.zero_displacement.ring3", MUST, "GEN-04", NEED_BTS)
{
    judge(run, 3, "zero.");
}

CHECK("bts.branch.zero_displacement.ring0", MUST, "GEN-04", NEED_BTS)
{
    judge(run, 0, "zero.");
}

/* The first prefix is the branch's first byte. */
CHECK("bts.branch.prefix.ring3", MUST, "REC-07 GEN-03", NEED_BTS)
{
    judge(run, 3, "prefix.");
}

CHECK("bts.branch.prefix.ring0", MUST, "REC-07 GEN-03", NEED_BTS)
{
    judge(run, 0, "prefix.");
}

/* Branches that end with their page, and branches that lie on both sides of its end. */
CHECK("bts.branch.page_boundary.ring3", MUST, "GEN-03 REC-07", NEED_BTS)
{
    judge(run, 3, "page.");
}

CHECK("bts.branch.page_boundary.ring0", MUST, "GEN-03 REC-07", NEED_BTS)
{
    judge(run, 0, "page.");
}

CHECK("bts.branch.recursion.ring3", MUST, "GEN-03 GEN-20", NEED_BTS)
{
    judge(run, 3, "recursion.");
}

CHECK("bts.branch.recursion.ring0", MUST, "GEN-03 GEN-20", NEED_BTS)
{
    judge(run, 0, "recursion.");
}

/* CMOV, SETcc, REP, serialising instructions, operands that look like branches. */
CHECK("bts.branch.none.ring3", MUST, "GEN-02", NEED_BTS)
{
    judge(run, 3, "straight.");
}

CHECK("bts.branch.none.ring0", MUST, "GEN-02", NEED_BTS)
{
    judge(run, 0, "straight.");
}

/* Far JMP, CALL and RET to the same privilege. */
CHECK("bts.branch.far.ring3", MUST, "GEN-03", NEED_BTS)
{
    judge(run, 3, "far.jmp");
    judge(run, 3, "far.call");
    judge(run, 3, "far.ret");
}

CHECK("bts.branch.far.ring0", MUST, "GEN-03", NEED_BTS)
{
    judge(run, 0, "far.jmp");
    judge(run, 0, "far.call");
    judge(run, 0, "far.ret");
    judge(run, 0, "far.low");
}
