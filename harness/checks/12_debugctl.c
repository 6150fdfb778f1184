/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes of IA32_DEBUGCTL.
 *
 * Claim: SDM Vol. 3, "IA32_DEBUGCTL MSR"; Vol. 2, "WRMSR". Supported bits read back; a reserved
 * bit faults with #GP(0) and changes nothing; outside ring 0 the access faults; WRMSR
 * serialises.
 * How: each bit alone through the broker's raw probe, with TR left out unless DS_AREA is valid;
 * the register is read after every write.
 * Wrong if: a bit that is reserved here has got a meaning on a later processor: then CPUID
 * enumerates it and the bit belongs to the conditional ones.
 */
#define CHECK_GROUP "12 bts.debugctl"
#include "ds/broker.h"
#include "harness/fixture/hidden_feature.h"
#include "harness/fixture/trace.h"
#include "hw/cpuid.h"
#include "hw/msr.h"

#define PLAIN_BITS (DEBUGCTL_BTS | DEBUGCTL_BTINT)
/* Bits whose existence depends on a feature: what a write does without it is open. */
#define CONDITIONAL_BITS                                                                       \
    (DEBUGCTL_BUS_LOCK_DETECT | DEBUGCTL_BTS_OFF_OS | DEBUGCTL_BTS_OFF_USR |                   \
     DEBUGCTL_FREEZE_LBRS_ON_PMI | DEBUGCTL_FREEZE_PERFMON_ON_PMI | DEBUGCTL_UNCORE_PMI |      \
     DEBUGCTL_FREEZE_WHILE_SMM | DEBUGCTL_RTM_DEBUG)
#define KNOWN_BITS (PLAIN_BITS | CONDITIONAL_BITS | DEBUGCTL_LBR | DEBUGCTL_BTF | DEBUGCTL_TR)

/* Writes value, reads back, leaves the register as the broker wants it. Returns the vector. */
static int probe(uint64_t value, uint64_t *back)
{
    int vector = broker_raw_write_debugctl(value);

    *back = 0;
    broker_raw_read_debugctl(back);
    broker_resync();
    return vector;
}

CHECK("bts.debugctl.bits_read_back", MUST, "DCTL-01 ENUM-10", NEED_BTS)
{
    static const uint64_t sets[] = {DEBUGCTL_BTS, DEBUGCTL_BTINT, DEBUGCTL_BTF, PLAIN_BITS,
                                    PLAIN_BITS | DEBUGCTL_BTF};
    uint64_t back;

    for (unsigned i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
        EXPECT(run, probe(sets[i], &back) == 0, "setting %lx faults", sets[i]);
        EXPECT_EQ(run, back, sets[i], "IA32_DEBUGCTL");
    }
    EXPECT_EQ(run, broker_shadow(), 0, "the broker's view after the probes");
}

/* TR only with a valid area and room in the buffer: anything else can take a machine down. */
CHECK("bts.debugctl.tr_reads_back", MUST, "DCTL-01", NEED_BTS)
{
    uint64_t during = 0, after = 0;
    struct trace t;

    trace_open(run, &t, &(struct trace_setup){.records = 256});
    NEED(run, bts_start(&t.bts) == DS_OK, "the trace does not start");
    broker_raw_read_debugctl(&during);
    bts_stop(&t.bts);
    broker_raw_read_debugctl(&after);
    EXPECT_EQ(run, during, DEBUGCTL_TR | DEBUGCTL_BTS, "IA32_DEBUGCTL while tracing");
    EXPECT_EQ(run, after, 0, "IA32_DEBUGCTL after the trace");
}

/* Bits that exist, and two that do not: none of them makes a reserved bit good. */
static const uint64_t companions[] = {PLAIN_BITS,
                                      DEBUGCTL_BTS,
                                      DEBUGCTL_BTINT,
                                      DEBUGCTL_BTF,
                                      DEBUGCTL_LBR,
                                      PLAIN_BITS | DEBUGCTL_BTS_OFF_OS,
                                      PLAIN_BITS | DEBUGCTL_BTS_OFF_USR,
                                      DEBUGCTL_FREEZE_LBRS_ON_PMI |
                                          DEBUGCTL_FREEZE_PERFMON_ON_PMI,
                                      DEBUGCTL_FREEZE_LBRS_ON_PMI,
                                      DEBUGCTL_FREEZE_PERFMON_ON_PMI,
                                      1ull << 3,
                                      1ull << 63};

