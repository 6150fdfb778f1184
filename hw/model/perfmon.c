/* SPDX-License-Identifier: BSD-2-Clause */
/* Architectural performance monitoring, as far as an interrupt can freeze it.
 *
 * One fixed counter, for instructions retired. Nothing counts instructions of code that runs
 * untraced, so the counter is an estimate: one instruction for so many ticks of the
 * time-stamp counter. What it has exactly is when it runs and when it stands still (SDM
 * Vol. 3, "Architectural Performance Monitoring", "Freezing LBR and Performance Counters on
 * PMI"). It never overflows here: 48 bits last longer than a run. */
#include "hw/model/cpu.h"
#include "hw/model/defect.h"
#include "hw/model/gate.h"
#include "hw/model/policy.h"

#define TICKS_PER_INSTRUCTION 4
#define COUNTER_MASK          ((1ull << 48) - 1)

#define CONTROL_FIXED_0      (1ull << 32) /* of the global control */
#define FIXED_CONTROL_LEVELS 3ull
#define FIXED_CONTROL_ALL    0xbull /* levels, and interrupt on overflow */

#define STATUS_LBRS_FROZEN     (1ull << 58)
#define STATUS_COUNTERS_FROZEN (1ull << 59)
#define STATUS_BUFFER          (1ull << 62)
#define STATUS_CLEARABLE       (CONTROL_FIXED_0 | STATUS_BUFFER | 1ull << 63)
#define STATUS_FROZEN          (STATUS_LBRS_FROZEN | STATUS_COUNTERS_FROZEN)

/* Fields of IA32_PERF_CAPABILITIES: 64-bit addresses with flags in the branch stack. */
#define CAPABILITIES 3ull

bool perfmon_exists(void)
{
    return !gate_closed[GATE_NO_PERFMON];
}

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
    return cpu->perf_status & STATUS_LBRS_FROZEN;
}

/* --- the counter --- */

static uint64_t ticks(void)
{
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}

static bool counting(const struct model_cpu *cpu)
{
    return cpu->perf_control & CONTROL_FIXED_0 && cpu->fixed_control & FIXED_CONTROL_LEVELS &&
           !(cpu->perf_status & STATUS_COUNTERS_FROZEN);
}

/* Brings the counter up to now; to be called before anything that stops or starts it. */
static void advance_counter(struct model_cpu *cpu)
{
    uint64_t now = ticks();
    if (counting(cpu))
        cpu->fixed_counter += (now - cpu->counted_until) / TICKS_PER_INSTRUCTION;
    cpu->fixed_counter &= COUNTER_MASK;
    cpu->counted_until = now;
}

/* --- the interrupt of a full buffer --- */

void perfmon_on_interrupt(struct model_cpu *cpu)
{
    bool freeze_counters = cpu->debugctl & DEBUGCTL_FREEZE_PERFMON;
    bool freeze_lbrs = cpu->debugctl & DEBUGCTL_FREEZE_LBRS;
    if (!perfmon_exists())
        return;
    if (policy(POLICY_STATUS_DS_BUFFER) == STATUS_SET)
        cpu->perf_status |= STATUS_BUFFER;
    if (defect(DEFECT_FREEZE_PERFMON_IGNORED))
        freeze_counters = false;
    if (defect(DEFECT_FREEZE_LBRS_IGNORED))
        freeze_lbrs = false;
    if (defect(DEFECT_FREEZE_UNASKED))
        freeze_counters = true;
    advance_counter(cpu);
    if (freezes_by_status()) {
        cpu->perf_status |= freeze_counters ? STATUS_COUNTERS_FROZEN : 0;
        cpu->perf_status |= freeze_lbrs ? STATUS_LBRS_FROZEN : 0;
        return;
    }
    if (freeze_counters)
        cpu->perf_control = 0;
    if (freeze_lbrs)
        cpu->debugctl &= ~DEBUGCTL_LBR;
}

/* --- its registers --- */

bool perfmon_read(struct model_cpu *cpu, uint32_t index, uint64_t *value)
{
    if (index == MSR_PERF_CAPABILITIES && !gate_closed[GATE_NO_PDCM]) {
        *value = CAPABILITIES ^ cpu->capabilities_written;
        if (defect(DEFECT_FREEZE_SMM_CLAIMED))
            *value |= 1 << 12;
        return true;
    }
    if (index == MSR_PERF_CAPABILITIES || !perfmon_exists())
        return fault_raise(cpu, VECTOR_GP, 0);
    switch (index) {
    case MSR_FIXED_COUNTER_0:
        advance_counter(cpu);
        *value = cpu->fixed_counter;
        return true;
    case MSR_FIXED_CONTROL:
        *value = cpu->fixed_control;
        return true;
    case MSR_PERF_STATUS:
        *value = cpu->perf_status;
        return true;
    case MSR_PERF_CONTROL:
        *value = cpu->perf_control;
        return true;
    case MSR_PERF_STATUS_CLEAR:
        *value = 0;
        return true;
    }
    return fault_raise(cpu, VECTOR_GP, 0);
}

static bool capabilities_write(struct model_cpu *cpu, uint64_t value)
{
    if (defect(DEFECT_CAPABILITIES_WRITABLE)) {
        cpu->capabilities_written = value ^ CAPABILITIES;
        return true;
    }
    if (gate_closed[GATE_NO_PDCM] || policy(POLICY_PERF_CAPABILITIES_WRITE) == READ_ONLY_GP)
        return fault_raise(cpu, VECTOR_GP, 0);
    return true;
}

bool perfmon_write(struct model_cpu *cpu, uint32_t index, uint64_t value)
{
    if (index == MSR_PERF_CAPABILITIES)
        return capabilities_write(cpu, value);
    if (!perfmon_exists())
        return fault_raise(cpu, VECTOR_GP, 0);
    advance_counter(cpu);
    switch (index) {
    case MSR_FIXED_COUNTER_0:
        cpu->fixed_counter = value & COUNTER_MASK;
        return true;
    case MSR_FIXED_CONTROL:
        if (value & ~FIXED_CONTROL_ALL)
            break;
        cpu->fixed_control = value;
        return true;
    case MSR_PERF_CONTROL:
        if (value & ~CONTROL_FIXED_0)
            break;
        cpu->perf_control = value;
        return true;
    case MSR_PERF_STATUS_CLEAR:
        if (value & ~(STATUS_CLEARABLE | (freezes_by_status() ? STATUS_FROZEN : 0)))
            break;
        cpu->perf_status &= ~value;
        return true;
    }
    return fault_raise(cpu, VECTOR_GP, 0);
}
