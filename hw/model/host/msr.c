/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The model-specific registers that the model keeps.
 *
 * Which bits exist and what faults: SDM Vol. 3, "IA32_DEBUGCTL MSR"; SDM Vol. 4,
 * IA32_MISC_ENABLE, IA32_DS_AREA; SDM Vol. 2, "WRMSR"; SDM Vol. 3, "Microcode Update
 * Facilities".
 */
#include "hw/model/bts/bts.h"
#include "hw/model/host/host.h"
#include "hw/model/host/stay.h"
#include "hw/model/perfmon/perfmon.h"
#include "hw/model/trial/defect.h"
#include "hw/model/trial/feature_gate.h"
#include "hw/model/trial/policy.h"

static bool stores_unavailable(void)
{
    if (defect(DEFECT_PEBS_TAKES_BTS) && !pebs_exists())
        return true;
    return gate_closed[GATE_NO_DS] || gate_closed[GATE_NO_BTS];
}

static uint64_t misc_enable_fixed(void)
{
    return MISC_ENABLE_PERFMON | (pebs_exists() ? 0 : MISC_ENABLE_PEBS_UNAVAILABLE) |
           (stores_unavailable() && !defect(DEFECT_UNAVAILABLE_CLEAR)
                ? MISC_ENABLE_BTS_UNAVAILABLE
                : 0);
}

#define MISC_ENABLE_READ_ONLY                                                                  \
    (MISC_ENABLE_PERFMON | MISC_ENABLE_PEBS_UNAVAILABLE | MISC_ENABLE_BTS_UNAVAILABLE)

static uint64_t misc_enable_read(const struct model_cpu *cpu)
{
    if (defect(DEFECT_MISC_WRITABLE))
        return cpu->misc_enable;
    return (cpu->misc_enable & ~MISC_ENABLE_READ_ONLY) | misc_enable_fixed();
}

static bool misc_enable_write(struct model_cpu *cpu, uint64_t value)
{
    uint64_t changed = value ^ misc_enable_read(cpu);

    if (changed & MISC_ENABLE_READ_ONLY && policy(POLICY_MISC_ENABLE_WRITE) == MISC_GP)
        return fault_raise(cpu, VECTOR_GP, 0);
    cpu->misc_enable = value;
    return true;
}

/* What happens to bits that this processor lacks: faulting, or dropped. */
struct absent_bits {
    uint64_t faulting, dropped;
};

static void absent(struct absent_bits *bits, uint64_t which, enum policy question)
{
    if (policy(question) == ABSENT_DROP)
        bits->dropped |= which;
    else
        bits->faulting |= which;
}

static struct absent_bits debugctl_absent(void)
{
    uint64_t known = DEBUGCTL_LBR | DEBUGCTL_BTF | DEBUGCTL_TR | DEBUGCTL_BTS | DEBUGCTL_BTINT |
                     DEBUGCTL_OFF_OS | DEBUGCTL_OFF_USR | DEBUGCTL_FREEZE_LBRS |
                     DEBUGCTL_FREEZE_PERFMON | DEBUGCTL_UNCORE_PMI | DEBUGCTL_FREEZE_SMM |
                     DEBUGCTL_RTM;
    struct absent_bits bits = {.faulting = ~known};

    if (gate_closed[GATE_NO_PDCM] || !perfmon_exists() || defect(DEFECT_FREEZE_MISSING))
        absent(&bits, DEBUGCTL_FREEZE_LBRS | DEBUGCTL_FREEZE_PERFMON, POLICY_FREEZE_ABSENT);
    if (!branch_stack_exists())
        absent(&bits, DEBUGCTL_LBR, POLICY_LBR_ABSENT);
    absent(&bits, DEBUGCTL_UNCORE_PMI, POLICY_BIT_13);
    if (!perfmon_freezes_smm() || defect(DEFECT_FREEZE_SMM_CLAIMED))
        absent(&bits, DEBUGCTL_FREEZE_SMM, POLICY_BIT_14);
    absent(&bits, DEBUGCTL_RTM, POLICY_BIT_15);
    if (stores_unavailable())
        absent(&bits, DEBUGCTL_BTS | (defect(DEFECT_BTINT_ALONE) ? 0 : DEBUGCTL_BTINT),
               POLICY_BTS_ABSENT);
    if (gate_closed[GATE_NO_DS] || gate_closed[GATE_NO_DSCPL])
        absent(&bits, DEBUGCTL_OFF_OS | DEBUGCTL_OFF_USR, POLICY_OFF_ABSENT);
    return bits;
}

/* --- MSR_DEBUGCTLA of family 0FH: TR to BTS_OFF_USR from bit 2 on, and nothing above */