CHECK("bts.debugctl.reserved_bits", MUST, "DCTL-02", NEED_BTS)
{
    uint64_t back;

    for (unsigned bit = 0; bit < 64; bit++) {
        uint64_t value = 1ull << bit;
        uint32_t code = ~0u;

        if (value & KNOWN_BITS)
            continue;
        broker_raw_write_debugctl(DEBUGCTL_BTINT);
        EXPECT(run, msr_write_error(MSR_IA32_DEBUGCTL, value, &code) == VECTOR_GP,
               "bit %u is reserved, but setting it does not raise #GP", bit);
        EXPECT_EQ(run, code, 0, "error code of #GP for a reserved bit");
        broker_raw_read_debugctl(&back);
        EXPECT(run, back == DEBUGCTL_BTINT, "bit %u: the register changed to %lx", bit, back);
        /* One bad bit spoils a write that is otherwise good. */
        broker_resync();
        for (unsigned i = 0; i < sizeof(companions) / sizeof(companions[0]); i++)
            EXPECT(run, probe(companions[i] | value, &back) == VECTOR_GP && back == 0,
                   "bit %u with bits %lx: no #GP, or some are set: %lx", bit, companions[i],
                   back);
    }
}

/* The same beside TR, with room for what a processor that takes the write would store. */
CHECK("bts.debugctl.reserved_while_tracing", MUST, "DCTL-02", NEED_BTS)
{
    struct trace t;

    trace_open(run, &t, &(struct trace_setup){0});
    NEED(run, bts_start(&t.bts) == DS_OK, "the trace does not start");
    for (unsigned bit = 0; bit < 64; bit++) {
        uint64_t value = 1ull << bit, back = 0;
        int vector;

        if (value & KNOWN_BITS)
            continue;
        vector = broker_raw_write_debugctl(DEBUGCTL_TR | DEBUGCTL_BTS | value);
        broker_raw_read_debugctl(&back);
        if (!EXPECT(run, vector == VECTOR_GP && back == (DEBUGCTL_TR | DEBUGCTL_BTS),
                    "bit %u while tracing: vector %d, register %lx", bit, vector, back))
            break;
    }
    bts_stop(&t.bts);
}

CHECK("bts.debugctl.conditional_bits", CHARACTERISE, "DCTL-02 DCTL-11", NEED_BTS)
{
    static const struct {
        uint64_t bit;
        const char *name;
    } bits[] = {
        {DEBUGCTL_LBR, "bts.lbr-bit"},
        {DEBUGCTL_BUS_LOCK_DETECT, "bts.bit-2"},
        {DEBUGCTL_FREEZE_LBRS_ON_PMI, "bts.freeze-lbrs"},
        {DEBUGCTL_FREEZE_PERFMON_ON_PMI, "bts.freeze-perfmon"},
        {DEBUGCTL_UNCORE_PMI, "bts.bit-13"},
        {DEBUGCTL_RTM_DEBUG, "bts.bit-15"},
    };
    uint64_t back;

    for (unsigned i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
        int vector = probe(bits[i].bit, &back);

        run_observe(run, bits[i].name, vector ? "gp" : back & bits[i].bit ? "keep" : "drop");
        /* Whatever the answer is, no other bit may come with it. */
        EXPECT(run, (vector == 0 || vector == VECTOR_GP) && (back & ~bits[i].bit) == 0,
               "%s: vector %d, register %lx", bits[i].name, vector, back);
    }
}

