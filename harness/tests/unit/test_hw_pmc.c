/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hw/pmc.c over a handful of registers that remember what is written: which register and which
 * bits each call means. Numbers are the manual's, written a second time.
 */
#include "harness/tests/fakes/unit.h"
#include "hw/cpuid.h"
#include "hw/pmc.h"
#include "hw/quirk.h"

#define REGISTERS 64

static struct {
    uint32_t msr;
    uint64_t value;
} registers[REGISTERS];
static unsigned used;
static uint32_t missing; /* this one faults */
static struct cpu_perfmon enumerated;
static bool has_ds, has_pdcm, hypervisor;
static uint32_t signature;

static uint64_t *find(uint32_t msr)
{
    for (unsigned i = 0; i < used; i++)
        if (registers[i].msr == msr)
            return &registers[i].value;
    if (used == REGISTERS)
        abort();
    registers[used].msr = msr;
    registers[used].value = 0;
    return &registers[used++].value;
}

int msr_read_try(uint32_t msr, uint64_t *value)
{
    if (msr == missing)
        return 13;
    *value = *find(msr);
    return 0;
}

int msr_write_try(uint32_t msr, uint64_t value)
{
    if (msr == missing)
        return 13;
    if (msr == 0x390) /* clears status bits */
        *find(0x38E) &= ~value;
    else
        *find(msr) = value;
    return 0;
}

void cpu_perfmon(struct cpu_perfmon *out)
{
    *out = enumerated;
}

bool cpu_has_ds(void)
{
    return has_ds;
}

bool cpu_has_hypervisor(void)
{
    return hypervisor;
}

struct cpuid_regs cpuid_query(uint32_t leaf, uint32_t subleaf)
{
    (void)subleaf;
    if (leaf == 1)
        return (struct cpuid_regs){.eax = signature};
    return (struct cpuid_regs){0, 0x756E6547, 0x6C65746E, 0x49656E69}; /* GenuineIntel */
}

bool cpu_has_pdcm(void)
{
    return has_pdcm;
}

static void reset(void)
{
    used = 0;
    missing = 0;
    has_ds = has_pdcm = true;
    enumerated = (struct cpu_perfmon){.version = 3,
                                      .general = 4,
                                      .general_bits = 48,
                                      .fixed = 3,
                                      .fixed_bits = 40,
                                      .event_bits = 7,
                                      .events_absent = 0x58};
    *find(0x1A0) = 1 << 7;
    *find(0x345) = 0x23C3; /* full width, format 3, trap, registers, stack format 3 */
}

/* Signatures of real processors; under a hypervisor they say nothing. */
static void test_quirks(void)
{
    static const struct {
        uint32_t signature;
        bool pebs, one_page, first_only;
    } rows[] = {{0x6F6, false, true, true},     {0x10676, false, true, true},
                {0x106D1, false, true, true},   {0x106C2, true, true, true},
                {0x30673, true, false, true},   {0x506C9, true, false, true},
                {0x106A5, true, false, false},  {0x306C3, true, false, false},
                {0x806F8, true, false, false},  {0xF4A, true, false, false},
                {0x100F42, true, false, false}, {0x00000, true, false, false}};
    struct pmc pmc;

    for (unsigned i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
        unsigned row = i / 2;

        reset();
        signature = rows[row].signature;
        hypervisor = i % 2;
        pmc_identify(&pmc);
        EXPECT_EQ(pmc.has_pebs, rows[row].pebs || hypervisor);
        EXPECT_EQ(pmc.pebs_one_page, rows[row].one_page && !hypervisor);
        EXPECT_EQ(pmc.pebs_first_only, rows[row].first_only && !hypervisor);
        EXPECT_EQ(!quirk_source("GenuineIntel", signature), !rows[row].first_only);
        EXPECT_EQ(quirks_of("AuthenticAMD", signature), 0);
    }
    signature = 0;
    hypervisor = false;
}

static void test_identify(void)
{
    struct pmc pmc;

    reset();
    pmc_identify(&pmc);
    EXPECT(pmc.has_capabilities && pmc.full_width && pmc.has_pebs);
    EXPECT(pmc.pebs_trap && pmc.pebs_registers && !pmc.pebs_baseline);
    EXPECT_EQ(pmc.pebs_format, 3);
    EXPECT_EQ(pmc_all(&pmc), 0x70000000Full);
    EXPECT_EQ(pmc_mask(&pmc, 0), 0xFFFFFFFFFFFFull);
    EXPECT_EQ(pmc_mask(&pmc, PMC_FIXED), 0xFFFFFFFFFFull);
    *find(0x345) |= 1 << 14;
    enumerated.fixed_present = 1 << 5;
    pmc_identify(&pmc);
    EXPECT(pmc.pebs_baseline && pmc_exists(&pmc, PMC_FIXED + 5) && !pmc_exists(&pmc, 4));
}

