/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records of sampled events: their formats, and the half of the area that they go through.
 *
 * Source: SDM Vol. 3, "Processor Event Based Sampling (PEBS)", "PEBS Record Format", "Adaptive
 * PEBS", "DS Save Area and IA-32e Mode Operation". An overflow arms; the next event of the same
 * counter is the one that is recorded: bounds first, then the record, the index, the reload
 * and the threshold. A record that has no place leaves no trace at all.
 */
#include "hw/model/perfmon/perfmon.h"
#include "hw/model/trial/defect.h"
#include "hw/model/trial/feature_gate.h"
#include "hw/model/trial/policy.h"

/* Fields of the area, in its own unit of 4 or 8 bytes. */
enum {
    FIELD_BTS_INDEX = 1,
    FIELD_BASE = 4,
    FIELD_INDEX,
    FIELD_MAXIMUM,
    FIELD_THRESHOLD,
    FIELD_RESET
};
enum { NARROW_WORDS = 10, WORDS_AT_ONCE = 64 };
enum { FORMAT_ADAPTIVE = 4 };

#define CAPABILITY_TRAP      (1ull << 6)
#define CAPABILITY_REGISTERS (1ull << 7)

bool pebs_trap_like(void)
{
    return policy(POLICY_PEBS_TRAP) == PEBS_TRAP_LIKE;
}

/* Without IA32_PERF_CAPABILITIES nobody could tell the format. */
bool pebs_exists(void)
{
    return pebs_format != PEBS_FORMAT_OFF && perfmon_exists() && !gate_closed[GATE_NO_DS] &&
           !gate_closed[GATE_NO_PDCM];
}

uint64_t pebs_capabilities(void)
{
    if (!pebs_exists())
        return 0;
    uint64_t code = pebs_format;
    if (defect(DEFECT_PEBS_FORMAT_LIES))
        code = pebs_format ? pebs_format - 1u : 1;
    return (pebs_trap_like() ? CAPABILITY_TRAP : 0) | CAPABILITY_REGISTERS | code << 8 |
           (pebs_format == FORMAT_ADAPTIVE ? CAPABILITY_BASELINE : 0);
}

/* The first processors sampled with one counter; fixed ones sample since the baseline. */
uint64_t pebs_enable_bits(void)
{
    uint64_t fixed = (1ull << FIXED_COUNTERS) - 1;

    if (pebs_format == 0)
        return 1;
    return ((1ull << GENERAL_COUNTERS) - 1) |
           (pebs_format == FORMAT_ADAPTIVE ? fixed << FIXED_SHIFT : 0);
}

/* --- the area */

struct area {
    unsigned field_bytes; /* 8, or 4 in the 32-bit layout */
    uint64_t base, index, maximum, threshold;
    uint64_t reset[COUNTERS];
};

static uint64_t field_linear(const struct model_cpu *cpu, const struct area *area,
                             unsigned field)
{
    return cpu->ds_area + field * area->field_bytes;
}

static bool read_field(struct model_cpu *cpu, const struct area *area, unsigned field,
                       unsigned access, uint64_t *value)
{
    *value = 0;
    if (!guest_read(cpu, field_linear(cpu, area, field), value, area->field_bytes, access))
        return false;
    if (!(cpu->vmcb->save.efer & EFER_LMA) && policy(POLICY_UPPER_FIELDS) == FIELDS_CUT)
        *value = (uint32_t)*value;
    return true;
}

static bool read_reset(struct model_cpu *cpu, struct area *area, unsigned counter,
                       unsigned access)
{
    unsigned first_fixed = policy(POLICY_PEBS_FIXED_RESET) == FIXED_RESET_8 ? 8 : 32;
    unsigned place =
        counter < GENERAL_COUNTERS ? counter : first_fixed + counter - GENERAL_COUNTERS;

    if (defect(DEFECT_PEBS_RESET_FIRST))
        place = 0;
    return guest_read(cpu, field_linear(cpu, area, FIELD_RESET) + 8 * place,
                      &area->reset[counter], 8, access);
}

static bool read_area(struct model_cpu *cpu, struct area *area, unsigned due, unsigned access)
{
    bool wide = !gate_closed[GATE_NO_DTES64] || cpu->vmcb->save.efer & EFER_LMA;

    area->field_bytes = wide ? 8 : 4;
    for (unsigned i = 0; i < COUNTERS; i++)
        if (due >> i & 1 && !read_reset(cpu, area, i, access))
            return false;
    return read_field(cpu, area, FIELD_BASE, access, &area->base) &&
           read_field(cpu, area, FIELD_INDEX, access, &area->index) &&
           read_field(cpu, area, FIELD_MAXIMUM, access, &area->maximum) &&
           read_field(cpu, area, FIELD_THRESHOLD, access, &area->threshold);
}

