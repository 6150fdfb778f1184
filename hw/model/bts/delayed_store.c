/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stores that take their time, by policy (seen late, or holding the program up), or have no
 * place.
 */
#include "hw/model/bts/bts.h"
#include "hw/model/trial/defect.h"
#include "hw/model/trial/policy.h"

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

uint64_t record_bent_index(struct model_cpu *cpu, uint64_t after, uint64_t base, uint64_t index,
                           uint64_t bytes)
{
    if (defect(DEFECT_INDEX_LINE) && after >= base + 32 * bytes)
        after += 8;
    if (!defect(DEFECT_INDEX_HALF_CACHED))
        return after;
    if (cpu->index_kept && index != cpu->index_kept)
        after = cpu->index_kept + bytes;
    cpu->index_kept = after;
    return after;
}

/* The map of the first record serves every later one of its page. */
bool record_stale(struct model_cpu *cpu, uint64_t place, const uint8_t *bytes, size_t count,
                  unsigned access, bool *done)
{
    uint64_t physical;

    if (!defect(DEFECT_STALE_MAP))
        return false;
    if (cpu->first_record_linear != (place & ~4095ull)) {
        *done = guest_translate(cpu, place, access | ACCESS_WRITE, &physical);
        if (*done && !cpu->first_record_linear) {
            cpu->first_record_linear = place & ~4095ull;
            cpu->first_record_page = physical & ~4095ull;
        }
        return !*done;
    }
    if (count > 4096 - (place & 4095))
        return false;
    uint8_t *to = guest_physical(cpu, cpu->first_record_page | (place & 4095));
    for (size_t i = 0; i < count; i++)
        to[i] = bytes[i];
    *done = true;
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

uint64_t record_old_tables(struct model_cpu *cpu)
{
    uint64_t now = cpu->vmcb->save.cr3, before = cpu->tables_seen;

    cpu->tables_seen = now;
    if (defect(DEFECT_TABLES_ONE_LATE) && before && before != now) {
        cpu->vmcb->save.cr3 = before;
        guest_forget_translations(cpu);
    }
    return now;
}

void record_own_tables(struct model_cpu *cpu, uint64_t cr3)
{
    if (cpu->vmcb->save.cr3 == cr3)
        return;
    cpu->vmcb->save.cr3 = cr3;
    guest_forget_translations(cpu);
}
