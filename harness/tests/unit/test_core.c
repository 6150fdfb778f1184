/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kinds of cores from made-up leaves: a hybrid part's two kinds, uniform parts, wide APIC ids.
 */
#include "harness/tests/fakes/unit.h"
#include "hw/core.h"

#define HYBRID (1u << 15)

static const struct cpuid_regs nothing;

struct cpuid_regs cpuid_query(uint32_t number, uint32_t subleaf);

/* The processor that core_ask sees: leaves up to 07H, and rubbish behind them. */
struct cpuid_regs cpuid_query(uint32_t number, uint32_t subleaf)
{
    (void)subleaf;
    switch (number) {
    case 0:
        return (struct cpuid_regs){.eax = 7};
    case 1:
        return (struct cpuid_regs){.ebx = 5u << 24};
    case 7:
        return nothing;
    default:
        return (struct cpuid_regs){0x40000001, ~0u, ~0u, ~0u};
    }
}

static struct core hybrid(uint32_t native)
{
    return core_from(nothing, (struct cpuid_regs){.edx = HYBRID}, nothing,
                     (struct cpuid_regs){.eax = native});
}

static void kinds(void)
{
    EXPECT_EQ(hybrid(0x40000001).kind, CORE_PERFORMANCE);
    EXPECT_EQ(hybrid(0x40000001).native_model, 1);
    EXPECT_EQ(hybrid(0x20000002).kind, CORE_EFFICIENT);
    EXPECT_EQ(hybrid(0x20000002).native_model, 2);
    EXPECT_EQ(hybrid(0x30000000).kind, CORE_OTHER);
    EXPECT_EQ(hybrid(0).kind, CORE_OTHER);
    /* The number means nothing where the part does not say that it is hybrid. */
    EXPECT_EQ(core_from(nothing, nothing, nothing, (struct cpuid_regs){.eax = 0x40000001}).kind,
              CORE_UNIFORM);
}

static void apic_ids(void)
{
    struct cpuid_regs features = {.ebx = 0x12u << 24 | 0x345678};
    struct cpuid_regs topology = {.ecx = 0x100, .edx = 0x112};

    EXPECT_EQ(core_from(features, nothing, nothing, nothing).apic_id, 0x12);
    EXPECT_EQ(core_from(features, nothing, topology, nothing).apic_id, 0x112);
    topology.ecx = 0; /* level type 0 */
    EXPECT_EQ(core_from(features, nothing, topology, nothing).apic_id, 0x12);
}

static void asks_no_leaf_that_is_not_there(void)
{
    struct core core = core_ask();

    EXPECT_EQ(core.kind, CORE_UNIFORM);
    EXPECT_EQ(core.native_model, 0);
    EXPECT_EQ(core.apic_id, 5);
}

static void names(void)
{
    for (int a = 0; a < CORE_KINDS; a++)
        for (int b = 0; b < a; b++)
            EXPECT(strcmp(core_name(a), core_name(b)) != 0);
    EXPECT_STR(core_name(CORE_PERFORMANCE), "P");
    EXPECT_STR(core_name(CORE_KINDS), "?");
}

int main(void)
{
    RUN(kinds);
    RUN(apic_ids);
    RUN(asks_no_leaf_that_is_not_there);
    RUN(names);
    UNIT_END();
}