static bool has_room(const struct area *area, uint64_t bytes)
{
    uint64_t end = area->index + (defect(DEFECT_PEBS_PAST_MAX) ? 1 : bytes);

    return area->index >= area->base && end > area->index && end <= area->maximum;
}

/* --- the record */

static uint64_t current_rip(const struct model_cpu *cpu)
{
    return guest_code_linear(cpu, cpu->vmcb->save.rip);
}

/* Registers in encoding order, flags and address as they are now. */
static void state_now(const struct model_cpu *cpu, uint64_t state[STATE_WORDS])
{
    for (unsigned i = 0; i < 16; i++)
        state[i] = cpu->gpr[i];
    state[STATE_FLAGS] = cpu->vmcb->save.rflags;
    state[STATE_RIP] = current_rip(cpu);
}

void pebs_before(struct model_cpu *cpu)
{
    state_now(cpu, cpu->perf.before);
    if (!pebs_trap_like() && pebs_format == FORMAT_ADAPTIVE)
        pebs_save_xmm(cpu->perf.xmm_before);
}

static void record_state(const struct model_cpu *cpu, const struct retired *r,
                         uint64_t state[STATE_WORDS])
{
    state_now(cpu, state);
    for (unsigned i = 0; i < STATE_WORDS && !pebs_trap_like(); i++)
        state[i] = cpu->perf.before[i];
    if (defect(DEFECT_PEBS_IP_OF_INSN))
        state[STATE_RIP] = r->linear;
    if (defect(DEFECT_PEBS_FLAGS_BEFORE))
        state[STATE_FLAGS] = cpu->perf.before[STATE_FLAGS];
    if (defect(DEFECT_PEBS_SWAP_GPR)) {
        uint64_t rbx = state[RBX];

        state[RBX] = state[RCX];
        state[RCX] = rbx;
    }
}

static uint64_t eventing_ip(const struct model_cpu *cpu, const struct retired *r)
{
    return defect(DEFECT_PEBS_EVENTING_NEXT) ? current_rip(cpu) : r->linear;
}

/* Formats 0 to 3: each adds to the one before it. */
static void fill_fixed(const struct model_cpu *cpu, const uint64_t state[STATE_WORDS],
                       unsigned due, const struct retired *r, uint64_t *words)
{
    static const uint8_t order[] = {RAX, RBX, RCX, RDX, RSI, RDI, RBP, RSP};

    *words++ = state[STATE_FLAGS];
    *words++ = state[STATE_RIP];
    for (unsigned i = 0; i < 16; i++)
        *words++ = state[i < 8 ? order[i] : i];
    *words++ = pebs_format == 3 ? perfmon_bits(due) : cpu->perf.status;
    *words++ = 0; /* data linear address: none of these events has one */
    *words++ = 0; /* data source */
    *words++ = 0; /* latency */
    *words++ = eventing_ip(cpu, r);
    *words++ = 0; /* transaction abort */
    *words = perfmon_ticks();
}

/* Words of a record by its format; the record of 4-byte fields ends with ESP. */
static unsigned fixed_words(const struct area *area)
{
    static const uint8_t count[] = {18, 22, 24, 25};

    return area->field_bytes == 4 ? NARROW_WORDS : count[pebs_format];
}

/* A record may be longer than a page: two of them are all that one write takes. */
static bool write_wide(struct model_cpu *cpu, uint64_t linear, const uint64_t *words,
                       unsigned count, unsigned access)
{
    for (unsigned at = 0; at < count; at += WORDS_AT_ONCE) {
        unsigned some = count - at < WORDS_AT_ONCE ? count - at : WORDS_AT_ONCE;

        if (!guest_write(cpu, linear + 8 * at, words + at, 8 * some, access))
            return false;
    }
    return true;
}

static bool write_record(struct model_cpu *cpu, const struct area *area, const uint64_t *words,
                         unsigned count, unsigned access)
{
    uint32_t narrow[NARROW_WORDS];

    if (area->field_bytes == 8)
        return write_wide(cpu, area->index, words, count, access);
    for (unsigned i = 0; i < count; i++)
        narrow[i] = (uint32_t)words[i];
    return guest_write(cpu, area->index, narrow, 4 * count, access);
}

