/* SPDX-License-Identifier: BSD-2-Clause */
/* Stores that take their time, by policy (seen late, or holding the program up), or have no
 * place. */
#include "hw/model/cpu.h"
#include "hw/model/policy.h"

#define HEAVY_TICKS 240000u

void record_hold_up(void)
{
    uint64_t start = __builtin_ia32_rdtsc();
    if (policy(POLICY_STORE_COST) != COST_HEAVY)
        return;
    while (__builtin_ia32_rdtsc() - start < HEAVY_TICKS)
        ;
}

bool record_nowhere(struct model_cpu *cpu)
{
    if (cpu->ds_area || policy(POLICY_NO_AREA) != NO_AREA_FAULT)
        return false;
    cpu->fault = (struct fault){.vector = VECTOR_PF};
    return true;
}

bool record_held(struct model_cpu *cpu, uint64_t place, const uint8_t *bytes, size_t count)
{
    if (policy(POLICY_LAST_RECORD) != LAST_LATE || count > sizeof(cpu->held_bytes))
        return false;
    record_serialise(cpu);
    for (size_t i = 0; i < count; i++)
        cpu->held_bytes[i] = bytes[i];
    cpu->held_place = place;
    cpu->held_count = (uint8_t)count;
    return true;
}

void record_serialise(struct model_cpu *cpu)
{
    struct fault kept = cpu->fault;
    if (cpu->held_place && policy(POLICY_LAST_RECORD) == LAST_LATE)
        guest_write(cpu, cpu->held_place, cpu->held_bytes, cpu->held_count, ACCESS_IMPLICIT);
    cpu->held_place = 0;
    cpu->fault = kept;
}
