/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The CPL filters, and the branches that cross between ring 3 and ring 0.
 *
 * Claim: SDM Vol. 3, "CPL-Qualified Branch Trace Mechanism". BTS_OFF_OS suppresses what happens
 * at CPL 0, BTS_OFF_USR what happens at CPL > 0. Which CPL decides about a branch that changes
 * it, the manual does not say.
 * How: each kind of crossing runs under no filter, under OFF_OS and under OFF_USR. What stays
 * on one side is judged; for what crosses, the one rule that explains both filtered traces is
 * reported: the CPL before, after, both or either.
 * Wrong if: a workload takes another way the second time. All of them are deterministic, and
 * the unfiltered trace is compared with their labels first.
 */
#define CHECK_GROUP "42 bts.cpl"
#include "ds/broker.h"
#include "harness/fixture/trace.h"
#include "hw/cpuid.h"
#include "hw/msr.h"

static const char *const crossing_names[] = {"syscall.once", "int80.once",       "fault.ud",
                                             "pf.read",      "interrupt.sysret", "int3.once",
                                             "gate.call",    "sysenter.once"};

/* The last one exists on processors of one vendor. */
static unsigned crossings(void)
{
    return sizeof(crossing_names) / sizeof(crossing_names[0]) -
           (cpu_has_long_sysenter() ? 0 : 1);
}

static void trace_filtered(struct run *run, struct trace *t, const struct workload *w,
                           bool off_os, bool off_usr)
{
    struct guest_run r = {.interrupts = (w->flags & WORKLOAD_INTERRUPTS) != 0};

    trace_open(run, t,
               &(struct trace_setup){.records = 2048,
                                     .off_os = off_os,
                                     .off_usr = off_usr,
                                     .break_rules = off_os && off_usr});
    trace_workload(t, w, 3, &r);
}

static bool in_guest(const struct guest_place *place, uint64_t address)
{
    return address >= place->low && address < place->high;
}

/* OFF_OS: everything that stays in ring 3 is there, nothing that stays in ring 0 is. */
CHECK("bts.cpl.off_os", MUST, "CPL-02", NEED_BTS | NEED_DS_CPL)
{
    static const char *const names[] = {"syscall.branches", "pf.row", "int80.row",
                                        "recursion.mutual", "jcc.taken.rel32"};

    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const struct workload *w = trace_find(run, names[i]);
        struct guest_place place = guest_place(trace_guest(run), 3, 0);
        struct trace t;

        trace_filtered(run, &t, w, true, false);
        for (size_t k = 0; k < t.count; k++)
            EXPECT(run,
                   in_guest(&place, t.records[k].from) || in_guest(&place, t.records[k].to),
                   "%s: record %zu lies wholly in ring 0", names[i], k);
        trace_expect_workload(&t, w, 3, NULL);
        run_deferred_now(run);
    }
}

/* OFF_USR: nothing that stays in ring 3 is there; ring 0 is traced as ever. */
CHECK("bts.cpl.off_usr", MUST, "CPL-02", NEED_BTS | NEED_DS_CPL)
{
    static const char *const names[] = {"syscall.branches", "pf.row",    "recursion.mutual",
                                        "jcc.taken.rel32",  "loop.loop", "far.jmp"};
    struct trace t;

    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct guest_place place = guest_place(trace_guest(run), 3, 0);
        size_t kernel = 0;

        trace_filtered(run, &t, trace_find(run, names[i]), false, true);
        for (size_t k = 0; k < t.count; k++) {
            bool from = in_guest(&place, t.records[k].from);
            bool to = in_guest(&place, t.records[k].to);

            EXPECT(run, !(from && to), "%s: record %zu lies wholly in ring 3", names[i], k);
            kernel += !from && !to;
        }
        EXPECT(run, kernel >= 4, "%s: only %zu records of ring 0", names[i], kernel);
        run_deferred_now(run);
    }
    trace_open(run, &t, &(struct trace_setup){.records = 512, .off_usr = true});
    trace_workload(&t, trace_find(run, "call.nested"), 0, NULL);
    trace_expect_workload(&t, trace_find(run, "call.nested"), 0, NULL);
}

