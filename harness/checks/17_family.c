/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What one family of processors does otherwise.
 *
 * Claim: SDM Vol. 3, "Last Branch, Interrupt, and Exception Recording (Processors based on
 *   Intel NetBurst Microarchitecture)": in MSR_DEBUGCTLA TR, BTS, BTINT, BTS_OFF_OS and
 *   BTS_OFF_USR are bits 2 to 6, and nothing lies above. "Writing the DS Interrupt Service
 *   Routine": such a processor masks the interrupt on receipt, and software opens it again.
 * How: on a processor of that family, or on a stand-in that is told to be one. The bits are
 *   written raw, for the broker knows the later layout alone.
 * Wrong if: nothing is known; few such machines boot UEFI in 64-bit mode.
 */
#define CHECK_GROUP "17 bts.family"
#include "ds/broker.h"
#include "harness/fixture/hidden_feature.h"
#include "harness/fixture/trace.h"
#include "hw/apic.h"
#include "hw/cpuid.h"
#include "hw/msr.h"
#include "hw/regs.h"

#define TURNS  20u
#define STORES (DEBUGCTLA_TR | DEBUGCTLA_BTS)

static void need_netburst(struct run *run)
{
    uint64_t misc = MISC_ENABLE_BTS_UNAVAILABLE;

    msr_read_try(MSR_IA32_MISC_ENABLE, &misc);
    if (!cpu_is_netburst() || misc & MISC_ENABLE_BTS_UNAVAILABLE)
        gate_require(run, "netburst");
}

static void close_raw(void *arg)
{
    (void)arg;
    broker_raw_write_debugctl(0);
    broker_raw_write_ds_area(0);
    broker_resync();
}

/*
 * TURNS - 1 jumps under these bits; how many of them were stored. The accessor's own branches
 * are stored, too, where bits let them.
 */
static size_t jumps_stored(struct run *run, struct trace *t, uint64_t bits)
{
    const struct bts_record *r = (const struct bts_record *)(uintptr_t)t->base;
    uint64_t from, left = TURNS;
    size_t stored = 0;

    t->area->bts_index = t->base;
    NEED(run, broker_raw_write_ds_area((uint64_t)(uintptr_t)t->area) == 0, "area refused");
    EXPECT(run, broker_raw_write_debugctl(bits) == 0, "bits %lx fault", bits);
    __asm__ volatile("lea 2f(%%rip), %[from]\n\t"
                     "1: dec %[left]\n\t"
                     "2: jnz 1b"
                     : [left] "+r"(left), [from] "=&r"(from)
                     :
                     : "cc", "memory");
    broker_raw_write_debugctl(0);
    for (; (uint64_t)(uintptr_t)r < t->area->bts_index; r++)
        stored += r->from == from;
    return stored;
}

