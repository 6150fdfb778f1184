/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Enumeration and the gate.
 *
 * Claim: SDM Vol. 3, "BTS and DS Save Area"; Vol. 2, "CPUID"; Vol. 4, "IA32_MISC_ENABLE". DS in
 * CPUID announces IA32_DS_AREA; BTS_UNAVAILABLE decides whether BTS exists; the availability
 * bits are read-only; DTES64 and DS-CPL say which layout and which filters there are.
 * How: what is enumerated is compared with what the registers do and with what one record in
 * memory measures. Whatever may fault goes through the fault-returning accessor.
 * Wrong if: somebody else owns DEBUGCTL while we probe, or firmware toggles IA32_MISC_ENABLE
 * from SMM in between.
 */
#define CHECK_GROUP "10 bts.enum"
#include "ds/broker.h"
#include "harness/check/capability.h"
#include "harness/fixture/hidden_feature.h"
#include "harness/fixture/trace.h"
#include "hw/cpuid.h"
#include "hw/msr.h"
#include "hw/string.h"

#define AVAILABILITY                                                                           \
    (MISC_ENABLE_PERFMON | MISC_ENABLE_BTS_UNAVAILABLE | MISC_ENABLE_PEBS_UNAVAILABLE)

CHECK("bts.enum.ds_area_exists", MUST, "ENUM-01", NEED_BTS)
{
    uint64_t value;

    EXPECT(run, cpu_has_ds(), "BTS works although CPUID does not enumerate DS");
    EXPECT_EQ(run, msr_read_try(MSR_IA32_DS_AREA, &value), 0, "vector of RDMSR IA32_DS_AREA");
}

CHECK("bts.enum.gate", MUST, "ENUM-02", NEED_BTS)
{
    uint64_t misc = 0, debugctl = 0;

    EXPECT_EQ(run, msr_read_try(MSR_IA32_MISC_ENABLE, &misc), 0, "vector of RDMSR");
    EXPECT(run, !(misc & MISC_ENABLE_BTS_UNAVAILABLE), "BTS works although unavailable");
    EXPECT_EQ(run, broker_raw_write_debugctl(DEBUGCTL_BTS | DEBUGCTL_BTINT), 0,
              "vector of WRMSR BTS and BTINT");
    broker_raw_read_debugctl(&debugctl);
    broker_resync();
    EXPECT_EQ(run, debugctl, DEBUGCTL_BTS | DEBUGCTL_BTINT, "BTS and BTINT read back");
}

CHECK("bts.enum.absent_is_consistent", CHARACTERISE, "ENUM-04", NEED_NO_BTS)
{
    uint64_t back = 0;
    int vector = broker_raw_write_debugctl(DEBUGCTL_BTS);

    broker_raw_read_debugctl(&back);
    broker_resync();
    run_observe(run, "bts.absent-reason", "%s", capability()->probe.reason);
    run_observe(run, "bts.absent-write", vector ? "gp" : "drop");
    EXPECT(run, vector == 0 || vector == VECTOR_GP, "WRMSR raised vector %d", vector);
    EXPECT(run, !(back & DEBUGCTL_BTS), "BTS is absent, but its control bit can be set");
}

CHECK("bts.enum.misc_enable_read_only", MUST, "ENUM-03", NEED_BTS)
{
    uint64_t before = 0, after = 0;
    int vector;

    NEED(run, msr_read_try(MSR_IA32_MISC_ENABLE, &before) == 0, "RDMSR faults");
    EXPECT(run, before & MISC_ENABLE_PERFMON, "performance monitoring is not available");
    vector = msr_write_try(MSR_IA32_MISC_ENABLE, before ^ AVAILABILITY);
    msr_read_try(MSR_IA32_MISC_ENABLE, &after);
    EXPECT_EQ(run, after & AVAILABILITY, before & AVAILABILITY, "bits 7, 11, 12");
    run_observe(run, "bts.misc-enable-write", vector ? "gp" : "ignore");
    if (after != before)
        msr_write_try(MSR_IA32_MISC_ENABLE, before);
}

/* A hypervisor that hides half of the feature bits makes software choose the wrong layout. */
CHECK("bts.enum.measured_layout", MUST, "ENUM-05", NEED_BTS)
{
    struct trace t;
    uint64_t moved;

    trace_open(run, &t, &(struct trace_setup){.records = 8});
    trace_workload(&t, trace_find(run, "zero.jmp"), 0, NULL);
    REQUIRE(run, t.count > 0, "no record was stored");
    moved = (t.index - t.base) / t.count;
    EXPECT_EQ(run, moved, sizeof(struct bts_record), "bytes a record in IA-32e mode");
    EXPECT_EQ(run, t.index - t.base, moved * t.count, "index is a whole number of records");
}

CHECK("bts.enum.ds_cpl", MUST, "ENUM-06", NEED_BTS)
{
    const uint64_t off = DEBUGCTL_BTS_OFF_OS | DEBUGCTL_BTS_OFF_USR;
    uint64_t value = 0;
    int vector = broker_raw_write_debugctl(off);

    broker_raw_read_debugctl(&value);
    broker_resync();
    if (cpu_has_ds_cpl()) {
        EXPECT_EQ(run, vector, 0, "vector of WRMSR BTS_OFF_OS and BTS_OFF_USR");
        EXPECT_EQ(run, value & off, off, "BTS_OFF_OS and BTS_OFF_USR read back");
    } else {
        run_observe(run, "bts.off-absent", vector ? "gp" : value & off ? "keep" : "drop");
        run_held(run);
    }
}