static bool write_index(struct model_cpu *cpu, const struct area *area, uint64_t index,
                        unsigned access)
{
    return guest_write(cpu, field_linear(cpu, area, FIELD_INDEX), &index, area->field_bytes,
                       access);
}

/* --- one event */

static void signal_buffer(struct model_cpu *cpu)
{
    if (!defect(DEFECT_PEBS_STATUS_62))
        cpu->perf.status |= STATUS_BUFFER;
    interrupt_request(cpu, INTERRUPT_PEBS);
}

static void signal_if_due(struct model_cpu *cpu, const struct area *area, uint64_t index,
                          uint64_t bytes)
{
    uint64_t reached = defect(DEFECT_PEBS_LATE) ? index - bytes : index;

    if (reached >= area->threshold || defect(DEFECT_PEBS_EARLY))
        signal_buffer(cpu);
}

/* The manual first gave the field 40 bits; the sign is that of the last of them. */
static uint64_t reset_value(uint64_t field)
{
    if (policy(POLICY_PEBS_RESET_BITS) == RESET_40)
        field = (uint64_t)((int64_t)(field << 24) >> 24);
    return field & COUNTER_MASK;
}

static void reload(struct perfmon *perf, const struct area *area, unsigned due)
{
    for (unsigned i = 0; i < COUNTERS; i++)
        if (due >> i & 1)
            perf->value[i] =
                defect(DEFECT_PEBS_RESET_IGNORED) ? 0 : reset_value(area->reset[i]);
    if (policy(POLICY_PEBS_STATUS) == STATUS_CLEARED)
        perf->status &= ~perfmon_bits(due);
}

/* For a defect. */
static void move_other_index(struct model_cpu *cpu, const struct area *area, unsigned access)
{
    uint64_t index, at = field_linear(cpu, area, FIELD_BTS_INDEX);

    if (guest_read(cpu, at, &index, 8, access)) {
        index += 24;
        guest_write(cpu, at, &index, 8, access);
    }
}

static enum pebs_outcome store(struct model_cpu *cpu, unsigned due, const struct retired *r,
                               unsigned access)
{
    struct perfmon *perf = &cpu->perf;
    struct area area;
    uint64_t *words = perf->record, state[STATE_WORDS];

    if (!read_area(cpu, &area, due, access))
        return PEBS_FAULT;
    record_state(cpu, r, state);
    unsigned count;
    if (area.field_bytes == 8 && pebs_format == FORMAT_ADAPTIVE) {
        count = pebs_fill_groups(cpu, state, due, eventing_ip(cpu, r), words);
    } else {
        count = fixed_words(&area);
        fill_fixed(cpu, state, due, r, words);
    }
    uint64_t bytes = (uint64_t)count * area.field_bytes;
    uint64_t index = area.index + (defect(DEFECT_PEBS_INDEX_40) ? 40 : bytes);
    if (!has_room(&area, bytes)) {
        if (policy(POLICY_PEBS_FULL) == PEBS_FULL_SKIP)
            perf->armed &= (uint8_t)~due;
        if (defect(DEFECT_PEBS_FULL_SIGNALS))
            signal_buffer(cpu);
        return PEBS_SKIPPED;
    }
    if (!write_record(cpu, &area, words, count, access) ||
        !write_index(cpu, &area, index, access))
        return PEBS_FAULT;
    reload(perf, &area, due);
    perf->armed &= (uint8_t)~due;
    signal_if_due(cpu, &area, index, bytes);
    if (defect(DEFECT_PEBS_TOUCHES_BTS))
        move_other_index(cpu, &area, access);
    return PEBS_STORED;
}

enum pebs_outcome pebs_record(struct model_cpu *cpu, unsigned due, const struct retired *r)
{
    unsigned access = ACCESS_IMPLICIT;
    struct fault kept = cpu->fault;

    if (policy(POLICY_ACCESSED_BITS) == ACCESSED_LEAVE)
        access |= ACCESS_KEEP_AD;
    enum pebs_outcome outcome = store(cpu, due, r, access);
    if (outcome != PEBS_FAULT)
        return outcome;
    cpu->perf.armed &= (uint8_t)~due;
    if (policy(POLICY_AREA_FAULT) == AREA_FAULT_DELIVER)
        return PEBS_FAULT;
    cpu->fault = kept;
    return PEBS_SKIPPED;
}