/* Each thing that takes PEBS away, alone. */
static void test_no_pebs(void)
{
    struct pmc pmc;

    for (unsigned i = 0; i < 6; i++) {
        reset();
        if (i == 0)
            has_ds = false;
        else if (i == 1)
            *find(0x1A0) |= 1 << 12;
        else if (i == 2)
            *find(0x1A0) = 0; /* no performance monitoring: an emulator's plain register */
        else if (i == 3)
            enumerated = (struct cpu_perfmon){0};
        else
            missing = i == 4 ? 0x3F1 : 0x1A0;
        pmc_identify(&pmc);
        EXPECT(!pmc.has_pebs);
    }
    reset();
    has_pdcm = false;
    pmc_identify(&pmc);
    EXPECT(!pmc.has_capabilities && !pmc.full_width);
    EXPECT_EQ(pmc.pebs_format, 0);
}

static void test_counter(void)
{
    struct pmc pmc;
    uint64_t value = 0;

    reset();
    pmc_identify(&pmc);
    EXPECT_EQ(pmc_write(&pmc, 2, -5ull), 0);
    EXPECT_EQ(*find(0x4C3), 0xFFFFFFFFFFFBull);
    pmc.full_width = false;
    EXPECT_EQ(pmc_write(&pmc, 1, -5ull), 0);
    EXPECT_EQ(*find(0xC2), 0xFFFFFFFBull);
    EXPECT_EQ(pmc_write(&pmc, PMC_FIXED + 1, -5ull), 0);
    EXPECT_EQ(*find(0x30A), 0xFFFFFFFFFBull);
    *find(0xC1) = 77;
    EXPECT(pmc_read(0, &value) == 0 && value == 77);
    /* Numbers without a register: nothing is touched. */
    EXPECT_EQ(pmc_read(8, &value), 13);
    EXPECT_EQ(pmc_write(&pmc, 31, 0), 13);
    EXPECT_EQ(pmc_select_write(PMC_FIXED, 0), 13);
    EXPECT_EQ(pmc_write_full(PMC_FIXED, 0), 13);
    EXPECT_EQ(pmc_program(PMC_FIXED + 16, PMC_INSTRUCTIONS, PMC_USR), 13);
}

static void test_program(void)
{
    reset();
    EXPECT_EQ(pmc_program(1, PMC_BRANCHES, PMC_USR | PMC_INT), 0);
    EXPECT_EQ(*find(0x187), 0x5100C4);
    EXPECT_EQ(pmc_program(0, PMC_INSTRUCTIONS, PMC_OS), 0);
    EXPECT_EQ(*find(0x186), 0x4200C0);
    EXPECT_EQ(pmc_program(PMC_FIXED, PMC_INSTRUCTIONS, PMC_RINGS), 0);
    EXPECT_EQ(pmc_program(PMC_FIXED + 2, PMC_INSTRUCTIONS, PMC_USR | PMC_INT), 0);
    EXPECT_EQ(*find(0x38D), 0xA03);
    EXPECT_EQ(pmc_stop(PMC_FIXED), 0);
    EXPECT_EQ(*find(0x38D), 0xA00);
    EXPECT_EQ(pmc_stop(1), 0);
    EXPECT_EQ(*find(0x187), 0);
}

static void test_state(void)
{
    static const uint32_t leaks[] = {0x38F, 0x38D, 0x3F1, 0x38E, 0x186, 0x189};
    uint64_t before = 0, now = 0;
    struct pmc_state state;
    struct pmc pmc;

    reset();
    pmc_identify(&pmc);
    *find(0x38F) = 0xF;
    *find(0x38E) = 1ull << 63;
    pmc_save(&pmc, &state);
    EXPECT(!pmc_leak(&state, &before, &now));
    for (unsigned i = 0; i < sizeof(leaks) / sizeof(leaks[0]); i++) {
        uint64_t was = *find(leaks[i]);

        *find(leaks[i]) ^= 2;
        EXPECT(pmc_leak(&state, &before, &now));
        EXPECT_EQ(before ^ now, 2);
        pmc_restore(&state);
        EXPECT_EQ(*find(leaks[i]), was);
        EXPECT(!pmc_leak(&state, &before, &now));
    }
    /* Nothing is read of a processor that has none. */
    enumerated.version = 1;
    pmc_identify(&pmc);
    used = 0;
    pmc_save(&pmc, &state);
    pmc_restore(&state);
    EXPECT_EQ(used, 0);
}

int main(void)
{
    RUN(test_quirks);
    RUN(test_identify);
    RUN(test_no_pebs);
    RUN(test_counter);
    RUN(test_program);
    RUN(test_state);
    UNIT_END();
}