/* The one bit that IA32_PERF_CAPABILITIES announces; without that the answer is open. */
CHECK("bts.debugctl.freeze_smm_bit", CHARACTERISE, "DCTL-02 ENUM-08", NEED_BTS)
{
    const uint64_t bit = DEBUGCTL_FREEZE_WHILE_SMM;
    uint64_t back, capabilities = 0;
    int vector = probe(bit, &back);

    msr_read_try(MSR_IA32_PERF_CAPABILITIES, &capabilities);
    if (capabilities & PERF_CAP_FREEZE_SMM) {
        EXPECT(run, vector == 0 && back == bit, "announced: vector %d and then %lx", vector,
               back);
        if (!gate_close(run, "no-freeze-smm"))
            return;
        vector = probe(bit, &back);
    }
    run_observe(run, "bts.bit-14", vector ? "gp" : back ? "keep" : "drop");
    EXPECT(run, (vector == 0 || vector == VECTOR_GP) && (back & ~bit) == 0,
           "vector %d, register %lx", vector, back);
}

/* Both FREEZE bits come with performance monitoring: enumerated means that they read back. */
CHECK("bts.debugctl.freeze_bits", CHARACTERISE, "DCTL-02 ENUM-10", NEED_BTS)
{
    const uint64_t freeze = DEBUGCTL_FREEZE_LBRS_ON_PMI | DEBUGCTL_FREEZE_PERFMON_ON_PMI;
    bool enumerated = cpu_has_pdcm() && cpu_perfmon_version() > 1;
    uint64_t back;
    int vector = probe(freeze, &back);

    if (enumerated)
        EXPECT(run, vector == 0 && back == freeze, "enumerated: vector %d and then %lx", vector,
               back);
    if (enumerated && gate_close(run, "no-perfmon"))
        vector = probe(freeze, &back);
    if (!cpu_has_pdcm() || cpu_perfmon_version() < 2)
        run_observe(run, "bts.freeze-absent", vector ? "gp" : back ? "keep" : "drop");
    EXPECT(run, (vector == 0 || vector == VECTOR_GP) && (back & ~freeze) == 0,
           "vector %d, register %lx", vector, back);
}

/* A guest that could set any bit once locked up its host: fault or faithful, nothing else. */
CHECK("bts.debugctl.fault_or_faithful", MUST, "DCTL-01 DCTL-02", NEED_BTS)
{
    uint64_t back;

    for (unsigned bit = 0; bit < 64; bit++) {
        uint64_t value = 1ull << bit;
        int vector;

        /* LBR may be dropped where architectural LBRs replace it; TR has its own check. */
        if (value & (DEBUGCTL_TR | DEBUGCTL_LBR))
            continue;
        vector = probe(value, &back);
        EXPECT(run, vector == VECTOR_GP || (vector == 0 && back == value),
               "bit %u: vector %d and then %lx", bit, vector, back);
    }
}

/* Nothing but the call and the return lies between the two WRMSRs. */
static uint64_t nothing(void *arg)
{
    (void)arg;
    return 0;
}

CHECK("bts.debugctl.serialising", MUST, "DCTL-04 MEM-12", NEED_BTS)
{
    unsigned rounds = run_count(run, 10000);
    struct trace t;

    trace_open(run, &t, &(struct trace_setup){.records = 16});
    for (unsigned i = 0; i < rounds; i++) {
        trace_call(&t, nothing, NULL);
        REQUIRE(run, t.count == 2, "round %u: %zu records, want the call and the return", i,
                t.count);
        REQUIRE(run,
                t.records[0].from == (uint64_t)(uintptr_t)ds_bracket_call &&
                    t.records[0].to == (uint64_t)(uintptr_t)nothing,
                "round %u: the first record is not the first branch", i);
        REQUIRE(run, t.records[1].to == (uint64_t)(uintptr_t)ds_bracket_return,
                "round %u: the last record is not the return", i);
    }
}

/* Read at once, and again behind an instruction that serialises. */
CHECK("bts.debugctl.visible", CHARACTERISE, "MEM-12", NEED_BTS)
{
    const volatile struct bts_record *last;
    uint64_t early, late;
    struct trace t;

    trace_open(run, &t, &(struct trace_setup){.records = 16});
    last = (const volatile struct bts_record *)(uintptr_t)t.base + 1;
    NEED(run, bts_bracket(&t.bts, nothing, NULL, NULL) == DS_OK, "the trace is refused");
    early = last->to;
    cpu_serialise();
    late = last->to;
    EXPECT_EQ(run, late, (uint64_t)(uintptr_t)ds_bracket_return, "to of the last record");
    run_observe(run, "bts.last-record", early == late ? "at-once" : "late");
}
