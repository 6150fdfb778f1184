/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Performance counters: what is enumerated, and what their registers take.
 *
 * Claim: SDM Vol. 3, "Architectural Performance Monitoring": CPUID leaf 0AH says how many
 *   counters there are and how wide; every one of them has its registers. IA32_PMCx takes 32
 *   bits and extends the sign, IA32_A_PMCx the whole width. Reserved bits of the controls
 *   fault. RDPMC reads the same counters, outside ring 0 only while CR4.PCE is set.
 * How: each enumerated counter is written and read; each bit of the controls is tried, alone.
 *   Nothing counts meanwhile.
 * Wrong if: a counter is in somebody else's hands: firmware's interrupts are off.
 */
#define CHECK_GROUP "73 pmc.registers"
#include "harness/check/capability.h"
#include "harness/fixture/counting.h"
#include "harness/fixture/hidden_feature.h"
#include "hw/regs.h"

#define PATTERN 0x123456789ABCull

/* The next enumerated counter from here on; PMC_NONE when there is none. */
#define PMC_NONE (PMC_FIXED + PMC_FIXED_MAX)
static unsigned next_counter(const struct pmc *pmc, unsigned counter)
{
    while (counter < PMC_NONE && !pmc_exists(pmc, counter))
        counter++;
    return counter;
}

#define EACH_COUNTER(pmc, counter)                                                             \
    for (unsigned counter = next_counter(pmc, 0); counter != PMC_NONE;                         \
         counter = next_counter(pmc, counter + 1))

/* --- enumeration */

CHECK("pmc.enum.leaf", MUST, "PMC-01", NEED_PMC)
{
    const struct cpu_perfmon *perfmon = &capability()->pmc.perfmon;

    EXPECT(run, perfmon->general > 0, "no general counter");
    EXPECT(run, perfmon->general_bits >= 32 && perfmon->general_bits <= 64,
           "general counters of %u bits", perfmon->general_bits);
    EXPECT(run, !perfmon->fixed || (perfmon->fixed_bits >= 32 && perfmon->fixed_bits <= 64),
           "fixed counters of %u bits", perfmon->fixed_bits);
    EXPECT(run, perfmon->event_bits > PMC_INSTRUCTIONS && perfmon->event_bits <= 32,
           "%u bits for events", perfmon->event_bits);
    run_observe(run, "pmc.counters", "%u general, %u fixed, version %u", perfmon->general,
                perfmon->fixed, perfmon->version);
    run_observe(run, "pmc.events-absent", "%x", perfmon->events_absent);
}

/* Every counter that is announced has all its registers. */
CHECK("pmc.enum.exist", MUST, "PMC-01", NEED_PMC)
{
    uint64_t value = 0, control = 0;
    struct pmc pmc;

    pmc_identify(&pmc);
    EXPECT_EQ(run, pmc_global_control_read(&control), 0,
              "vector of RDMSR IA32_PERF_GLOBAL_CTRL");
    EXPECT_EQ(run, pmc_global_control_write(0), 0, "vector of WRMSR IA32_PERF_GLOBAL_CTRL");
    EACH_COUNTER(&pmc, counter)
    {
        EXPECT(run, pmc_read(counter, &value) == 0, "counter %u cannot be read", counter);
        EXPECT(run, pmc_write_legacy(counter, counter + 1) == 0, "counter %u cannot be written",
               counter);
        if (counter < PMC_FIXED)
            EXPECT(run, pmc_select_read(counter, &value) == 0, "counter %u has no control",
                   counter);
    }
    EACH_COUNTER(&pmc, counter)
    {
        EXPECT(run, pmc_read(counter, &value) == 0 && value == counter + 1,
               "counter %u reads as %lx", counter, value);
        pmc_write_legacy(counter, 0);
    }
    EXPECT(run, pmc_global_control_write(pmc_all(&pmc)) == 0,
           "not every counter can be enabled");
    pmc_global_control_write(control);
    /* Beyond them: a guest of a hypervisor may find one that the machine has. */
    run_observe(run, "pmc.beyond", pmc_read(pmc.perfmon.general, &value) ? "gp" : "readable");
}

/* Absent or present as a whole: half of it would have drivers fault. */
CHECK("pmc.enum.absent", MUST, "PMC-01", NEED_PMC)
{
    struct cpu_perfmon perfmon;
    uint64_t value = 0;

    gate_require(run, "no-perfmon");
    cpu_perfmon(&perfmon);
    EXPECT_EQ(run, perfmon.version, 0, "version");
    EXPECT(run, pmc_read(0, &value) == VECTOR_GP && pmc_select_read(0, &value) == VECTOR_GP,
           "a counter that is not enumerated can be read");
    EXPECT(run, pmc_global_control_read(&value) == VECTOR_GP,
           "the global control can be read without a version");
}

