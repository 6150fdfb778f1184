/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Around the broker: taking over and handing back a processor, the raw probe, and snapshots.
 * Whole-register writes happen only here, and TR is off whenever DS_AREA changes.
 */
#include "ds/broker_state.h"
#include "hw/cpu.h"
#include "hw/irq.h"
#include "hw/msr.h"
#include "hw/pmc.h"

/*
 * The order that is safe whatever the registers held: trace off, area, the rest with TR. An NMI
 * that comes while DS_AREA is being moved leaves it to the call that moves it.
 */
static void write_both(const struct broker_cpu *cpu, uint64_t debugctl, uint64_t ds_area)
{
    if (cpu->has_debugctl)
        msr_write_try(MSR_IA32_DEBUGCTL, debugctl & ~DEBUGCTL_TR);
    if (cpu->has_ds_area && !cpu->moving_area)
        msr_write_try(MSR_IA32_DS_AREA, ds_area);
    if (cpu->has_debugctl && debugctl & DEBUGCTL_TR)
        msr_write_try(MSR_IA32_DEBUGCTL, debugctl);
}

void broker_init(void)
{
    irqflags_t flags = irq_save();
    struct broker_cpu *cpu = broker_cpu();
    unsigned count = __atomic_load_n(&broker_processors, __ATOMIC_RELAXED);
    uint64_t owned = 0;

    while (count <= cpu_index() &&
           !__atomic_compare_exchange_n(&broker_processors, &count, cpu_index() + 1, false,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
    *cpu = (struct broker_cpu){.rearm = (1u << BROKER_CLIENTS) - 1};
    cpu->has_debugctl = !msr_read_try(MSR_IA32_DEBUGCTL, &cpu->found_debugctl);
    cpu->has_ds_area = !msr_read_try(MSR_IA32_DS_AREA, &cpu->found_ds_area);
    for (int client = 0; client < BROKER_CLIENTS; client++)
        owned |= broker_client_bits(client);
    cpu->unowned = cpu->found_debugctl & ~owned;
    cpu->shadow = cpu->unowned;
    /* Whoever samples must not do so into an area that is about to be 0. */
    if (!pmc_pebs_enable_read(&cpu->found_pebs) && cpu->found_pebs)
        pmc_pebs_enable_write(0);
    write_both(cpu, cpu->unowned, 0);
    irq_restore(flags);
}

void broker_hand_back(void)
{
    irqflags_t flags = irq_save();
    struct broker_cpu *cpu = broker_cpu();

    broker_drop_counters(cpu);
    write_both(cpu, cpu->found_debugctl, cpu->found_ds_area);
    if (cpu->found_pebs)
        pmc_pebs_enable_write(cpu->found_pebs);
    irq_restore(flags);
}

int broker_raw_write_debugctl(uint64_t value)
{
    return msr_write_try(MSR_IA32_DEBUGCTL, value);
}

int broker_raw_write_ds_area(uint64_t value)
{
    return msr_write_try(MSR_IA32_DS_AREA, value);
}

int broker_raw_read_debugctl(uint64_t *value)
{
    return msr_read_try(MSR_IA32_DEBUGCTL, value);
}

int broker_raw_read_ds_area(uint64_t *value)
{
    return msr_read_try(MSR_IA32_DS_AREA, value);
}

/* An NMI may have changed a mask while the registers were being written: then once more. */
static void resync(struct broker_cpu *cpu)
{
    uint64_t seen;
    unsigned tries = 0;

    cpu->depth++;
    do {
        seen = cpu->writes;
        write_both(cpu, broker_value(cpu), (uintptr_t)cpu->area);
        cpu->shadow = broker_value(cpu);
    } while (cpu->writes != seen && ++tries < BROKER_TRIES);
    cpu->writes++;
    cpu->depth--;
}

void broker_resync(void)
{
    irqflags_t flags = irq_save();

    resync(broker_cpu());
    irq_restore(flags);
}

void broker_save(struct broker_state *out)
{
    irqflags_t flags = irq_save();
    struct broker_cpu *cpu = broker_cpu();

    *out = (struct broker_state){.rearm = cpu->rearm, .area = cpu->area};
    for (int client = 0; client < BROKER_CLIENTS; client++) {
        out->bits[client] = cpu->bits[client];
        out->counters[client] = cpu->counters[client];
    }
    broker_raw_read_debugctl(&out->debugctl);
    broker_raw_read_ds_area(&out->ds_area);
    irq_restore(flags);
}

void broker_restore(const struct broker_state *state)
{
    irqflags_t flags = irq_save();
    struct broker_cpu *cpu = broker_cpu();

    /* A check that ended in a fault may have been unwound out of the middle of a call. */
    cpu->depth = 0;
    cpu->moving_area = false;
    broker_drop_counters(cpu);
    for (int client = 0; client < BROKER_CLIENTS; client++)
        cpu->bits[client] = state->bits[client];
    cpu->rearm = state->rearm;
    cpu->area = state->area;
    resync(cpu);
    for (int client = 0; client < BROKER_CLIENTS; client++)
        if (state->counters[client])
            broker_count(client, state->counters[client]);
    irq_restore(flags);
}

void broker_leak(const struct broker_state *state, uint64_t *debugctl, uint64_t *ds_area)
{
    struct broker_state now;

    broker_save(&now);
    *debugctl = now.debugctl ^ state->debugctl;
    *ds_area = now.ds_area ^ state->ds_area;
}
