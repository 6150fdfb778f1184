/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Client masks, and the one place that turns them into writes of DEBUGCTL and DS_AREA. The raw
 * probe and the snapshots are in ds/broker_raw.c.
 */
#include "ds/broker.h"

#include "ds/broker_state.h"
#include "ds/range.h"
#include "hw/cpu.h"
#include "hw/irq.h"
#include "hw/msr.h"
#include "hw/paging.h"

#define STORING (DEBUGCTL_TR | DEBUGCTL_BTS)

static struct broker_cpu states[CPU_MAX];
unsigned broker_processors;

struct broker_cpu *broker_cpu(void)
{
    return &states[cpu_index()];
}

uint64_t broker_client_bits(enum broker_client client)
{
    switch (client) {
    case BROKER_BTS:
        return STORING | DEBUGCTL_BTINT | DEBUGCTL_BTS_OFF_OS | DEBUGCTL_BTS_OFF_USR;
    case BROKER_BLOCK_STEP:
        return DEBUGCTL_BTF;
    case BROKER_LBR:
        return DEBUGCTL_LBR;
    case BROKER_FREEZE:
        return DEBUGCTL_FREEZE_LBRS_ON_PMI | DEBUGCTL_FREEZE_PERFMON_ON_PMI |
               DEBUGCTL_FREEZE_WHILE_SMM;
    case BROKER_PEBS:
    case BROKER_COUNTERS:
    case BROKER_CLIENTS:
        break;
    }
    return 0;
}

uint64_t broker_value(const struct broker_cpu *cpu)
{
    uint64_t value = cpu->unowned;

    for (int client = 0; client < BROKER_CLIENTS; client++)
        value |= cpu->bits[client];
    return value;
}

static uint64_t value_with(const struct broker_cpu *cpu, enum broker_client client,
                           uint64_t bits)
{
    uint64_t value = cpu->unowned | bits;

    for (int other = 0; other < BROKER_CLIENTS; other++)
        if (other != (int)client)
            value |= cpu->bits[other];
    return value;
}

/*
 * The register write comes before the mask is published, so that a fault leaves nothing behind.
 * An NMI anywhere in here may write the register from masks that lack ours, or leave us with a
 * value that lacks its own; it then has moved the write count, and we start over.
 */
int broker_commit(struct broker_cpu *cpu, enum broker_client client, uint64_t bits)
{
    uint64_t before = cpu->bits[client];
    int vector = 0;

    for (unsigned tries = 0; tries < BROKER_TRIES; tries++) {
        uint64_t seen = cpu->writes;
        uint64_t value = value_with(cpu, client, bits);
        int fault = msr_write_try(MSR_IA32_DEBUGCTL, value);

        if (fault && tries == 0)
            return fault;
        if (fault) {
            /* Accepted a moment ago, refused beside an NMI's new bits: ours give way. */
            vector = fault;
            bits = before;
            continue;
        }
        cpu->bits[client] = bits;
        cpu->shadow = value;
        if (cpu->writes == seen) {
            cpu->writes = seen + 1;
            return vector;
        }
    }
    return vector;
}

/* TR with a DS area that is 0 or on the move can take a real machine down. */
static enum ds_error may_set(const struct broker_cpu *cpu, enum broker_client client,
                             uint64_t bits)
{
    if (client >= BROKER_CLIENTS || bits & ~broker_client_bits(client))
        return DS_EINVAL;
    if ((bits & STORING) != STORING || (cpu->bits[client] & STORING) == STORING)
        return DS_OK;
    if (cpu->moving_area)
        return DS_EBUSY;
    return cpu->area ? DS_OK : DS_EFAULT;
}

enum ds_error broker_set(enum broker_client client, uint64_t bits)
{
    irqflags_t flags = irq_save();
    struct broker_cpu *cpu = broker_cpu();
    enum ds_error error;

    /* Raised before the look at the area, which from now on no NMI may take away. */
    cpu->depth++;
    error = may_set(cpu, client, bits);
    if (error == DS_OK && broker_commit(cpu, client, bits))
        error = DS_EOPNOTSUPP;
    cpu->depth--;
    irq_restore(flags);
    return error;
}

enum ds_error broker_clear(enum broker_client client)
{
    return broker_set(client, 0);
}

uint64_t broker_bits(enum broker_client client)
{
    return client < BROKER_CLIENTS ? broker_cpu()->bits[client] : 0;
}

uint64_t broker_shadow(void)
{
    return broker_cpu()->shadow;
}

struct ds_area *broker_ds_area(void)
{
    return broker_cpu()->area;
}

static enum ds_error may_point_at(const struct ds_area *area)
{
    uint64_t linear = (uintptr_t)area;

    if (!area)
        return DS_OK;
    if (linear % sizeof(uint64_t) ||
        range_place(&ds_layout_64, linear, sizeof(*area)) != RANGE_GOOD)
        return DS_EINVAL;
    return range_pages(paging_current(), linear, sizeof(*area), false) == RANGE_GOOD
               ? DS_OK
               : DS_EFAULT;
}

