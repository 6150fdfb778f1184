/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the modelled processor says it is.
 *
 * The processor's own answers, with the Debug Store added, SVM taken away, and a hypervisor
 * leaf by which the model shows itself. Bits after SDM Vol. 2, "CPUID".
 */
#include "hw/model/bts/bts.h"
#include "hw/model/host/host.h"
#include "hw/model/perfmon/perfmon.h"
#include "hw/model/processor/insns.h"
#include "hw/model/trial/defect.h"
#include "hw/model/trial/feature_gate.h"

#define NETBURST_SIGNATURE 0x00000F4Au /* family 0FH, model 4 */
#define LEAF_LAST          0x00000000u
#define LEAF_FEATURES      0x00000001u
#define LEAF_PERFMON       0x0000000Au
#define LEAF_HYPERVISOR    0x40000000u
#define LEAF_EXTENDED      0x80000001u
#define LEAF_SVM           0x8000000Au
#define ECX_DTES64         (1u << 2)
#define ECX_DS_CPL         (1u << 4)
#define ECX_PDCM           (1u << 15)
#define ECX_OSXSAVE        (1u << 27)
#define ECX_HYPERVISOR     (1u << 31)
#define EDX_DS             (1u << 21)
#define EXTENDED_ECX_SVM   (1u << 2)
#define CR4_OSXSAVE        (1ull << 18)

/* Newer than any that a driver would ask for. */
#define UPDATE_REVISION 0x7FFFFFFFull

static void features(struct model_cpu *cpu, struct cpuid_result *r)
{
    cpu->update_signature = UPDATE_REVISION << 32;
    if (gate_closed[GATE_NETBURST])
        r->eax = NETBURST_SIGNATURE;
    r->edx |= EDX_DS;
    r->ecx |= ECX_DTES64 | ECX_DS_CPL | ECX_PDCM | ECX_HYPERVISOR;
    r->ecx &= ~ECX_OSXSAVE;
    if (cpu->vmcb->save.cr4 & CR4_OSXSAVE)
        r->ecx |= ECX_OSXSAVE;
    if (gate_closed[GATE_NO_DS] || defect(DEFECT_NO_DS))
        r->edx &= ~EDX_DS;
    if (gate_closed[GATE_NO_DS] || gate_closed[GATE_NO_DTES64])
        r->ecx &= ~ECX_DTES64;
    if ((gate_closed[GATE_NO_DS] && !defect(DEFECT_DS_CPL_ALONE)) || gate_closed[GATE_NO_DSCPL])
        r->ecx &= ~ECX_DS_CPL;
    if (gate_closed[GATE_NO_PDCM])
        r->ecx &= ~ECX_PDCM;
}

/* Of the seven architectural events those of the cache and of prediction are missing. */
#define EVENTS_NAMED  7u
#define EVENTS_ABSENT 0x58u

static struct cpuid_result perfmon_leaf(void)
{
    if (!perfmon_exists())
        return (struct cpuid_result){0, 0, 0, 0};
    unsigned general = GENERAL_COUNTERS + (defect(DEFECT_PMC_COUNT_LIES) ? 1 : 0);
    return (struct cpuid_result){.eax = perfmon_version() | general << 8 | COUNTER_BITS << 16 |
                                        EVENTS_NAMED << 24,
                                 .ebx = EVENTS_ABSENT,
                                 .edx = FIXED_COUNTERS | COUNTER_BITS << 5};
}

void cpuid_exit(struct model_cpu *cpu)
{
    uint32_t leaf = (uint32_t)cpu->gpr[RAX];
    struct cpuid_result r = cpuid(leaf, (uint32_t)cpu->gpr[RCX]);

    if (defect(DEFECT_BTF_CPUID))
        cpu->debugctl &= ~DEBUGCTL_BTF;
    if (leaf == LEAF_FEATURES)
        features(cpu, &r);
    else if (leaf == LEAF_LAST && r.eax < LEAF_PERFMON)
        r.eax = LEAF_PERFMON;
    else if (leaf == LEAF_PERFMON)
        r = perfmon_leaf();
    else if (leaf == LEAF_EXTENDED)
        r.ecx &= ~EXTENDED_ECX_SVM;
    else if (leaf == LEAF_SVM)
        r = (struct cpuid_result){0, 0, 0, 0};
    else if (leaf == LEAF_HYPERVISOR) /* "WaymarkModel" */
        r = (struct cpuid_result){LEAF_HYPERVISOR, 0x6D796157, 0x4D6B7261, 0x6C65646F};
    record_serialise(cpu);
    cpu->gpr[RAX] = r.eax;
    cpu->gpr[RBX] = r.ebx;
    cpu->gpr[RCX] = r.ecx;
    cpu->gpr[RDX] = r.edx;
    instruction_done(cpu);
}
