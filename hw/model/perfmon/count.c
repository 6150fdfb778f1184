/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counting what retires.
 *
 * While a counter is on the guest is stepped, so every instruction passes by here: SDM
 * Vol. 3, "Pre-defined Architectural Performance Events". One that faults has not retired;
 * one with REP retires once, at its end. The model has no cycles of its own: CMASK, INV and
 * EDGE act as if each instruction took one, and the events for cycles are fed from the
 * time-stamp counter.
 */
#include "hw/model/perfmon/perfmon.h"
#include "hw/model/trial/defect.h"
#include "hw/model/trial/policy.h"

#define SELECT_USR       (1u << 16)
#define SELECT_OS        (1u << 17)
#define SELECT_EDGE      (1u << 18)
#define SELECT_INTERRUPT (1u << 20)
#define SELECT_ENABLE    (1u << 22)
#define SELECT_INVERT    (1u << 23)
#define FIXED_OS         1u
#define FIXED_USR        2u
#define FIXED_INTERRUPT  8u
#define EVENTS_TO_ARM    3u
/* An overflow of cycles is near: about a tenth of a second, some ticks of a guest's timer. */
#define TICKS_NEAR (1ull << 28)

/* --- what a control asks for */

/* Unit masks of the branch event as in the event lists of the Core family. */
static uint8_t branch_event(uint8_t mask)
{
    switch (mask) {
    case 0x00:
        return COUNT_BRANCHES;
    case 0x01:
        return COUNT_CONDITIONAL;
    case 0x02:
        return COUNT_NEAR_CALLS;
    case 0x08:
        return COUNT_NEAR_RETURNS;
    case 0x10:
        return COUNT_NOT_TAKEN;
    case 0x20:
        return COUNT_NEAR_TAKEN;
    case 0x40:
        return COUNT_FAR;
    }
    return COUNT_NOTHING;
}

static uint8_t selected_event(uint64_t select)
{
    uint8_t mask = (uint8_t)(select >> 8);

    switch (select & 0xFF) {
    case 0x3C:
        return mask <= 1 ? COUNT_CYCLES : COUNT_NOTHING;
    case 0xC0:
        return mask == 0 ? COUNT_INSTRUCTIONS : COUNT_NOTHING;
    case 0xC4:
        return branch_event(mask);
    }
    return COUNT_NOTHING;
}

static struct counting general_counting(uint64_t select)
{
    struct counting counting = {.at_least = (uint8_t)(select >> 24),
                                .invert = select & SELECT_INVERT,
                                .edge = select & SELECT_EDGE,
                                .interrupts = select & SELECT_INTERRUPT};

    if (select & SELECT_ENABLE || defect(DEFECT_PMC_ENABLE_IGNORED))
        counting.event = selected_event(select);
    counting.rings =
        (uint8_t)((select & SELECT_OS ? RING_0 : 0) | (select & SELECT_USR ? RINGS_OUTER : 0));
    return counting;
}

static struct counting fixed_counting(uint64_t control, unsigned number)
{
    unsigned field = control >> (4 * number) & 15;

    return (struct counting){.event = number == 0 ? COUNT_INSTRUCTIONS : COUNT_CYCLES,
                             .rings = (uint8_t)((field & FIXED_OS ? RING_0 : 0) |
                                                (field & FIXED_USR ? RINGS_OUTER : 0)),
                             .interrupts = field & FIXED_INTERRUPT};
}

void count_refresh(struct model_cpu *cpu)
{
    struct perfmon *perf = &cpu->perf;

    count_cycles(cpu);
    perf->changed = false;
    perf->live = 0;
    for (unsigned i = 0; i < COUNTERS && perfmon_exists(); i++) {
        struct counting *counting = &perf->counting[i];

        *counting = i < GENERAL_COUNTERS
                        ? general_counting(perf->select[i])
                        : fixed_counting(perf->fixed_control, i - GENERAL_COUNTERS);
        bool enabled = perf->control & counter_bit(i) ||
                       (i < GENERAL_COUNTERS && defect(DEFECT_PMC_GLOBAL_IGNORED)) ||
                       (i > GENERAL_COUNTERS && defect(DEFECT_PMC_CYCLES_GLOBAL));
        if (enabled && counting->event != COUNT_NOTHING && counting->rings &&
            !(perf->status & STATUS_COUNTERS_FROZEN))
            perf->live |= (uint8_t)(1u << i);
    }
    perf->level &= perf->live;
}