/* One index, two writers: what is stored through a shared area is anybody's guess. */
static bool held_elsewhere(const struct broker_cpu *cpu, const struct ds_area *area)
{
    unsigned count = __atomic_load_n(&broker_processors, __ATOMIC_RELAXED);

    for (unsigned i = 0; area && i < count; i++)
        if (&states[i] != cpu && __atomic_load_n(&states[i].area, __ATOMIC_RELAXED) == area)
            return true;
    return false;
}

/* Interrupts are off. An NMI from here on finds moving_area set and starts no trace. */
static enum ds_error move_area(struct broker_cpu *cpu, struct ds_area *area)
{
    enum ds_error error = DS_OK;

    cpu->moving_area = true;
    if (area != cpu->area &&
        (cpu->bits[BROKER_BTS] & DEBUGCTL_TR || cpu->sampling || cpu->counters[BROKER_PEBS]))
        error = DS_EBUSY;
    else if (held_elsewhere(cpu, area))
        error = DS_EBUSY;
    else if (msr_write_try(MSR_IA32_DS_AREA, (uintptr_t)area))
        error = DS_EOPNOTSUPP;
    else
        cpu->area = area;
    cpu->moving_area = false;
    return error;
}

enum ds_error broker_set_ds_area(struct ds_area *area)
{
    enum ds_error error = may_point_at(area);
    irqflags_t flags;
    struct broker_cpu *cpu;

    if (error != DS_OK)
        return error;
    flags = irq_save();
    cpu = broker_cpu();
    if (cpu->depth) {
        /* We are an NMI inside another call, which may be about to write a stale TR. */
        error = DS_EBUSY;
    } else {
        cpu->depth++;
        error = move_area(cpu, area);
        cpu->depth--;
    }
    irq_restore(flags);
    return error;
}

uint64_t broker_db_taken(void)
{
    irqflags_t flags = irq_save();
    struct broker_cpu *cpu = broker_cpu();
    uint64_t held = broker_value(cpu) & ~cpu->unowned;
    uint64_t lost = held ? held & ~msr_read(MSR_IA32_DEBUGCTL) : 0;

    /* A call that we interrupted may have set bits that it has not published yet. */
    cpu->writes++;
    if (lost) {
        cpu->depth++;
        for (int client = 0; client < BROKER_CLIENTS; client++)
            if (cpu->bits[client] & lost)
                broker_commit(cpu, client,
                              cpu->rearm & 1u << client ? cpu->bits[client]
                                                        : cpu->bits[client] & ~lost);
        cpu->depth--;
    }
    irq_restore(flags);
    return lost;
}

void broker_rearm(enum broker_client client, bool after_db)
{
    irqflags_t flags = irq_save();
    struct broker_cpu *cpu = broker_cpu();

    if (client < BROKER_CLIENTS && after_db)
        cpu->rearm |= 1u << client;
    else if (client < BROKER_CLIENTS)
        cpu->rearm &= ~(1u << client);
    irq_restore(flags);
}

/*
 * The assembly WRMSR cannot report a fault, so the value is tried first without TR, which
 * stores nothing. From the publication on a handler inside fn sees the client's bits as set.
 */
static enum ds_error open_bracket(struct broker_cpu *cpu, enum broker_client client,
                                  uint64_t bits, uint64_t *on, uint64_t *off)
{
    enum ds_error error = may_set(cpu, client, bits);

    if (error != DS_OK)
        return error;
    if (cpu->bits[client] & DEBUGCTL_TR)
        return DS_EBUSY;
    *off = broker_value(cpu);
    *on = value_with(cpu, client, bits);
    if (msr_write_try(MSR_IA32_DEBUGCTL, *on & ~DEBUGCTL_TR)) {
        error = DS_EOPNOTSUPP;
    } else {
        cpu->bits[client] = bits;
        cpu->shadow = *on;
    }
    return error;
}

enum ds_error broker_bracket(enum broker_client client, uint64_t bits, uint64_t (*fn)(void *),
                             void *arg, uint64_t *value)
{
    irqflags_t flags = irq_save();
    struct broker_cpu *cpu = broker_cpu();
    uint64_t before = broker_bits(client);
    uint64_t on, off, result;
    enum ds_error error;

    /* In progress until the end: nobody may take the area from a trace about to start. */
    cpu->depth++;
    error = open_bracket(cpu, client, bits, &on, &off);
    irq_restore(flags);
    if (error != DS_OK) {
        cpu->depth--;
        return error;
    }
    result = ds_bracket(on, off, fn, arg, MSR_IA32_DEBUGCTL);
    if (value)
        *value = result;
    /* off may be stale by now: fn, or a handler inside it, may have changed other masks. */
    flags = irq_save();
    broker_commit(cpu, client, before);
    cpu->depth--;
    irq_restore(flags);
    return DS_OK;
}