CHECK("bts.cpl.off_both", MUST, "CPL-02", NEED_BTS | NEED_DS_CPL)
{
    for (unsigned i = 0; i < crossings(); i++) {
        struct trace t;

        trace_filtered(run, &t, trace_find(run, crossing_names[i]), true, true);
        EXPECT(run, t.count == 0, "%s: %zu records, want none", crossing_names[i], t.count);
        run_deferred_now(run);
    }
}

/* Infers the rule for one workload; CROSSING_UNKNOWN when no single one explains it. */
static enum crossing_rule infer(struct run *run, const struct workload *w)
{
    struct trace all, os, usr;
    struct compare_result open;
    struct compare_options options = {0};
    struct guest_place place = guest_place(trace_guest(run), 3, 0);
    const struct expected_edge *e;
    enum crossing_rule rule;
    size_t count;

    trace_filtered(run, &all, w, false, false);
    trace_expect_workload(&all, w, 3, &open);
    trace_filtered(run, &os, w, true, false);
    trace_filtered(run, &usr, w, false, true);
    e = trace_expected(run, w, 3, 0, &count);
    options.guest_low = place.low;
    options.guest_high = place.high;
    options.settled_present = open.optional_seen;
    options.settled_absent = open.optional_absent & ~open.optional_seen;
    rule = compare_infer_crossing(e, count, (struct trace_list){os.records, os.count},
                                  (struct trace_list){usr.records, usr.count}, &options);
    run_deferred_now(run);
    return rule;
}

CHECK("bts.cpl.crossing", CHARACTERISE, "CPL-05", NEED_BTS | NEED_DS_CPL)
{
    static const char *const labels[] = {"bts.crossing-syscall",   "bts.crossing-int",
                                         "bts.crossing-fault",     "bts.crossing-pf",
                                         "bts.crossing-interrupt", "bts.crossing-int3",
                                         "bts.crossing-gate",      "bts.crossing-sysenter"};
    enum crossing_rule first = CROSSING_UNKNOWN;
    unsigned known = 0;
    bool same = true;

    for (unsigned i = 0; i < crossings(); i++) {
        enum crossing_rule rule = infer(run, trace_find(run, crossing_names[i]));

        if (i == 0)
            first = rule;
        same = same && rule == first;
        known += rule != CROSSING_UNKNOWN;
        run_observe(run, labels[i], "%s", crossing_rule_name(rule));
    }
    run_observe(run, "bts.crossing", "%s",
                same ? crossing_rule_name(first) : "differs by kind");
    NEED(run, known > 0, "no rule explains any kind of crossing: nothing was found out");
    run_held(run);
}

/*
 * User-only traces have leaked kernel addresses into tools before, and have shown crossings in
 * one direction only: both counted for each filter.
 */
CHECK("bts.cpl.crossing_table", CHARACTERISE, "CPL-05", NEED_BTS | NEED_DS_CPL)
{
    static const char *const names[] = {"bts.crossings-unfiltered", "bts.crossings-off_os",
                                        "bts.crossings-off_usr"};
    struct guest_place place = guest_place(trace_guest(run), 3, 0);
    size_t in[3] = {0}, out[3] = {0};

    for (unsigned f = 0; f < 3; f++) {
        struct trace t;

        trace_filtered(run, &t, trace_find(run, "int80.row"), f == 1, f == 2);
        for (size_t i = 0; i < t.count; i++) {
            bool from = in_guest(&place, t.records[i].from);
            bool to = in_guest(&place, t.records[i].to);

            in[f] += from && !to;
            out[f] += !from && to;
        }
        run_observe(run, names[f], "user-kernel=%zu kernel-user=%zu", in[f], out[f]);
        run_deferred_now(run);
        place = guest_place(trace_guest(run), 3, 0);
    }
    EXPECT(run, in[0] > 0 && out[0] > 0, "the unfiltered trace shows no crossing");
    EXPECT(run, in[1] <= in[0] && out[1] <= out[0] && in[2] <= in[0] && out[2] <= out[0],
           "a filter added crossings");
}

/* The first record after each crossing under a filter: its from must still be a branch. */
CHECK("bts.cpl.sources", MUST, "CPL-05 GEN-03", NEED_BTS | NEED_DS_CPL)
{
    for (unsigned i = 0; i < crossings(); i++) {
        for (unsigned f = 0; f < 2; f++) {
            struct trace t;

            trace_filtered(run, &t, trace_find(run, crossing_names[i]), f == 0, f == 1);
            trace_expect_sources(&t);
            run_deferred_now(run);
        }
    }
}