CHECK("bts.family.netburst_bits", MUST, "DCTL-05", NEED_NOTHING)
{
    static const struct {
        uint64_t bits;
        bool stores;
    } sets[] = {
        {STORES, true},
        {DEBUGCTLA_TR, false},
        {DEBUGCTLA_BTS, false},
        {STORES | DEBUGCTLA_BTS_OFF_OS, false},
        {STORES | DEBUGCTLA_BTS_OFF_USR, true},
    };
    uint64_t back = 0;
    struct trace t;

    trace_open(run, &t, &(struct trace_setup){.records = 256});
    need_netburst(run);
    run_defer(run, close_raw, NULL);
    for (unsigned bit = 0; bit < 64; bit++) {
        uint64_t value = 1ull << bit;
        int vector;

        if (value & DEBUGCTLA_TR)
            continue; /* below, with an area */
        vector = broker_raw_write_debugctl(value);
        broker_raw_read_debugctl(&back);
        broker_raw_write_debugctl(0);
        if (value <= DEBUGCTLA_BTS_OFF_USR)
            EXPECT(run, vector == 0 && back == value, "bit %u: vector %d and then %lx", bit,
                   vector, back);
        else
            EXPECT(run, vector == VECTOR_GP, "bit %u is reserved: vector %d", bit, vector);
    }
    for (unsigned i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
        EXPECT_EQ(run, jumps_stored(run, &t, sets[i].bits), sets[i].stores ? TURNS - 1 : 0,
                  "jumps stored");
}

static bool count_pmi(struct trap_frame *frame, void *arg)
{
    (void)frame;
    ++*(unsigned *)arg;
    return true;
}

static void close_entry(void *arg)
{
    apic_lvt_perf_write(*(const uint32_t *)arg & ~LVT_DELIVERY_STATUS);
    trap_set(VECTOR_PMI, NULL, NULL);
}

/* Fills the buffer beyond its threshold; true when that asked for the interrupt. */
static bool asks(struct run *run, struct trace *t, const volatile unsigned *taken)
{
    unsigned before = *taken;

    jumps_stored(run, t, STORES | DEBUGCTLA_BTINT);
    __asm__ volatile("sti\n\tnop\n\tnop\n\tcli" ::: "memory");
    return *taken != before;
}

CHECK("bts.family.netburst_masks", CHARACTERISE, "INT-12", NEED_NOTHING)
{
    static unsigned taken;
    static uint32_t before;
    bool masked;
    struct trace t;

    taken = 0;
    trace_open(
        run, &t,
        &(struct trace_setup){.records = 256, .threshold_records = 8, .interrupt = true});
    need_netburst(run);
    run_defer(run, close_raw, NULL);
    before = apic_lvt_perf_read();
    run_defer(run, close_entry, &before);
    trap_set(VECTOR_PMI, count_pmi, &taken);
    apic_lvt_perf_write(LVT_DELIVERY_FIXED | VECTOR_PMI);
    REQUIRE(run, asks(run, &t, &taken), "no interrupt at the threshold");
    masked = apic_lvt_perf_read() & LVT_MASKED;
    EXPECT(run, masked, "the mask bit is clear behind the interrupt");
    EXPECT(run, asks(run, &t, &taken) == !masked, "the mask bit says nothing");
    apic_lvt_perf_write(LVT_DELIVERY_FIXED | VECTOR_PMI);
    EXPECT(run, asks(run, &t, &taken), "no interrupt after the mask was cleared");
    run_observe(run, "bts.netburst-masks", masked ? "on-receipt" : "never");
}

/* Pentium M never had PEBS: BTS must not hang on it. */
CHECK("bts.family.without_pebs", CHARACTERISE, "ENUM-11", NEED_BTS)
{
    const struct workload *w = trace_find(run, "call.nested");
    const uint64_t bits = DEBUGCTL_BTS | DEBUGCTL_BTINT;
    uint64_t misc = 0, back = 0;
    struct trace t;

    msr_read_try(MSR_IA32_MISC_ENABLE, &misc);
    if (!(misc & MISC_ENABLE_PEBS_UNAVAILABLE) && !gate_pebs(run, "off")) {
        run_skip(run, "the processor has PEBS, and cannot be told to do without");
        return;
    }
    msr_read_try(MSR_IA32_MISC_ENABLE, &misc);
    EXPECT(run, misc & MISC_ENABLE_PEBS_UNAVAILABLE, "PEBS is off and reads as available");
    REQUIRE(run, !(misc & MISC_ENABLE_BTS_UNAVAILABLE), "BTS went together with PEBS");
    EXPECT(run, broker_raw_write_debugctl(bits) == 0, "BTS and BTINT cannot be set");
    broker_raw_read_debugctl(&back);
    broker_resync();
    EXPECT_EQ(run, back, bits, "IA32_DEBUGCTL, without PEBS");
    trace_open(run, &t, &(struct trace_setup){.records = 256});
    trace_workload(&t, w, 0, NULL);
    trace_expect_workload(&t, w, 0, NULL);
}
