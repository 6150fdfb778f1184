/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rings 1 and 2, and the ways between rings that are no events.
 *
 * Claim: SDM Vol. 3, "CPL-Qualified Branch Trace Mechanism": the filters know CPL 0 and CPL >
 * 0, so rings 1 and 2 count as user. A far CALL through a call gate and a far RET to an outer
 *   ring are taken branches like others. Whether SYSENTER, SYSEXIT and IRET leave records, and
 *   which CPL filters what crosses, is open.
 * How: ordinary workloads run in rings 1 and 2 under either filter. A chain through a call gate
 *   visits rings 3, 0, 1, 0, 2, 0, 3; its labels name both CPLs of each transfer.
 * Wrong if: SMEP is on: the chain's ring-1 and ring-2 code lies on user pages.
 */
#define CHECK_GROUP "44 bts.ring"
#include "harness/fixture/trace.h"
#include "hw/cpuid.h"

static void trace_ring(struct run *run, struct trace *t, const char *name, unsigned ring,
                       bool off_os, bool off_usr)
{
    trace_open(run, t,
               &(struct trace_setup){.records = 512, .off_os = off_os, .off_usr = off_usr});
    trace_workload(t, trace_find(run, name), ring, NULL);
}

static size_t records_inside(struct trace *t, unsigned ring)
{
    struct guest_place place = guest_place(trace_guest(t->run), ring, 0);
    size_t inside = 0;

    for (size_t i = 0; i < t->count; i++)
        inside += t->records[i].from - place.low < place.high - place.low &&
                  t->records[i].to - place.low < place.high - place.low;
    return inside;
}

CHECK("bts.ring.branches", MUST, "GEN-03 CPL-03", NEED_BTS)
{
    static const char *const names[] = {"call.nested", "jcc.taken.rel32", "jmp.rel32"};

    for (unsigned ring = 1; ring <= 2; ring++)
        for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
            struct trace t;

            trace_ring(run, &t, names[i], ring, false, false);
            trace_expect_workload(&t, trace_find(run, names[i]), ring, NULL);
            run_deferred_now(run);
        }
}

CHECK("bts.ring.filters", MUST, "CPL-03", NEED_BTS | NEED_DS_CPL)
{
    for (unsigned ring = 1; ring <= 2; ring++) {
        const struct workload *w = trace_find(run, "call.nested");
        struct trace t;

        trace_ring(run, &t, w->name, ring, true, false);
        trace_expect_workload(&t, w, ring, NULL);
        run_deferred_now(run);
        trace_ring(run, &t, w->name, ring, false, true);
        EXPECT(run, records_inside(&t, ring) == 0, "ring %u: %zu records under BTS_OFF_USR",
               ring, records_inside(&t, ring));
        trace_expect_workload(&t, w, ring, NULL);
        run_deferred_now(run);
    }
}

CHECK("bts.ring.gate", MUST, "GEN-03", NEED_BTS)
{
    static const char *const names[] = {"gate.call", "gate.rings", "gate.iret"};

    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct trace t;

        trace_ring(run, &t, names[i], 3, false, false);
        trace_expect_workload(&t, trace_find(run, names[i]), 3, NULL);
        run_deferred_now(run);
    }
}

/* Between the crossings: a JMP in ring 1, a CALL in ring 2, the last RET in ring 3. */
CHECK("bts.ring.gate_filters", MUST, "CPL-03", NEED_BTS | NEED_DS_CPL)
{
    for (unsigned f = 0; f < 2; f++) {
        struct trace t;

        trace_ring(run, &t, "gate.rings", 3, f == 0, f == 1);
        EXPECT_EQ(run, records_inside(&t, 3), f == 0 ? 3 : 0,
                  "records within rings 1, 2 and 3");
        trace_expect_workload(&t, trace_find(run, "gate.rings"), 3, NULL);
        run_deferred_now(run);
    }
}

static const char *presence(const struct compare_result *r, enum edge_kind kind)
{
    bool seen = r->optional_seen >> kind & 1, absent = r->optional_absent >> kind & 1;

    return seen && absent ? "sometimes" : seen ? "yes" : absent ? "no" : "?";
}

CHECK("bts.ring.sysenter", CHARACTERISE, "GEN-12", NEED_BTS)
{
    static const char *const names[] = {"sysenter.once", "sysenter.branches"};
    struct compare_result result = {0};

    if (!cpu_has_long_sysenter()) {
        run_skip(run, "SYSENTER in IA-32e mode is one vendor's");
        return;
    }
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct trace t;

        trace_ring(run, &t, names[i], 3, false, false);
        trace_expect_workload(&t, trace_find(run, names[i]), 3, &result);
        run_deferred_now(run);
    }
    run_observe(run, "bts.sysenter-record", "%s", presence(&result, EDGE_SYSENTER));
    run_observe(run, "bts.sysexit-record", "%s", presence(&result, EDGE_SYSEXIT));
}
