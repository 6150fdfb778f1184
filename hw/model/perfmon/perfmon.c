/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The registers of architectural performance monitoring, and what freezes it.
 *
 * Four general counters and three fixed ones of 48 bits, version 3, or 4 where a freeze sets
 * status bits (SDM Vol. 3, "Architectural Performance Monitoring", "Full-Width Writes to
 * Performance Counter Registers", "Freezing LBR and Performance Counters on PMI").
 */
#include "hw/model/perfmon/perfmon.h"
#include "hw/model/trial/defect.h"
#include "hw/model/trial/feature_gate.h"
#include "hw/model/trial/policy.h"

#define CONTROL_GENERAL    ((1ull << GENERAL_COUNTERS) - 1) /* of the global control */
#define CONTROL_ALL        (CONTROL_GENERAL | ((1ull << FIXED_COUNTERS) - 1) << FIXED_SHIFT)
#define FIXED_CONTROL_BITS ((1ull << 4 * FIXED_COUNTERS) - 1)

#define STATUS_UNCORE    (1ull << 61)
#define STATUS_CHANGED   (1ull << 63)
#define STATUS_FROZEN    (STATUS_LBRS_FROZEN | STATUS_COUNTERS_FROZEN)
#define STATUS_CLEARABLE (CONTROL_ALL | STATUS_UNCORE | STATUS_BUFFER | STATUS_CHANGED)
#define IN_USE_PMI       (1ull << 63)

#define RDPMC_FIXED (1u << 30)

/*
 * Fields of IA32_PERF_CAPABILITIES: 64-bit addresses with flags in the branch stack, and
 * writes of counters in full width.
 */
#define CAPABILITIES          (3ull | 1ull << 13)
#define CAPABILITY_FREEZE_SMM (1ull << 12)

/* From version 4 on a status bit freezes, before it the control itself is cleared. */
static bool freezes_by_status(void)
{
    return policy(POLICY_FREEZE_BY) == FREEZE_STATUS;
}

unsigned perfmon_version(void)
{
    return freezes_by_status() ? 4 : 3;
}

bool perfmon_lbrs_frozen(const struct model_cpu *cpu)
{
    return cpu->perf.status & STATUS_LBRS_FROZEN;
}

void perfmon_reset(struct model_cpu *cpu)
{
    cpu->perf = (struct perfmon){.control = CONTROL_GENERAL};
}

bool perfmon_freezes_smm(void)
{
    return perfmon_exists() && !gate_closed[GATE_NO_PDCM] && !gate_closed[GATE_NO_FREEZE_SMM];
}

static uint64_t capabilities(void)
{
    return CAPABILITIES | pebs_capabilities() |
           (perfmon_freezes_smm() ? CAPABILITY_FREEZE_SMM : 0);
}

/* --- the interrupt */

void perfmon_on_interrupt(struct model_cpu *cpu, unsigned causes)
{
    struct perfmon *perf = &cpu->perf;
    bool freeze_counters = cpu->debugctl & DEBUGCTL_FREEZE_PERFMON;
    bool freeze_lbrs = cpu->debugctl & DEBUGCTL_FREEZE_LBRS;

    if (!perfmon_exists())
        return;
    if (causes & INTERRUPT_BTS && policy(POLICY_STATUS_DS_BUFFER) == STATUS_SET)
        perf->status |= STATUS_BUFFER;
    if (defect(DEFECT_FREEZE_PERFMON_IGNORED))
        freeze_counters = false;
    if (defect(DEFECT_FREEZE_LBRS_IGNORED))
        freeze_lbrs = false;
    if (!(causes & ~INTERRUPT_PEBS) && defect(DEFECT_PEBS_FREEZE_IGNORED))
        freeze_counters = freeze_lbrs = false;
    if (defect(DEFECT_FREEZE_UNASKED) || (freeze_lbrs && defect(DEFECT_FREEZE_LBRS_COUNTERS)))
        freeze_counters = true;
    cpu->lbr_leaks = freeze_lbrs && defect(DEFECT_FREEZE_LBRS_LATE);
    if (freezes_by_status()) {
        perf->status |= freeze_counters ? STATUS_COUNTERS_FROZEN : 0;
        perf->status |= freeze_lbrs ? STATUS_LBRS_FROZEN : 0;
    } else {
        if (freeze_counters)
            perf->control = 0;
        if (freeze_lbrs)
            cpu->debugctl &= ~DEBUGCTL_LBR;
    }
    count_refresh(cpu);
}

/* --- which register */

/* The counter behind a register, or COUNTERS. */
static unsigned counter_of(uint32_t index)
{
    if (index - MSR_COUNTER < GENERAL_COUNTERS)
        return index - MSR_COUNTER;
    if (index - MSR_FULL_COUNTER < GENERAL_COUNTERS && !gate_closed[GATE_NO_PDCM])
        return index - MSR_FULL_COUNTER;
    if (index - MSR_FIXED_COUNTER < FIXED_COUNTERS)
        return index - MSR_FIXED_COUNTER + GENERAL_COUNTERS;
    return COUNTERS;
}

static bool is_select(uint32_t index)
{
    return index - MSR_EVENT_SELECT < GENERAL_COUNTERS;
}

/* Version 4: what is programmed, for whoever shares the counters. */
static uint64_t in_use(const struct perfmon *perf)
{
    uint64_t used = 0;

    for (unsigned i = 0; i < COUNTERS; i++) {
        bool general = i < GENERAL_COUNTERS;
        uint64_t control =
            general ? perf->select[i] : perf->fixed_control >> 4 * (i - GENERAL_COUNTERS) & 15;

        if (general ? control & 0xFF : control & 3)
            used |= counter_bit(i);
        if (control & (general ? 1u << 20 : 8u))
            used |= IN_USE_PMI;
    }
    return used;
}

/* --- reading */

static uint64_t counter_value(struct model_cpu *cpu, unsigned counter)
{
    count_cycles(cpu);
    return cpu->perf.value[counter];
}

static bool control_read(const struct model_cpu *cpu, uint32_t index, uint64_t *value)
{
    const struct perfmon *perf = &cpu->perf;

    switch (index) {
    case MSR_FIXED_CONTROL:
        *value = perf->fixed_control;
        return true;
    case MSR_PERF_STATUS:
        *value = perf->status;
        return true;
    case MSR_PERF_CONTROL:
        *value = perf->control;
        return true;
    case MSR_PERF_STATUS_CLEAR:
        *value = 0;
        return true;
    case MSR_PERF_STATUS_SET:
        *value = 0;
        return freezes_by_status();
    case MSR_PERF_IN_USE:
        *value = in_use(perf);
        return freezes_by_status();
    case MSR_PEBS_ENABLE:
        *value = perf->pebs_enable;
        return pebs_exists() || defect(DEFECT_PEBS_ABSENT_ENABLED) ||
               defect(DEFECT_PEBS_ABSENT_UPPER);
    case MSR_PEBS_DATA:
        *value = perf->pebs_data;
        return pebs_exists() && pebs_capabilities() & CAPABILITY_BASELINE;
    }
    return false;
}

bool perfmon_read(struct model_cpu *cpu, uint32_t index, uint64_t *value)
{
    unsigned counter = counter_of(index);

    if (index == MSR_PERF_CAPABILITIES && !gate_closed[GATE_NO_PDCM]) {
        *value = capabilities();
        if (defect(DEFECT_CAPABILITIES_WRITABLE) || defect(DEFECT_CAPABILITIES_BIT))
            *value ^= cpu->perf.capabilities_written;
        return true;
    }
    if (index == MSR_PERF_CAPABILITIES || !perfmon_exists())
        return fault_raise(cpu, VECTOR_GP, 0);
    if (counter < COUNTERS)
        *value = counter_value(cpu, counter);
    else if (is_select(index))
        *value = cpu->perf.select[index - MSR_EVENT_SELECT];
    else if (!control_read(cpu, index, value))
        return fault_raise(cpu, VECTOR_GP, 0);
    return true;
}

bool perfmon_rdpmc(struct model_cpu *cpu, uint32_t which, uint64_t *value)
{
    bool fixed = which & RDPMC_FIXED && !defect(DEFECT_PMC_RDPMC_FIXED);
    bool any_ring = cpu->vmcb->save.cr4 & CR4_PCE || defect(DEFECT_PMC_RDPMC_ANY_RING);
    uint32_t number = which & ~RDPMC_FIXED;

    if ((guest_cpl(cpu) != 0 && !any_ring) || !perfmon_exists() ||
        number >= (fixed ? FIXED_COUNTERS : GENERAL_COUNTERS))
        return fault_raise(cpu, VECTOR_GP, 0);
    *value = counter_value(cpu, number + (fixed ? GENERAL_COUNTERS : 0));
    return true;
}

/* --- writing */

static bool capabilities_write(struct model_cpu *cpu, uint64_t value)
{
    bool one_bit = (value ^ capabilities()) == 1 << 6 && defect(DEFECT_CAPABILITIES_BIT);

    if (defect(DEFECT_CAPABILITIES_WRITABLE) || one_bit) {
        cpu->perf.capabilities_written = value ^ capabilities();
        return true;
    }
    if (gate_closed[GATE_NO_PDCM] || policy(POLICY_PERF_CAPABILITIES_WRITE) == READ_ONLY_GP)
        return fault_raise(cpu, VECTOR_GP, 0);
    return true;
}

/* The old register takes 32 bits and extends their sign; the others take all or fault. */
static bool counter_write(struct model_cpu *cpu, uint32_t index, unsigned counter,
                          uint64_t value)
{
    if (index - MSR_COUNTER < GENERAL_COUNTERS ||
        (counter < GENERAL_COUNTERS && defect(DEFECT_PMC_FULL_AS_32)))
        value = defect(DEFECT_PMC_NOT_EXTENDED) ? (uint32_t)value
                                                : (uint64_t)(int32_t)value & COUNTER_MASK;
    else if (counter - 1 < GENERAL_COUNTERS - 1 && defect(DEFECT_PMC_UPPER_WIDTH))
        value &= COUNTER_MASK;
    else if (value & ~COUNTER_MASK)
        return false;
    if (defect(DEFECT_PMC_WIDTH_40))
        value &= (1ull << 40) - 1;
    count_cycles(cpu);
    cpu->perf.value[counter] = value;
    cpu->perf.armed &= (uint8_t) ~(1u << counter);
    return true;
}

static bool pebs_enable_write(struct perfmon *perf, uint64_t value)
{
    bool absent = !pebs_exists() && !defect(DEFECT_PEBS_ABSENT_ENABLED) &&
                  (value & 1 || !defect(DEFECT_PEBS_ABSENT_UPPER));

    if (absent || (value & ~pebs_enable_bits() && !defect(DEFECT_PEBS_ANY_BIT)))
        return false;
    perf->pebs_enable = value;
    return true;
}

static bool adaptive_exists(void)
{
    return pebs_capabilities() & CAPABILITY_BASELINE;
}

static uint64_t select_bits(void)
{
    return UINT32_MAX | (adaptive_exists() ? SELECT_ADAPTIVE : 0);
}

static uint64_t fixed_control_bits(void)
{
    uint64_t bits = FIXED_CONTROL_BITS;

    for (unsigned i = 0; i < FIXED_COUNTERS && adaptive_exists(); i++)
        bits |= FIXED_ADAPTIVE << 4 * i;
    return bits;
}

static bool reserved_clear(uint64_t value, uint64_t known)
{
    return !(value & ~known) || defect(DEFECT_PMC_RESERVED);
}

static bool control_write(struct model_cpu *cpu, uint32_t index, uint64_t value)
{
    struct perfmon *perf = &cpu->perf;
    uint64_t clearable = STATUS_CLEARABLE | (freezes_by_status() ? STATUS_FROZEN : 0);

    switch (index) {
    case MSR_FIXED_CONTROL:
        if (!reserved_clear(value, fixed_control_bits()))
            return false;
        perf->fixed_control = value & fixed_control_bits();
        return true;
    case MSR_PERF_CONTROL:
        if (!reserved_clear(value, CONTROL_ALL))
            return false;
        perf->control = value & CONTROL_ALL;
        return true;
    case MSR_PERF_STATUS_CLEAR:
        if (value & ~clearable)
            return false;
        perf->status &= ~(defect(DEFECT_PMC_STATUS_STICKS) ? value & ~CONTROL_ALL : value);
        return true;
    case MSR_PERF_STATUS_SET:
        if (value & ~clearable || !freezes_by_status())
            return false;
        perf->status |= value;
        return true;
    case MSR_PEBS_ENABLE:
        return pebs_enable_write(perf, value);
    case MSR_PEBS_DATA:
        if (!adaptive_exists() || value & ~PEBS_DATA_BITS)
            return false;
        perf->pebs_data = value;
        return true;
    }
    return false;
}

bool perfmon_write(struct model_cpu *cpu, uint32_t index, uint64_t value)
{
    unsigned counter = counter_of(index);
    bool good;

    if (index == MSR_PERF_CAPABILITIES)
        return capabilities_write(cpu, value);
    if (!perfmon_exists())
        return fault_raise(cpu, VECTOR_GP, 0);
    if (counter < COUNTERS) {
        good = counter_write(cpu, index, counter, value);
    } else if (is_select(index)) {
        good = reserved_clear(value, select_bits()) ||
               (index != MSR_EVENT_SELECT && defect(DEFECT_PMC_UPPER_RESERVED));
        if (good)
            cpu->perf.select[index - MSR_EVENT_SELECT] = value & select_bits();
    } else {
        good = control_write(cpu, index, value);
    }
    cpu->perf.changed = true;
    return good || fault_raise(cpu, VECTOR_GP, 0);
}