#define NETBURST_BITS  0x7Full
#define NETBURST_LOW   (DEBUGCTL_LBR | DEBUGCTL_BTF)
#define NETBURST_SHIFT 4
#define NETBURST_STORES                                                                        \
    (DEBUGCTL_TR | DEBUGCTL_BTS | DEBUGCTL_BTINT | DEBUGCTL_OFF_OS | DEBUGCTL_OFF_USR)

static bool by_family(void)
{
    return gate_closed[GATE_NETBURST] && !defect(DEFECT_NETBURST_BITS);
}

static uint64_t from_netburst(uint64_t value)
{
    return (value & NETBURST_LOW) | (value << NETBURST_SHIFT & NETBURST_STORES);
}

static uint64_t to_netburst(uint64_t value)
{
    return (value & NETBURST_LOW) | (value & NETBURST_STORES) >> NETBURST_SHIFT;
}

/* Is the write one in which a defect overlooks the reserved bits? good: the bits that exist. */
static bool overlooked(uint64_t good)
{
    const uint64_t freeze = DEBUGCTL_FREEZE_LBRS | DEBUGCTL_FREEZE_PERFMON;

    return (defect(DEFECT_RESERVED_MIXED) && good) ||
           (defect(DEFECT_RESERVED_BESIDE_BTS) && good == DEBUGCTL_BTS) ||
           (defect(DEFECT_RESERVED_BESIDE_BTINT) && good == DEBUGCTL_BTINT) ||
           (defect(DEFECT_RESERVED_BESIDE_TR) && good & DEBUGCTL_TR) ||
           (defect(DEFECT_RESERVED_BESIDE_FREEZE) && good && !(good & ~freeze) &&
            (good & freeze) != freeze);
}

static bool debugctl_write(struct model_cpu *cpu, uint64_t value)
{
    struct absent_bits bits = debugctl_absent();
    bool mixed = overlooked(value & ~bits.faulting);

    if (value & bits.faulting && !defect(DEFECT_RESERVED_ACCEPTED) && !mixed)
        return fault_raise(cpu, VECTOR_GP, 0);
    value &= ~(bits.dropped | (mixed ? 0 : bits.faulting));
    if (defect(DEFECT_BITS_LOST) || (defect(DEFECT_PEBS_TAKES_BTINT) && !pebs_exists()))
        value &= ~DEBUGCTL_BTINT;
    if (defect(DEFECT_OFF_NOT_KEPT))
        value &= ~(DEBUGCTL_OFF_OS | DEBUGCTL_OFF_USR);
    if (value & DEBUGCTL_FREEZE_LBRS && policy(POLICY_FREEZE_LBRS_TR) == TR_CLEARED)
        value &= ~DEBUGCTL_TR;
    if (value & DEBUGCTL_TR && defect(DEFECT_LBR_EXCLUDED))
        value &= ~DEBUGCTL_LBR;
    uint64_t enable = DEBUGCTL_TR | DEBUGCTL_BTS;
    bool enabling = (value & enable) == enable && (cpu->debugctl & enable) != enable;
    if (enabling && !cpu->ds_area && defect(DEFECT_NO_AREA_HALF)) {
        cpu->debugctl = value;
        return fault_raise(cpu, VECTOR_GP, 0);
    }
    if (enabling && !cpu->ds_area && policy(POLICY_NO_AREA) == NO_AREA_GP)
        return fault_raise(cpu, VECTOR_GP, 0);
    cpu->debugctl = value;
    if (enabling) {
        guest_forget_translations(cpu);
        record_enable(cpu);
    }
    return true;
}

/* What all processors would share, for a defect. */
static uint64_t shared_area;

static bool ds_area_write(struct model_cpu *cpu, uint64_t value)
{
    unsigned shift = 64 - (defect(DEFECT_CANONICAL_57) ? 57 : cpu->linear_bits);
    bool canonical = (uint64_t)((int64_t)(value << shift) >> shift) == value;

    if (gate_closed[GATE_NO_DS])
        return fault_raise(cpu, VECTOR_GP, 0);
    if (!(cpu->vmcb->save.efer & EFER_LMA)) {
        canonical = value >> 32 == 0 || policy(POLICY_AREA_HIGH) != HIGH_GP;
        if (policy(POLICY_AREA_HIGH) == HIGH_DROP)
            value = (uint32_t)value;
    }
    if (!canonical && defect(DEFECT_NONCANONICAL_KEPT))
        cpu->ds_area = value;
    if (!canonical && !defect(DEFECT_NONCANONICAL))
        return fault_raise(cpu, VECTOR_GP, 0);
    if (defect(DEFECT_AREA_ALIGNED))
        value &= ~15ull;
    cpu->area_late = value && value != cpu->ds_area ? cpu->ds_area : 0;
    cpu->ds_area = value;
    shared_area = value;
    return true;
}