/* --- adding */

static bool precise(uint8_t event)
{
    return event >= COUNT_INSTRUCTIONS;
}

static void overflow(struct model_cpu *cpu, unsigned counter)
{
    struct perfmon *perf = &cpu->perf;
    const struct counting *counting = &perf->counting[counter];
    bool interrupts = counting->interrupts || defect(DEFECT_PMC_PMI_UNASKED);
    bool shared = counter > GENERAL_COUNTERS && defect(DEFECT_PMC_FIXED_BIT);

    if (!defect(DEFECT_PMC_OVERFLOW_SILENT))
        perf->status |= counter_bit(shared ? GENERAL_COUNTERS : counter);
    if (!(perf->pebs_enable & counter_bit(counter))) {
        if (interrupts && !defect(DEFECT_PMC_NO_PMI))
            interrupt_request(cpu, INTERRUPT_COUNTER);
    } else if (precise(counting->event)) {
        perf->armed |= (uint8_t)(1u << counter);
        perf->arming[counter] = policy(POLICY_PEBS_ARMING) == ARMING_LATER ? EVENTS_TO_ARM : 0;
    }
}

static void add(struct model_cpu *cpu, unsigned counter, uint64_t events)
{
    uint64_t value = cpu->perf.value[counter] + events;

    if (defect(DEFECT_PMC_LONG_RUN) && (value ^ cpu->perf.value[counter]) >> 16 & 1)
        value--;
    cpu->perf.value[counter] = value & COUNTER_MASK;
    if (value > COUNTER_MASK)
        overflow(cpu, counter);
}

static bool ring_counts(const struct counting *counting, unsigned cpl)
{
    if (cpl == 0 && defect(DEFECT_PMC_OS_IGNORED))
        return true;
    bool inner = defect(DEFECT_PMC_RINGS_EXCHANGED) ? cpl != 0 : cpl == 0;
    return counting->rings & (inner ? RING_0 : RINGS_OUTER);
}

void count_cycles(struct model_cpu *cpu)
{
    struct perfmon *perf = &cpu->perf;
    uint64_t now = perfmon_ticks(), passed = now - perf->cycles_until;
    perf->cycles_until = now;
    for (unsigned i = 0; i < COUNTERS; i++)
        if (perf->live >> i & 1 && perf->counting[i].event == COUNT_CYCLES && !cpu->halted &&
            ring_counts(&perf->counting[i], guest_cpl(cpu)))
            add(cpu, i, passed);
}

/* --- events */

static bool is_far(const struct retired *r)
{
    return r->class >= INSN_JMP_FAR && r->class <= INSN_SYSEXIT;
}

static bool is_conditional(uint8_t class)
{
    return class == INSN_JCC || class == INSN_LOOP || class == INSN_JCXZ;
}

static uint64_t events_of(uint8_t event, const struct retired *r)
{
    bool branch = insn_is_transfer(r->class);

    switch (event) {
    case COUNT_INSTRUCTIONS:
        return r->count;
    case COUNT_BRANCHES:
        return branch && (r->taken || !defect(DEFECT_PMC_TAKEN_ONLY));
    case COUNT_CONDITIONAL:
        return is_conditional(r->class);
    case COUNT_NEAR_CALLS:
        return r->class == INSN_CALL || r->class == INSN_CALL_INDIRECT;
    case COUNT_NEAR_RETURNS:
        return r->class == INSN_RET;
    case COUNT_NOT_TAKEN:
        return is_conditional(r->class) && !r->taken;
    case COUNT_NEAR_TAKEN:
        return branch && (r->taken || defect(DEFECT_PMC_NEAR_ALL)) && !is_far(r);
    case COUNT_FAR:
        return branch && is_far(r);
    }
    return 0;
}

/* By how much the counter moves: CMASK, INV and EDGE look at the one instruction. */
static uint64_t increment(struct perfmon *perf, unsigned counter, const struct retired *r)
{
    const struct counting *counting = &perf->counting[counter];
    uint64_t events = events_of(counting->event, r);

    if (counting->at_least)
        events = (events >= counting->at_least) != counting->invert;
    if (counting->edge) {
        bool before = perf->level >> counter & 1;

        perf->level &= (uint8_t) ~(1u << counter);
        perf->level |= (uint8_t)((events != 0) << counter);
        events = events != 0 && !before;
    }
    return events;
}

