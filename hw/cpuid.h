/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What CPUID enumerates, by name. Leaves and bit positions stay in hw/cpuid.c.
 * Source: SDM Vol. 2, "CPUID - CPU Identification".
 */
#ifndef HW_CPUID_H
#define HW_CPUID_H

#include <stdbool.h>
#include <stdint.h>

struct cpuid_regs {
    uint32_t eax, ebx, ecx, edx;
};
struct cpuid_regs cpuid_query(uint32_t leaf, uint32_t subleaf);

/* Waits for everything before it: SDM Vol. 3, "Serializing Instructions". */
static inline void cpu_serialise(void)
{
    cpuid_query(0, 0);
}

bool cpu_has_ds(void);     /* Debug Store and IA32_DS_AREA exist */
bool cpu_has_dtes64(void); /* 64-bit DS layout in every mode */
bool cpu_has_ds_cpl(void); /* BTS_OFF_OS and BTS_OFF_USR exist */
bool cpu_has_pdcm(void);   /* IA32_PERF_CAPABILITIES exists */
bool cpu_has_x2apic(void);
bool cpu_has_pcid(void);
bool cpu_is_netburst(void); /* family 0FH, and DS exists */
bool cpu_has_la57(void);
bool cpu_has_smep(void);
bool cpu_has_smap(void);
bool cpu_has_hypervisor(void);
bool cpu_has_nx(void);
bool cpu_has_1gib_pages(void);
bool cpu_has_long_sysenter(void);   /* in IA-32e mode as well: one vendor's */
unsigned cpu_linear_bits(void);     /* 48, or 57 where 5-level paging is enumerated */
unsigned cpu_perfmon_version(void); /* 0 when leaf 0AH is absent */
/* The version from which FREEZE_PERFMON_ON_PMI freezes by a bit of the status. */
#define PERFMON_FROZEN_BY_STATUS 4u

/* Leaf 0AH. SDM Vol. 3, "Architectural Performance Monitoring". */
struct cpu_perfmon {
    unsigned version;               /* 0: none, and all else is 0 */
    unsigned general, general_bits; /* counters, and how wide they are */
    unsigned fixed, fixed_bits;     /* the contiguous ones, from version 2 on */
    unsigned event_bits;            /* how many bits of events_absent mean something */
    uint32_t events_absent;         /* bit N: architectural event N does not count */
    uint32_t fixed_present;         /* bit N: counter N exists, from version 5 on */
    bool any_thread_deprecated;
};
void cpu_perfmon(struct cpu_perfmon *out);

/* As latched at reset, 8 bits: an independent witness for hw/apic.h. */
unsigned cpu_initial_apic_id(void);

struct cpu_identity {
    char vendor[13];
    char brand[49];
    char hypervisor[13]; /* empty when none is announced */
    unsigned family, model, stepping;
    uint32_t signature; /* EAX of leaf 1 */
    uint32_t microcode; /* revision, 0 when not readable */
};
void cpu_identify(struct cpu_identity *out);

#endif
