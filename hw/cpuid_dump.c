/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Walking the CPUID leaves. Each range tells its last leaf in its first one; which leaves have
 * subleaves, and where those end, is a rule of each leaf.
 * Source: SDM Vol. 2, "CPUID - CPU Identification".
 */
#include "hw/cpuid_dump.h"

#define RANGE_LEAVES_MAX 0x40u /* a range that claims more is not believed */
#define SUBLEAVES_MAX    64u

enum {
    LEAF_CACHES = 0x04,
    LEAF_STRUCTURED = 0x07,
    LEAF_TOPOLOGY = 0x0B,
    LEAF_EXTENDED_STATE = 0x0D,
    LEAF_MONITORING = 0x0F,
    LEAF_ALLOCATION = 0x10,
    LEAF_SGX = 0x12,
    LEAF_PROCESSOR_TRACE = 0x14,
    LEAF_SYSTEM_ON_CHIP = 0x17,
    LEAF_TRANSLATION = 0x18,
    LEAF_TOPOLOGY_V2 = 0x1F,
};

static const uint32_t ranges[] = {0x00000000u, 0x40000000u, 0x80000000u};

/* True when the subleaf after this one has something to say. */
static bool goes_on(uint32_t leaf, uint32_t subleaf, struct cpuid_regs first,
                    struct cpuid_regs regs)
{
    switch (leaf) {
    case LEAF_CACHES:
        return (regs.eax & 0x1F) != 0; /* cache type 0: no more */
    case LEAF_TOPOLOGY:
    case LEAF_TOPOLOGY_V2:
        return (regs.ecx & 0xFF00) != 0; /* level type 0: no more */
    case LEAF_STRUCTURED:
    case LEAF_PROCESSOR_TRACE:
    case LEAF_SYSTEM_ON_CHIP:
    case LEAF_TRANSLATION:
        return subleaf < first.eax;
    case LEAF_EXTENDED_STATE:
        return subleaf + 1 < SUBLEAVES_MAX; /* one a component; gaps read as zeros */
    case LEAF_MONITORING:
    case LEAF_ALLOCATION:
    case LEAF_SGX:
        return subleaf < 3;
    default:
        return false;
    }
}

static void dump_leaf(void (*use)(void *, uint32_t, uint32_t, struct cpuid_regs), void *arg,
                      uint32_t leaf)
{
    struct cpuid_regs first = cpuid_query(leaf, 0), regs = first;

    for (uint32_t subleaf = 0; subleaf < SUBLEAVES_MAX; subleaf++) {
        regs = cpuid_query(leaf, subleaf);
        if (subleaf == 0 || (regs.eax | regs.ebx | regs.ecx | regs.edx) != 0)
            use(arg, leaf, subleaf, regs);
        if (!goes_on(leaf, subleaf, first, regs))
            break;
    }
}

void cpuid_dump(void (*use)(void *arg, uint32_t leaf, uint32_t subleaf, struct cpuid_regs regs),
                void *arg)
{
    for (unsigned i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
        uint32_t last;

        /* The range of hypervisors answers with other leaves where there is none. */
        if (i == 1 && !cpu_has_hypervisor())
            continue;
        last = cpuid_query(ranges[i], 0).eax;
        if (last < ranges[i] || last - ranges[i] >= RANGE_LEAVES_MAX)
            last = ranges[i];
        for (uint32_t leaf = ranges[i]; leaf <= last; leaf++)
            dump_leaf(use, arg, leaf);
    }
}