/* An overflow waits for its event, also while sampling is off in between. */
static bool is_armed(const struct perfmon *perf, unsigned counter)
{
    return perf->armed >> counter & 1 && perf->pebs_enable & counter_bit(counter);
}

bool count_retired(struct model_cpu *cpu, const struct retired *r)
{
    struct perfmon *perf = &cpu->perf;
    unsigned cpl = policy(POLICY_PMC_CROSSING) == CPL_BEFORE ? r->cpl_before : r->cpl_after;
    unsigned due = 0, cycles = 0;

    for (unsigned i = 0; i < COUNTERS; i++) {
        const struct counting *counting = &perf->counting[i];

        if (!(perf->live >> i & 1))
            continue;
        if (counting->event == COUNT_CYCLES) {
            cycles = 1;
            continue;
        }
        bool armed = is_armed(perf, i);
        bool selected = ring_counts(counting, cpl) || (armed && defect(DEFECT_PEBS_ANY_RING));
        uint64_t events = selected ? increment(perf, i, r) : 0;
        if (events && armed && perf->arming[i]) {
            perf->arming[i]--;
            add(cpu, i, events);
            continue;
        }
        if (events && !armed)
            add(cpu, i, events);
        if (events && (armed || (is_armed(perf, i) && defect(DEFECT_PEBS_FIRST_EVENT))))
            due |= 1u << i;
    }
    if (cycles)
        count_cycles(cpu);
    if (!due)
        return true;
    enum pebs_outcome outcome = pebs_record(cpu, due, r);
    for (unsigned i = 0; outcome != PEBS_STORED && i < COUNTERS; i++)
        if (due >> i & 1)
            add(cpu, i, 1);
    return outcome != PEBS_FAULT;
}

bool count_plain(struct model_cpu *cpu, uint64_t linear, unsigned count)
{
    uint8_t cpl = (uint8_t)guest_cpl(cpu);
    struct retired retired = {.linear = linear,
                              .count = count,
                              .class = INSN_PLAIN,
                              .cpl_before = cpl,
                              .cpl_after = cpl};

    return count == 0 || count_retired(cpu, &retired);
}

unsigned count_limit(const struct model_cpu *cpu)
{
    const struct perfmon *perf = &cpu->perf;
    unsigned limit = ~0u;

    for (unsigned i = 0; i < COUNTERS; i++) {
        const struct counting *counting = &perf->counting[i];

        if (!(perf->live >> i & 1) || !ring_counts(counting, guest_cpl(cpu)))
            continue;
        if (counting->at_least || counting->edge)
            return 1;
        if (counting->event != COUNT_INSTRUCTIONS)
            continue;
        uint64_t left = is_armed(perf, i) ? 1 : COUNTER_MASK + 1 - perf->value[i];
        if (left < limit)
            limit = (unsigned)left;
    }
    return limit;
}

unsigned count_room(const struct model_cpu *cpu)
{
    const struct perfmon *perf = &cpu->perf;
    uint64_t room = ~0u;

    for (unsigned i = 0; i < COUNTERS; i++) {
        const struct counting *counting = &perf->counting[i];

        if (!(perf->live >> i & 1) || counting->event == COUNT_CYCLES)
            continue;
        if (counting->at_least || counting->edge || is_armed(perf, i))
            return 0;
        uint64_t left = COUNTER_MASK - perf->value[i];
        if (ring_counts(counting, guest_cpl(cpu)) && left < room)
            room = left;
    }
    return (unsigned)room;
}

void count_quietly(struct model_cpu *cpu, const struct retired *r)
{
    struct perfmon *perf = &cpu->perf;

    for (unsigned i = 0; i < COUNTERS; i++)
        if (perf->live >> i & 1 && perf->counting[i].event != COUNT_CYCLES &&
            ring_counts(&perf->counting[i], r->cpl_before))
            add(cpu, i, events_of(perf->counting[i].event, r));
}

bool count_time_alone(struct model_cpu *cpu)
{
    struct perfmon *perf = &cpu->perf;
    const uint8_t every_ring = RING_0 | RINGS_OUTER;

    count_cycles(cpu);
    for (unsigned i = 0; i < COUNTERS; i++) {
        const struct counting *counting = &perf->counting[i];

        if (perf->live >> i & 1 &&
            (counting->event != COUNT_CYCLES || counting->rings != every_ring ||
             COUNTER_MASK - perf->value[i] < TICKS_NEAR))
            return false;
    }
    return true;
}
