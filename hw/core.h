/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kind of core that a logical processor is, on parts that mix them.
 * Source: SDM Vol. 2, "CPUID - CPU Identification": leaf 07H (Hybrid), leaf 0BH (x2APIC ID),
 * leaf 1AH (Native Model ID Enumeration).
 */
#ifndef HW_CORE_H
#define HW_CORE_H

#include "hw/cpuid.h"

enum core_kind {
    CORE_UNIFORM,     /* the part does not say that it mixes kinds */
    CORE_PERFORMANCE, /* Intel Core */
    CORE_EFFICIENT,   /* Intel Atom */
    CORE_OTHER,       /* it mixes kinds, and this one has a number that is not known here */
    CORE_KINDS
};

struct core {
    enum core_kind kind;
    uint32_t native_model; /* 24 bits; 0 on uniform parts */
    uint32_t apic_id;      /* all 32 bits of it, as CPUID has it */
};

/* What the leaves of one processor say; those that it lacks read as zeros. */
struct core core_from(struct cpuid_regs features, struct cpuid_regs structured,
                      struct cpuid_regs topology, struct cpuid_regs native);

/* The processor that asks. */
struct core core_ask(void);

/* "uniform", "P", "E", "other". */
const char *core_name(enum core_kind kind);

#endif
