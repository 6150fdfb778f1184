/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compatibility mode: 32-bit code under IA-32e mode.
 *
 * Claim: SDM Vol. 3, "BTS and DS Save Area", "64 Bit Format of the DS Save Area". Inside IA-32e
 *   mode the 64-bit layout holds whatever the code is, DTES64 or not. from and to are linear:
 *   the base of CS is added to EIP. Segment bases have no part in where records go. What the
 *   upper halves of the addresses hold is expected to be 0.
 * How: ring-3 code below 1 MiB runs with a base in CS, DS and SS, by near branches of both
 *   operand sizes, far transfers to 16-bit and 64-bit code and back, INT, faults, a call gate.
 * Wrong if: the base is 0: it is the address of the copy of the code, and asserted.
 */
#define CHECK_GROUP "46 bts.compat"
#include "harness/fixture/hidden_feature.h"
#include "harness/fixture/trace.h"
#include "hw/cpuid.h"
#include "hw/low_memory.h"

static void need_low(struct run *run)
{
    if (low_memory())
        return;
    run_skip(run, "firmware has no free memory below 1 MiB");
    run_stop(run);
}

static bool in_low(const struct guest_place *place, uint64_t address)
{
    return (uint32_t)address - place->low < place->high - place->low;
}

/* What they hold is the question of one check, not of the others. */
static void cut_upper_halves(struct trace *t)
{
    struct guest_place place = guest_place(trace_guest(t->run), GUEST_COMPAT, 0);

    for (size_t i = 0; i < t->count; i++) {
        struct trace_record *r = &t->records[i];

        r->from = in_low(&place, r->from) ? (uint32_t)r->from : r->from;
        r->to = in_low(&place, r->to) ? (uint32_t)r->to : r->to;
    }
}

static void judge(struct run *run, struct trace *t, const char *name, bool off_os, bool off_usr)
{
    const struct workload *w = trace_find(run, name);

    trace_open(run, t,
               &(struct trace_setup){.records = 256, .off_os = off_os, .off_usr = off_usr});
    trace_workload(t, w, GUEST_COMPAT, NULL);
    cut_upper_halves(t);
    if (!trace_expect_workload(t, w, GUEST_COMPAT, NULL))
        run_detail(run, "in %s", name);
}

CHECK("bts.compat.near", MUST, "REC-02 GEN-03", NEED_BTS)
{
    static const char *const names[] = {"compat.near", "compat.call", "compat.size16"};

    need_low(run);
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct trace t;

        judge(run, &t, names[i], false, false);
        run_deferred_now(run);
    }
}

CHECK("bts.compat.far", MUST, "GEN-03 REC-02", NEED_BTS)
{
    static const char *const names[] = {"compat.far", "compat.long", "compat.gate"};

    need_low(run);
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct trace t;

        judge(run, &t, names[i], false, false);
        run_deferred_now(run);
    }
}

CHECK("bts.compat.events", MUST, "GEN-06 GEN-11 REC-02", NEED_BTS)
{
    struct trace t;

    need_low(run);
    judge(run, &t, "compat.events", false, false);
}

/* INTO is one of those whose from is open, as that of INT n, by which all of this ends. */
CHECK("bts.compat.into", CHARACTERISE, "GEN-11", NEED_BTS)
{
    struct compare_result result = {0};
    struct trace t;

    need_low(run);
    trace_open(run, &t, &(struct trace_setup){.records = 64});
    trace_workload(&t, trace_find(run, "compat.into"), GUEST_COMPAT, NULL);
    cut_upper_halves(&t);
    trace_expect_workload(&t, trace_find(run, "compat.into"), GUEST_COMPAT, &result);
    run_observe(run, "bts.into-from", "%s",
                result.primary_seen & result.alternative_seen ? "both"
                : result.primary_seen                         ? "insn"
                                                              : "next");
}

CHECK("bts.compat.sysenter", CHARACTERISE, "GEN-12 REC-02", NEED_BTS)
{
    struct trace t;

    need_low(run);
    if (!cpu_has_long_sysenter()) {
        run_skip(run, "SYSENTER in IA-32e mode is one vendor's");
        return;
    }
    judge(run, &t, "compat.sysenter", false, false);
}

CHECK("bts.compat.filters", MUST, "CPL-02", NEED_BTS | NEED_DS_CPL)
{
    struct trace t;

    need_low(run);
    judge(run, &t, "compat.near", true, false);
    run_deferred_now(run);
    judge(run, &t, "compat.near", false, true);
}

/* Records of 24 bytes even where DTES64 is absent. */
CHECK("bts.compat.layout", MUST, "ENUM-05 REC-01", NEED_BTS)
{
    struct trace t;

    need_low(run);
    gate_close(run, "no-dtes64");
    judge(run, &t, "compat.near", false, false);
    EXPECT_EQ(run, t.index - t.base, t.count * sizeof(struct bts_record), "bytes of records");
}

/* SS, DS and CS all have this base; the buffer does not move with it. */
CHECK("bts.compat.segments", MUST, "MEM-02", NEED_BTS)
{
    struct trace t;

    need_low(run);
    judge(run, &t, "compat.call", false, false);
    EXPECT(run, guest_place(trace_guest(run), GUEST_COMPAT, 0).base != 0,
           "the segments have no base");
}

CHECK("bts.compat.upper_half", CHARACTERISE, "REC-05", NEED_BTS)
{
    struct guest_place place;
    uint64_t upper = 0;
    struct trace t;

    need_low(run);
    trace_open(run, &t, &(struct trace_setup){.records = 256});
    trace_workload(&t, trace_find(run, "compat.near"), GUEST_COMPAT, NULL);
    place = guest_place(trace_guest(run), GUEST_COMPAT, 0);
    for (size_t i = 0; i < t.count; i++)
        upper |= in_low(&place, t.records[i].from) ? t.records[i].from >> 32 : 0;
    EXPECT(run, t.count > 10, "only %zu records", t.count);
    run_observe(run, "bts.upper-half", "%s", upper ? "ones" : "zero");
}
