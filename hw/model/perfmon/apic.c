/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interrupt of a full buffer or a counter, through the guest's own local APIC.
 *
 * The performance entry of the local vector table says how (SDM Vol. 3, "Local Vector
 * Table"): its mask bit is set, then the processor sends the same to itself.
 */
#include "hw/model/perfmon/perfmon.h"
#include "hw/model/processor/insns.h"
#include "hw/model/trial/defect.h"
#include "hw/model/trial/feature_gate.h"

enum {
    REGISTER_ID = 0x20,
    REGISTER_ICR = 0x300,
    REGISTER_ICR_HIGH = 0x310,
    REGISTER_LVT_PERFORMANCE = 0x340
};
enum {
    LVT_MODE = 0x700,
    LVT_FIXED = 0x000,
    LVT_NMI = 0x400,
    LVT_MASKED = 0x10000,
    ICR_PENDING = 0x1000,
    ICR_ASSERT = 0x4000,
    ICR_SELF = 0x40000
};

#define SEND_WAIT_LIMIT 100000

static uint64_t apic_base(void)
{
    return read_msr(MSR_APIC_BASE);
}

static volatile uint32_t *memory_register(uint64_t base, unsigned offset)
{
    return (volatile uint32_t *)(uintptr_t)((base & 0xFFFFFF000ull) + offset);
}

static uint32_t lvt_read(uint64_t base)
{
    if (base & APIC_BASE_X2APIC)
        return (uint32_t)read_msr(MSR_X2APIC + (REGISTER_LVT_PERFORMANCE >> 4));
    return *memory_register(base, REGISTER_LVT_PERFORMANCE);
}

static void lvt_write(uint64_t base, uint32_t value)
{
    if (base & APIC_BASE_X2APIC)
        write_msr(MSR_X2APIC + (REGISTER_LVT_PERFORMANCE >> 4), value);
    else
        *memory_register(base, REGISTER_LVT_PERFORMANCE) = value;
}

static void wait_until_sent(uint64_t base)
{
    for (unsigned i = 0; i < SEND_WAIT_LIMIT; i++)
        if (!(*memory_register(base, REGISTER_ICR) & ICR_PENDING))
            return;
}

/*
 * The guest may be between its own writes to the two halves of the ICR: the high one is put
 * back. An NMI cannot use the self shorthand, so it goes to this processor's ID.
 */
static void send_to_self(uint64_t base, uint32_t command)
{
    bool nmi = (command & LVT_MODE) == LVT_NMI;

    if (base & APIC_BASE_X2APIC) {
        uint64_t id = read_msr(MSR_X2APIC + (REGISTER_ID >> 4));
        uint64_t wide = command | ICR_ASSERT;

        write_msr(MSR_X2APIC + (REGISTER_ICR >> 4), nmi ? wide | id << 32 : wide | ICR_SELF);
        return;
    }
    uint32_t high = *memory_register(base, REGISTER_ICR_HIGH);
    wait_until_sent(base);
    if (nmi) {
        *memory_register(base, REGISTER_ICR_HIGH) = *memory_register(base, REGISTER_ID);
        *memory_register(base, REGISTER_ICR) = command | ICR_ASSERT;
    } else {
        *memory_register(base, REGISTER_ICR) = command | ICR_ASSERT | ICR_SELF;
    }
    wait_until_sent(base);
    *memory_register(base, REGISTER_ICR_HIGH) = high;
}

/* The performance entry, as if this were its state after reset. */
void interrupt_entry_reset(uint32_t value)
{
    lvt_write(apic_base(), value);
}

/*
 * One for all causes of an instruction: SDM Vol. 3, "Processor Event Based Sampling (PEBS)",
 * holds it back until both halves of the area are done.
 */
void interrupt_send(struct model_cpu *cpu)
{
    uint64_t base = apic_base();
    unsigned causes = cpu->interrupt_causes;

    cpu->interrupt_causes = 0;
    if (!(base & APIC_BASE_ENABLE))
        return;
    uint32_t lvt = lvt_read(base), mode = lvt & LVT_MODE;
    bool open = defect(DEFECT_PMI_MASK_IGNORED) ||
                (gate_closed[GATE_NETBURST] && defect(DEFECT_NETBURST_MASK_FREE));
    if (lvt & LVT_MASKED && !open)
        return;
    if (mode != LVT_FIXED && mode != LVT_NMI)
        return;
    if (!defect(DEFECT_PMI_MASK_CLEAR) &&
        !(gate_closed[GATE_NETBURST] && defect(DEFECT_NETBURST_UNMASKED)))
        lvt_write(base, lvt | LVT_MASKED);
    if (mode == LVT_NMI && defect(DEFECT_PMI_NO_NMI))
        return;
    if (mode == LVT_NMI && defect(DEFECT_PMI_AS_FIXED))
        mode = LVT_FIXED;
    perfmon_on_interrupt(cpu, causes);
    send_to_self(base, mode | ((lvt & 0xFF) ^ (defect(DEFECT_PMI_VECTOR) ? 4 : 0)));
}