static bool efer_write(struct model_cpu *cpu, uint64_t value)
{
    struct vmcb_save *save = &cpu->vmcb->save;
    uint64_t known = EFER_SCE | EFER_LME | EFER_LMA | EFER_NXE | EFER_FFXSR;

    if (value & ~known)
        return fault_raise(cpu, VECTOR_GP, 0);
    if (save->cr0 & CR0_PG && (value ^ save->efer) & EFER_LME)
        return fault_raise(cpu, VECTOR_GP, 0);
    /* SVME stays set behind the guest's back: without it VMRUN refuses the guest. */
    save->efer = (value & ~EFER_LMA) | (save->efer & EFER_LMA) | EFER_SVME;
    guest_forget_translations(cpu);
    return true;
}

bool msr_read(struct model_cpu *cpu, uint32_t index, uint64_t *value)
{
    switch (index) {
    case MSR_LBR_SELECT:
    case MSR_LBR_TOP:
    case MSR_LBR_FROM ... MSR_LBR_FROM + LBR_DEPTH - 1:
    case MSR_LBR_TO ... MSR_LBR_TO + LBR_DEPTH - 1:
        return branch_stack_read(cpu, index, value);
    case MSR_COUNTER ... MSR_COUNTER + GENERAL_COUNTERS - 1:
    case MSR_EVENT_SELECT ... MSR_EVENT_SELECT + GENERAL_COUNTERS - 1:
    case MSR_FULL_COUNTER ... MSR_FULL_COUNTER + GENERAL_COUNTERS - 1:
    case MSR_FIXED_COUNTER ... MSR_FIXED_COUNTER + FIXED_COUNTERS - 1:
    case MSR_FIXED_CONTROL ... MSR_PERF_IN_USE:
    case MSR_PERF_CAPABILITIES:
    case MSR_PEBS_ENABLE:
    case MSR_PEBS_DATA:
        return perfmon_read(cpu, index, value);
    case MSR_SMI_COUNT:
        *value = (uint32_t)cpu->smi_count;
        return true;
    case MSR_UPDATE_SIGNATURE:
        *value = cpu->update_signature;
        return true;
    case MSR_DEBUGCTL:
        *value = by_family() ? to_netburst(cpu->debugctl) : cpu->debugctl;
        return true;
    case MSR_DS_AREA:
        *value = defect(DEFECT_AREA_SHARED) ? shared_area : cpu->ds_area;
        return !gate_closed[GATE_NO_DS] || fault_raise(cpu, VECTOR_GP, 0);
    case MSR_MISC_ENABLE:
        *value = misc_enable_read(cpu);
        return true;
    case MSR_EFER:
        *value = cpu->vmcb->save.efer & ~EFER_SVME;
        return true;
    case MSR_VM_CR:
        *value = VM_CR_SVMDIS;
        return true;
    }
    return fault_raise(cpu, VECTOR_GP, 0);
}

bool msr_write(struct model_cpu *cpu, uint32_t index, uint64_t value)
{
    switch (index) {
    case MSR_LBR_SELECT:
    case MSR_LBR_TOP:
    case MSR_LBR_FROM ... MSR_LBR_FROM + LBR_DEPTH - 1:
    case MSR_LBR_TO ... MSR_LBR_TO + LBR_DEPTH - 1:
        return branch_stack_write(cpu, index, value);
    case MSR_COUNTER ... MSR_COUNTER + GENERAL_COUNTERS - 1:
    case MSR_EVENT_SELECT ... MSR_EVENT_SELECT + GENERAL_COUNTERS - 1:
    case MSR_FULL_COUNTER ... MSR_FULL_COUNTER + GENERAL_COUNTERS - 1:
    case MSR_FIXED_COUNTER ... MSR_FIXED_COUNTER + FIXED_COUNTERS - 1:
    case MSR_FIXED_CONTROL ... MSR_PERF_IN_USE:
    case MSR_PERF_CAPABILITIES:
    case MSR_PEBS_ENABLE:
    case MSR_PEBS_DATA:
        return perfmon_write(cpu, index, value);
    case MSR_UPDATE_TRIGGER: /* no update is for this processor, and none is loaded */
        return true;
    case MSR_UPDATE_SIGNATURE:
        cpu->update_signature = value;
        return true;
    case MSR_DEBUGCTL:
        if (by_family() && value & ~NETBURST_BITS)
            return fault_raise(cpu, VECTOR_GP, 0);
        return debugctl_write(cpu, by_family() ? from_netburst(value) : value);
    case MSR_DS_AREA:
        return ds_area_write(cpu, value);
    case MSR_MISC_ENABLE:
        return misc_enable_write(cpu, value);
    case MSR_X2APIC_ICR:
        return apic_command_write(cpu, value);
    case MSR_EFER:
        return efer_write(cpu, value);
    }
    return fault_raise(cpu, VECTOR_GP, 0);
}