/* Without PDCM the register does not exist, and nobody may ask it. */
CHECK("pmc.enum.capabilities_gate", MUST, "ENUM-07", NEED_PMC)
{
    struct pmc with, without;

    pmc_identify(&with);
    EXPECT(run, with.has_capabilities == cpu_has_pdcm(),
           "PDCM is %u, and IA32_PERF_CAPABILITIES can%s be read", cpu_has_pdcm(),
           with.has_capabilities ? "" : "not");
    if (!gate_close(run, "no-pdcm"))
        return;
    pmc_identify(&without);
    EXPECT(run, !without.has_capabilities && !without.full_width && !without.pebs_format,
           "a capability was read without PDCM");
    run_deferred_now(run);
}

CHECK("pmc.enum.full_width", MUST, "ENUM-08", NEED_PMC)
{
    struct counting c;

    counting_open(run, &c);
    for (unsigned counter = 0; counter < c.pmc.perfmon.general && counter < PMC_GENERAL_MAX;
         counter++)
        EXPECT_EQ(run, pmc_write_full(counter, 0), c.pmc.full_width ? 0 : VECTOR_GP,
                  "vector of WRMSR IA32_A_PMCx");
    /* Fields of a facility that is not there must say nothing. */
    EXPECT(run, !c.pmc.pebs_baseline || c.pmc.pebs_format >= 4,
           "the baseline bit with record format %u", c.pmc.pebs_format);
}

/* --- what a counter holds */

CHECK("pmc.counter.width", MUST, "PMC-03 PMC-01", NEED_PMC)
{
    struct counting c;

    counting_open(run, &c);
    EACH_COUNTER(&c.pmc, counter)
    {
        if (counter < PMC_FIXED && !c.pmc.full_width)
            continue;
        pmc_write(&c.pmc, counter, ~0ull);
        EXPECT_EQ(run, counting_read(&c, counter), pmc_mask(&c.pmc, counter),
                  "a counter set to its last value");
        pmc_write(&c.pmc, counter, PATTERN);
        EXPECT_EQ(run, counting_read(&c, counter), PATTERN & pmc_mask(&c.pmc, counter),
                  "a counter set to a pattern");
        EXPECT_EQ(run, counting_status(&c), 0, "status after a write");
    }
    run_held(run);
}

CHECK("pmc.counter.legacy_write", MUST, "PMC-03", NEED_PMC)
{
    static const uint32_t values[] = {0, 1, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF};
    struct counting c;

    counting_open(run, &c);
    for (unsigned counter = 0; pmc_exists(&c.pmc, counter); counter++)
        for (unsigned i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
            uint64_t extended = (uint64_t)(int32_t)values[i];

            EXPECT_EQ(run, pmc_write_legacy(counter, extended), 0, "vector of WRMSR IA32_PMCx");
            EXPECT_EQ(run, counting_read(&c, counter), extended & pmc_mask(&c.pmc, counter),
                      "IA32_PMCx after 32 bits were written");
        }
}

/* Beyond the width nothing can be held, and the write says so. */
CHECK("pmc.counter.too_wide", MUST, "PMC-03", NEED_PMC)
{
    struct counting c;
    uint64_t beyond;

    counting_open(run, &c);
    if (!c.pmc.full_width) {
        run_skip(run, "IA32_PERF_CAPABILITIES announces no write in full width");
        return;
    }
    beyond = pmc_mask(&c.pmc, 0) + 1;
    for (unsigned counter = 0; pmc_exists(&c.pmc, counter); counter++) {
        pmc_write_full(counter, PATTERN);
        EXPECT_EQ(run, pmc_write_full(counter, beyond), VECTOR_GP,
                  "vector of a write beyond the width");
        EXPECT_EQ(run, counting_read(&c, counter), PATTERN & pmc_mask(&c.pmc, counter),
                  "the counter after a write that faulted");
    }
}

/* --- reserved bits of the controls */

/* Writes each bit that is in mask, alone; the register must keep what it held. */
static void expect_reserved(struct run *run, const char *name, uint64_t mask,
                            int (*write)(uint64_t), int (*read)(uint64_t *))
{
    uint64_t before = 0, after = 0;

    NEED(run, read(&before) == 0, "%s cannot be read", name);
    for (unsigned bit = 0; bit < 64; bit++) {
        if (!(mask >> bit & 1))
            continue;
        EXPECT(run, write(before | 1ull << bit) == VECTOR_GP, "%s: bit %u is taken", name, bit);
        read(&after);
        EXPECT(run, after == before, "%s: %lx after a write that faulted", name, after);
        write(before);
    }
    run_held(run);
}

static unsigned selected; /* the counter whose control is tried */

static int select_write(uint64_t value)
{
    return pmc_select_write(selected, value);
}

static int select_read(uint64_t *value)
{
    return pmc_select_read(selected, value);
}

/* Later versions took 47:32 into use, bit by bit. */
CHECK("pmc.control.select_reserved", MUST, "PMC-02", NEED_PMC)
{
    struct counting c;

    counting_open(run, &c);
    for (selected = 0; pmc_exists(&c.pmc, selected); selected++)
        expect_reserved(run, "IA32_PERFEVTSELx",
                        c.pmc.perfmon.version <= 4 && !c.pmc.pebs_baseline
                            ? 0xFFFFFFF800000000ull
                            : 0xFFFF000000000000ull,
                        select_write, select_read);
}

