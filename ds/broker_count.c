/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The broker's counters: the global control is the OR of what the clients have, and
 * IA32_PEBS_ENABLE is what one of them has.
 *
 * What is wanted is published before it is written, and written again until it is what was
 * published last. So an NMI anywhere in here may change what is wanted, and neither it nor the
 * call that it interrupted leaves a stale value behind.
 */
#include "ds/broker_state.h"
#include "hw/irq.h"
#include "hw/pmc.h"

static bool counts(enum broker_client client)
{
    return client == BROKER_PEBS || client == BROKER_COUNTERS;
}

static bool nobody_counts(const struct broker_cpu *cpu)
{
    return !cpu->counters[BROKER_PEBS] && !cpu->counters[BROKER_COUNTERS] && !cpu->counting;
}

static uint64_t wanted_pebs(const struct broker_cpu *cpu)
{
    return cpu->held ? 0 : cpu->counters[BROKER_PEBS];
}

static uint64_t wanted_global(const struct broker_cpu *cpu)
{
    if (cpu->held)
        return 0;
    return cpu->global | cpu->counters[BROKER_PEBS] | cpu->counters[BROKER_COUNTERS];
}

/*
 * 0 or the vector of the first fault. A counter does not count while its PEBS bit goes off: an
 * overflow in between would set a status bit instead of writing a record.
 */
static int write_once(struct broker_cpu *cpu, uint64_t pebs, uint64_t global)
{
    uint64_t going = cpu->sampling & ~pebs;
    int vector = 0;

    if (going)
        vector = pmc_global_control_write(global & ~going);
    if (!vector && cpu->sampling != pebs) {
        cpu->sampling |= pebs; /* from here on DS_AREA may not move */
        vector = pmc_pebs_enable_write(pebs);
        if (!vector)
            cpu->sampling = pebs;
    }
    if (!vector && (!going || global & going))
        vector = pmc_global_control_write(global);
    return vector;
}

static int write_registers(struct broker_cpu *cpu)
{
    uint64_t pebs, global;
    int vector;

    for (unsigned tries = 0; tries < BROKER_TRIES; tries++) {
        pebs = wanted_pebs(cpu);
        global = wanted_global(cpu);
        cpu->counting |= (global & ~cpu->global) != 0;
        vector = write_once(cpu, pebs, global);
        if (!vector && global == wanted_global(cpu))
            cpu->counting = (global & ~cpu->global) != 0;
        if (vector || (pebs == wanted_pebs(cpu) && global == wanted_global(cpu)))
            return vector;
    }
    return 0;
}

/* Whoever comes first finds out what is enabled beside us, and leaves it so. */
static void find_others(struct broker_cpu *cpu)
{
    uint64_t found = 0;

    pmc_global_control_read(&found);
    /* An NMI may have been faster. */
    cpu->global = found & ~(cpu->counters[BROKER_PEBS] | cpu->counters[BROKER_COUNTERS]);
}

static enum ds_error may_count(const struct broker_cpu *cpu, enum broker_client client,
                               uint64_t counters)
{
    enum broker_client other = client == BROKER_PEBS ? BROKER_COUNTERS : BROKER_PEBS;

    if (!counts(client))
        return DS_EINVAL;
    if (counters & cpu->counters[other])
        return DS_EBUSY;
    if (client == BROKER_COUNTERS || !counters)
        return DS_OK;
    if (cpu->moving_area)
        return DS_EBUSY;
    return cpu->area ? DS_OK : DS_EFAULT;
}

static enum ds_error set(struct broker_cpu *cpu, enum broker_client client, uint64_t counters)
{
    uint64_t before = cpu->counters[client];

    /* Published already, by a call that we interrupted, need not be written already. */
    if (before == counters && cpu->sampling == wanted_pebs(cpu) &&
        cpu->counting == ((wanted_global(cpu) & ~cpu->global) != 0))
        return DS_OK;
    if (nobody_counts(cpu) && !cpu->held)
        find_others(cpu);
    cpu->counters[client] = counters;
    if (!write_registers(cpu))
        return DS_OK;
    cpu->counters[client] = before;
    write_registers(cpu);
    return DS_EOPNOTSUPP;
}

enum ds_error broker_count(enum broker_client client, uint64_t counters)
{
    irqflags_t flags = irq_save();
    struct broker_cpu *cpu = broker_cpu();
    enum ds_error error;

    /* Raised before the look at the area, which from now on no NMI may take away. */
    cpu->depth++;
    error = may_count(cpu, client, counters);
    if (error == DS_OK)
        error = set(cpu, client, counters);
    cpu->depth--;
    irq_restore(flags);
    return error;
}

uint64_t broker_counters(enum broker_client client)
{
    return client < BROKER_CLIENTS ? broker_cpu()->counters[client] : 0;
}

void broker_hold_counters(void)
{
    irqflags_t flags = irq_save();
    struct broker_cpu *cpu = broker_cpu();

    cpu->depth++;
    if (!cpu->held && nobody_counts(cpu))
        find_others(cpu);
    if (cpu->held++ == 0)
        write_registers(cpu);
    cpu->depth--;
    irq_restore(flags);
}

bool broker_release_counters(void)
{
    irqflags_t flags = irq_save();
    struct broker_cpu *cpu = broker_cpu();
    int vector = 0;

    cpu->depth++;
    if (cpu->held && --cpu->held == 0)
        vector = write_registers(cpu);
    cpu->depth--;
    irq_restore(flags);
    return !vector;
}

bool broker_counters_held(void)
{
    return broker_cpu()->held != 0;
}

void broker_drop_counters(struct broker_cpu *cpu)
{
    bool any = !nobody_counts(cpu) || cpu->held;

    cpu->held = 0;
    cpu->counters[BROKER_PEBS] = cpu->counters[BROKER_COUNTERS] = 0;
    if (any)
        write_registers(cpu);
}
