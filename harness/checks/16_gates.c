/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Features taken away one by one.
 *
 * Claim: SDM Vol. 3, "BTS and DS Save Area", "64 Bit Format of the DS Save Area",
 * "CPL-Qualified Branch Trace Mechanism". BTS_UNAVAILABLE decides whether BTS and BTINT can be
 * set; without DS there is no IA32_DS_AREA; without DS-CPL there are no filters; without DTES64
 * the 64-bit layout still holds in IA-32e mode.
 * How: only a stand-in processor can lose a feature while it runs. The registers are then asked
 * what they do, and the driver must refuse for the reason that fits. On a real processor each
 * check skips, and the feature it really lacks is looked at by the checks of bts.enum.
 * Wrong if: the stand-in keeps the feature elsewhere: every check looks at CPUID first.
 */
#define CHECK_GROUP "16 bts.gate"
#include "ds/broker.h"
#include "ds/probe.h"
#include "harness/fixture/hidden_feature.h"
#include "harness/fixture/trace.h"
#include "hw/cpuid.h"
#include "hw/msr.h"
#include "hw/string.h"

/* "gp", "drop" or "keep". */
static const char *write_bits(struct run *run, uint64_t bits)
{
    uint64_t back = 0;
    int vector = broker_raw_write_debugctl(bits);

    broker_raw_read_debugctl(&back);
    broker_resync();
    EXPECT(run, vector == 0 || vector == VECTOR_GP, "WRMSR raised vector %d", vector);
    EXPECT(run, vector == 0 || back == 0, "a write that faulted left %lx", back);
    return vector ? "gp" : back & bits ? "keep" : "drop";
}

static void expect_refused(struct run *run, enum ds_probe_result want)
{
    struct ds_probe_report report;

    ds_probe(&report);
    EXPECT(run, report.result == want, "the gate says: %s", report.reason);
}

CHECK("bts.gate.no_bts", CHARACTERISE, "ENUM-04", NEED_BTS)
{
    const char *bts, *btint;

    gate_require(run, "no-bts");
    bts = write_bits(run, DEBUGCTL_BTS);
    btint = write_bits(run, DEBUGCTL_BTINT);
    EXPECT(run, strcmp(bts, "keep") != 0, "BTS is unavailable, but its bit can be set");
    EXPECT(run, strcmp(btint, "keep") != 0, "BTS is unavailable, but BTINT can be set");
    EXPECT(run, strcmp(bts, btint) == 0, "BTS: %s, BTINT: %s", bts, btint);
    run_observe(run, "bts.bts-absent", "%s", bts);
}

/*
 * Software must not take DS alone for BTS: the processor has to say so, and ds/ to believe it.
 */
CHECK("bts.gate.unavailable", MUST, "ENUM-02", NEED_BTS)
{
    uint64_t misc = 0;

    gate_require(run, "no-bts");
    EXPECT(run, cpu_has_ds(), "CPUID hides DS as well");
    NEED(run, msr_read_try(MSR_IA32_MISC_ENABLE, &misc) == 0, "RDMSR faults");
    EXPECT(run, misc & MISC_ENABLE_BTS_UNAVAILABLE,
           "the bits cannot be set, yet BTS_UNAVAILABLE is clear");
    for (uint64_t bit = DEBUGCTL_BTS; bit <= DEBUGCTL_BTINT; bit <<= 1) {
        uint64_t back = 0;
        int vector = broker_raw_write_debugctl(bit);

        broker_raw_read_debugctl(&back);
        broker_resync();
        EXPECT(run, vector != 0 || !(back & bit), "bit %lx can be set, though unavailable",
               bit);
    }
    expect_refused(run, DS_PROBE_BTS_UNAVAILABLE);
}

CHECK("bts.gate.no_ds", CHARACTERISE, "ENUM-01", NEED_BTS)
{
    uint64_t value;
    int read, write;

    gate_require(run, "no-ds");
    EXPECT(run, !cpu_has_ds(), "CPUID still enumerates DS");
    EXPECT(run, !cpu_has_dtes64() && !cpu_has_ds_cpl(), "extensions of DS without DS");
    read = broker_raw_read_ds_area(&value);
    write = broker_raw_write_ds_area(0);
    EXPECT(run, read == write, "IA32_DS_AREA: vector %d for RDMSR, %d for WRMSR", read, write);
    run_observe(run, "bts.ds-area-absent", read ? "gp" : "readable");
    expect_refused(run, DS_PROBE_NO_DS);
}

CHECK("bts.gate.no_ds_cpl", CHARACTERISE, "ENUM-06", NEED_BTS | NEED_DS_CPL)
{
    struct trace t;
    struct bts_config config;
    const char *os, *usr, *why = "";

    trace_open(run, &t, &(struct trace_setup){.records = 16});
    config = (struct bts_config){.base = t.base, .bytes = t.end - t.base, .off_os = true};
    gate_require(run, "no-dscpl");
    EXPECT(run, !cpu_has_ds_cpl(), "CPUID still enumerates DS-CPL");
    os = write_bits(run, DEBUGCTL_BTS_OFF_OS);
    usr = write_bits(run, DEBUGCTL_BTS_OFF_USR);
    EXPECT(run, strcmp(os, "keep") != 0 && strcmp(usr, "keep") != 0,
           "DS-CPL is absent, but a filter can be set: OFF_OS %s, OFF_USR %s", os, usr);
    EXPECT(run, strcmp(os, usr) == 0, "OFF_OS: %s, OFF_USR: %s", os, usr);
    run_observe(run, "bts.off-absent", "%s", os);
    EXPECT(run, bts_setup(&t.bts, t.area, &config, &why) == DS_EOPNOTSUPP,
           "the driver accepts a filter that does not exist");
}

/* Where architectural LBRs replaced the stack, LBR can be written and stays 0. */
CHECK("bts.gate.no_lbr", CHARACTERISE, "DCTL-11", NEED_BTS)
{
    const char *lbr;

    gate_require(run, "no-lbr");
    lbr = write_bits(run, DEBUGCTL_LBR);
    EXPECT(run, strcmp(lbr, "keep") != 0, "LBR can be set, and there is no stack");
    run_observe(run, "bts.lbr-absent", "%s", lbr);
}

CHECK("bts.gate.no_dtes64", MUST, "ENUM-05 REC-01", NEED_BTS)
{
    const struct workload *w = trace_find(run, "zero.jmp");
    struct trace t;

    gate_require(run, "no-dtes64");
    EXPECT(run, !cpu_has_dtes64(), "CPUID still enumerates DTES64");
    trace_open(run, &t, &(struct trace_setup){.records = 64});
    trace_workload(&t, w, 0, NULL);
    trace_expect_workload(&t, w, 0, NULL);
    EXPECT_EQ(run, t.index - t.base, t.count * sizeof(struct bts_record), "bytes of records");
}
