/* SPDX-License-Identifier: BSD-2-Clause */
/* Kinds of cores, from CPUID's leaves. */
#include "hw/core.h"

enum {
    LEAF_BASIC = 0x00,
    LEAF_FEATURES = 0x01,
    LEAF_STRUCTURED_FEATURES = 0x07,
    LEAF_TOPOLOGY = 0x0B,
    LEAF_NATIVE_MODEL = 0x1A,

    FEATURES_EBX_APIC_ID = 24, /* the lower 8 bits of it */
    STRUCTURED_EDX_HYBRID = 15,
    TOPOLOGY_ECX_LEVEL_TYPE = 8, /* 0: the leaf says nothing */
    NATIVE_EAX_TYPE = 24,
    NATIVE_TYPE_ATOM = 0x20,
    NATIVE_TYPE_CORE = 0x40,
};
#define NATIVE_MODEL_MASK 0x00FFFFFFu

struct core core_from(struct cpuid_regs features, struct cpuid_regs structured,
                      struct cpuid_regs topology, struct cpuid_regs native)
{
    struct core core = {.apic_id = features.ebx >> FEATURES_EBX_APIC_ID};

    if ((topology.ecx >> TOPOLOGY_ECX_LEVEL_TYPE & 0xFF) != 0)
        core.apic_id = topology.edx;
    if (!(structured.edx >> STRUCTURED_EDX_HYBRID & 1))
        return core;
    core.native_model = native.eax & NATIVE_MODEL_MASK;
    switch (native.eax >> NATIVE_EAX_TYPE) {
    case NATIVE_TYPE_ATOM:
        core.kind = CORE_EFFICIENT;
        break;
    case NATIVE_TYPE_CORE:
        core.kind = CORE_PERFORMANCE;
        break;
    default:
        core.kind = CORE_OTHER;
    }
    return core;
}

/* A leaf beyond the last one would give the data of another. */
static struct cpuid_regs leaf(uint32_t number)
{
    return number <= cpuid_query(LEAF_BASIC, 0).eax ? cpuid_query(number, 0)
                                                    : (struct cpuid_regs){0, 0, 0, 0};
}

struct core core_ask(void)
{
    return core_from(leaf(LEAF_FEATURES), leaf(LEAF_STRUCTURED_FEATURES), leaf(LEAF_TOPOLOGY),
                     leaf(LEAF_NATIVE_MODEL));
}

const char *core_name(enum core_kind kind)
{
    static const char *const names[CORE_KINDS] = {"uniform", "P", "E", "other"};

    return kind < CORE_KINDS ? names[kind] : "?";
}