CHECK("bts.enum.perf_capabilities", MUST, "ENUM-07", NEED_BTS)
{
    uint64_t before = 0, after = 0;
    int vector = msr_read_try(MSR_IA32_PERF_CAPABILITIES, &before);

    if (!cpu_has_pdcm()) {
        run_observe(run, "bts.pdcm-absent", vector ? "gp" : "readable");
        EXPECT(run, vector == 0 || vector == VECTOR_GP, "RDMSR raised vector %d", vector);
        return;
    }
    EXPECT_EQ(run, vector, 0, "vector of RDMSR IA32_PERF_CAPABILITIES");
    vector = msr_write_try(MSR_IA32_PERF_CAPABILITIES, ~before);
    msr_read_try(MSR_IA32_PERF_CAPABILITIES, &after);
    if (!EXPECT_EQ(run, after, before, "IA32_PERF_CAPABILITIES after a write"))
        msr_write_try(MSR_IA32_PERF_CAPABILITIES, before); /* others read it as well */
    for (unsigned bit = 0; bit < 64; bit++) {
        msr_write_try(MSR_IA32_PERF_CAPABILITIES, before ^ 1ull << bit);
        msr_read_try(MSR_IA32_PERF_CAPABILITIES, &after);
        if (!EXPECT(run, after == before, "bit %u alone can be changed", bit))
            msr_write_try(MSR_IA32_PERF_CAPABILITIES, before);
    }
    run_observe(run, "bts.perf-capabilities-write", vector ? "gp" : "ignore");
}

/* What the register says exists must exist, and the other way round. */
CHECK("bts.enum.capability_fields", MUST, "ENUM-08", NEED_BTS)
{
    uint64_t capabilities = 0, back = 0, top = 0;
    unsigned format;
    bool stack = msr_read_try(MSR_LASTBRANCH_TOS, &top) == 0;

    if (!cpu_has_pdcm()) {
        run_skip(run, "CPUID does not enumerate PDCM");
        return;
    }
    NEED(run, msr_read_try(MSR_IA32_PERF_CAPABILITIES, &capabilities) == 0, "RDMSR faults");
    format = capabilities & PERF_CAP_LBR_FORMAT;
    EXPECT(run, format <= PERF_CAP_LBR_FORMAT_LAST || format == PERF_CAP_LBR_FORMAT,
           "LBR format %u", format);
    EXPECT(run, !stack || format != PERF_CAP_LBR_FORMAT, "an LBR stack, and no format for it");
    broker_raw_write_debugctl(DEBUGCTL_FREEZE_WHILE_SMM);
    broker_raw_read_debugctl(&back);
    broker_resync();
    EXPECT(run, !(capabilities & PERF_CAP_FREEZE_SMM) == !(back & DEBUGCTL_FREEZE_WHILE_SMM),
           "IA32_PERF_CAPABILITIES is %lx, and FREEZE_WHILE_SMM reads back as %lx",
           capabilities, back);
    if (capabilities & PERF_CAP_FULL_WIDTH)
        EXPECT_EQ(run, msr_read_try(MSR_IA32_A_PMC0, &back), 0, "vector of RDMSR IA32_A_PMC0");
    run_observe(run, "bts.lbr-format", "%u", format);
}

/* Integrity checkers take a bit that moves for an attack; so do we. */
CHECK("bts.enum.misc_enable_stable", MUST, "ENUM-03", NEED_BTS)
{
    uint64_t before = 0, during = 0, after = 0;
    struct trace t;

    NEED(run, msr_read_try(MSR_IA32_MISC_ENABLE, &before) == 0, "RDMSR faults");
    trace_open(run, &t, &(struct trace_setup){.records = 64});
    NEED(run, bts_start(&t.bts) == DS_OK, "the trace does not start");
    msr_read_try(MSR_IA32_MISC_ENABLE, &during);
    bts_stop(&t.bts);
    msr_read_try(MSR_IA32_MISC_ENABLE, &after);
    EXPECT_EQ(run, during, before, "IA32_MISC_ENABLE while tracing");
    EXPECT_EQ(run, after, before, "IA32_MISC_ENABLE after tracing");
    EXPECT_EQ(run, before, capability()->probe.misc_enable, "IA32_MISC_ENABLE since the start");
}

/* Seen in the field: PEBS accepted where it was said to be absent, and then not working. */
CHECK("bts.enum.pebs_unavailable", MUST, "ENUM-02", NEED_BTS)
{
    uint64_t misc = 0, back = 0;
    int vector;

    gate_pebs(run, "off");
    NEED(run, msr_read_try(MSR_IA32_MISC_ENABLE, &misc) == 0, "RDMSR faults");
    if (!(misc & MISC_ENABLE_PEBS_UNAVAILABLE)) {
        run_skip(run, "PEBS is available");
        return;
    }
    vector = msr_write_try(MSR_IA32_PEBS_ENABLE, 1);
    msr_read_try(MSR_IA32_PEBS_ENABLE, &back);
    EXPECT(run, vector == VECTOR_GP || (vector == 0 && back == 0),
           "PEBS is unavailable: vector %d, and IA32_PEBS_ENABLE is %lx", vector, back);
    msr_write_try(MSR_IA32_PEBS_ENABLE, 0);
}