CHECK("pmc.control.fixed_reserved", MUST, "PMC-02", NEED_PMC)
{
    struct counting c;
    uint64_t mask = 0;

    counting_open(run, &c);
    for (unsigned counter = 0; counter < 8; counter++)
        mask |= pmc_exists(&c.pmc, PMC_FIXED + counter) ? 0 : 0xFull << 4 * counter;
    expect_reserved(run, "IA32_FIXED_CTR_CTRL", mask, pmc_fixed_control_write,
                    pmc_fixed_control_read);
}

/* Bit 48 belongs to a later feature. */
CHECK("pmc.control.global_reserved", MUST, "PMC-02", NEED_PMC)
{
    struct counting c;

    counting_open(run, &c);
    expect_reserved(run, "IA32_PERF_GLOBAL_CTRL", ~(pmc_all(&c.pmc) | 1ull << 48),
                    pmc_global_control_write, pmc_global_control_read);
}

CHECK("pmc.control.kept", MUST, "PMC-11", NEED_PMC)
{
    const uint64_t bits = PERFEVTSEL_EVENT | PERFEVTSEL_UMASK | PERFEVTSEL_USR | PERFEVTSEL_OS |
                          PERFEVTSEL_EDGE | PERFEVTSEL_INT | PERFEVTSEL_INV | PERFEVTSEL_CMASK;
    struct counting c;
    uint64_t back = 0;

    counting_open(run, &c);
    for (unsigned counter = 0; pmc_exists(&c.pmc, counter); counter++) {
        EXPECT_EQ(run, pmc_select_write(counter, bits), 0, "vector of WRMSR IA32_PERFEVTSELx");
        pmc_select_read(counter, &back);
        EXPECT_EQ(run, back, bits, "IA32_PERFEVTSELx");
        pmc_select_write(counter, 0);
    }
    for (unsigned bit = 0; bit < 64; bit++) {
        if (!(pmc_all(&c.pmc) >> bit & 1))
            continue;
        pmc_global_control_write(1ull << bit);
        pmc_global_control_read(&back);
        EXPECT_EQ(run, back, 1ull << bit, "IA32_PERF_GLOBAL_CTRL");
    }
    pmc_global_control_write(0);
    for (unsigned counter = 0; counter < c.pmc.perfmon.fixed; counter++) {
        uint64_t field = (FIXED_CTR_USR | FIXED_CTR_INT) << 4 * counter;

        pmc_fixed_control_write(field);
        pmc_fixed_control_read(&back);
        EXPECT_EQ(run, back, field, "IA32_FIXED_CTR_CTRL");
    }
    pmc_fixed_control_write(0);
}

/* --- RDPMC */

CHECK("pmc.rdpmc.values", MUST, "PMC-08", NEED_PMC)
{
    struct counting c;

    counting_open(run, &c);
    EACH_COUNTER(&c.pmc, counter)
    pmc_write_legacy(counter, 0x1000 + counter);
    EACH_COUNTER(&c.pmc, counter)
    {
        uint32_t select = counter < PMC_FIXED ? counter : RDPMC_FIXED | (counter - PMC_FIXED);
        uint64_t value = 0;

        EXPECT_EQ(run, pmc_rdpmc_try(select, &value), 0, "vector of RDPMC");
        EXPECT_EQ(run, value, 0x1000 + counter, "RDPMC of a counter with a value of its own");
        pmc_write_legacy(counter, 0);
    }
}

CHECK("pmc.rdpmc.beyond", MUST, "PMC-08", NEED_PMC)
{
    static const uint32_t selects[] = {0x20, 0x1FFF, RDPMC_FIXED | 0x20, 0x8FFFFFFF};

    for (unsigned i = 0; i < sizeof(selects) / sizeof(selects[0]); i++) {
        uint64_t value = 0;

        EXPECT(run, pmc_rdpmc_try(selects[i], &value) == VECTOR_GP,
               "RDPMC %x is no counter and does not fault", selects[i]);
    }
}

/* What ring 3 gets from RDPMC of counter 0: its value, or -1 after #GP. */
static uint64_t from_ring3(struct run *run)
{
    struct guest_run r = {.workload = trace_find(run, "count.rdpmc"), .ring = 3};

    guest_run(trace_guest(run), &r);
    NEED(run, r.end == GUEST_RETURNED, "the workload did not return");
    return r.result;
}

static void set_cr4(void *value)
{
    cr4_write((uint64_t)(uintptr_t)value);
}

CHECK("pmc.rdpmc.ring3", MUST, "PMC-08", NEED_PMC)
{
    uint64_t cr4 = cr4_read();
    struct counting c;

    counting_open(run, &c);
    pmc_write_legacy(0, 0x1234);
    run_defer(run, set_cr4, (void *)(uintptr_t)cr4);
    cr4_write(cr4 & ~CR4_PCE);
    EXPECT_EQ(run, from_ring3(run), ~0ull, "RDPMC in ring 3 with CR4.PCE clear");
    cr4_write(cr4 | CR4_PCE);
    EXPECT_EQ(run, from_ring3(run), 0x1234, "RDPMC in ring 3 with CR4.PCE set");
}
