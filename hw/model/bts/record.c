/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The trace: what is stored of a transfer, where, and when the interrupt is due.
 *
 * Source: SDM Vol. 3, "Branch Trace Store (BTS)", "BTS and DS Save Area", "Setting Up the BTS
 * Buffer". Every address is linear and goes through the page tables in force at that
 * moment.
 */
#include "hw/model/bts/bts.h"
#include "hw/model/bts/record_filter.h"
#include "hw/model/perfmon/perfmon.h"
#include "hw/model/trial/defect.h"
#include "hw/model/trial/feature_gate.h"
#include "hw/model/trial/policy.h"

enum { FIELD_BASE, FIELD_INDEX, FIELD_MAXIMUM, FIELD_THRESHOLD, FIELD_COUNT };
enum { FIELD_PEBS_INDEX = FIELD_COUNT + 1 }; /* never used, but by a defect */
enum { WORD_FROM, WORD_TO, WORD_FLAGS, WORD_COUNT };

#define RECORD_PREDICTED 0x10u
#define UPPER_HALF       0xFFFFFFFF00000000ull

/* --- the words, and defects that bend them */

static void fill_words(const struct transfer *t, uint64_t words[WORD_COUNT])
{
    uint64_t from = t->from, to = t->to;

    if (t->kind == TRANSFER_JUMP) {
        if (defect(DEFECT_FROM_END))
            from += t->length;
        if (defect(DEFECT_FROM_SKIPS_PREFIX))
            from += t->prefix_bytes;
        if (defect(DEFECT_FROM_SECOND_PREFIX))
            from += t->prefix_bytes > 1;
        if (t->class == INSN_SYSRET && defect(DEFECT_SYSRET_NEXT))
            from += t->length;
        if (defect(DEFECT_TARGET_FALLTHROUGH))
            to = t->from + t->length;
    }
    if (t->kind == TRANSFER_INTERRUPT && defect(DEFECT_INTERRUPT_FROM))
        from = to;
    if (defect(DEFECT_FROM_32))
        from = (uint32_t)from;
    if (defect(DEFECT_TO_32))
        to = (uint32_t)to;
    if (policy(POLICY_UPPER_HALF) == UPPER_ONES) {
        from |= t->from_legacy ? UPPER_HALF : 0;
        to |= t->to_legacy ? UPPER_HALF : 0;
    }
    bool swap = defect(DEFECT_SWAP_FIELDS);
    words[WORD_FROM] = swap ? to : from;
    words[WORD_TO] = swap ? from : to;
    words[WORD_FLAGS] = policy(POLICY_PREDICTED_BIT) ? RECORD_PREDICTED : 0;
    if (policy(POLICY_FLAGS_OR) == FLAGS_60)
        words[WORD_FLAGS] |= 0x60;
    if (defect(DEFECT_FLAGS_FIRST)) {
        uint64_t flags = words[WORD_FLAGS];

        words[WORD_FLAGS] = words[WORD_TO];
        words[WORD_TO] = words[WORD_FROM];
        words[WORD_FROM] = flags;
    }
}

/* --- the area and the buffer */

struct area {
    uint64_t linear;
    unsigned field_bytes; /* 8, or 4 in the 32-bit layout */
    uint64_t record_bytes;
    uint64_t fields[FIELD_COUNT];
};

static unsigned area_access(const struct transfer *t)
{
    unsigned access = ACCESS_IMPLICIT;

    if (defect(DEFECT_USER_ONLY) && t->cpl_after == 3)
        access = ACCESS_USER;
    if (policy(POLICY_ACCESSED_BITS) == ACCESSED_LEAVE)
        access |= ACCESS_KEEP_AD;
    return access;
}

static bool read_fields(struct model_cpu *cpu, struct area *area, unsigned access)
{
    uint8_t raw[FIELD_COUNT * 8];
    bool wide = !gate_closed[GATE_NO_DTES64] || cpu->vmcb->save.efer & EFER_LMA;

    if (!(cpu->vmcb->save.efer & EFER_LMA) && defect(DEFECT_DTES64_IGNORED))
        wide = false;
    if (defect(DEFECT_LAYOUT_WIDE))
        wide = true;
    area->linear = cpu->ds_area;
    if (defect(DEFECT_AREA_STALE) || defect(DEFECT_AREA_HELD))
        area->linear = cpu->area_at_enable;
    if (defect(DEFECT_ES_BASE) && !guest_long_code(cpu))
        area->linear += cpu->vmcb->save.es.base;
    if (defect(DEFECT_AREA_ONE_LATE) && cpu->area_late) {
        area->linear = cpu->area_late;
        cpu->area_late = 0;
    }
    if (defect(DEFECT_AREA_32))
        area->linear = (uint32_t)area->linear;
    if (defect(DEFECT_LIMITED) && !guest_long_code(cpu) &&
        (uint32_t)(area->linear - cpu->vmcb->save.ds.base) > cpu->vmcb->save.ds.limit)
        return fault_raise(cpu, VECTOR_GP, 0);
    if (defect(DEFECT_SEGMENTED) && !guest_long_code(cpu))
        area->linear += cpu->vmcb->save.ds.base;
    if (defect(DEFECT_LAYOUT_BY_CODE) && !guest_long_code(cpu))
        wide = false;
    area->field_bytes = wide ? 8 : 4;
    area->record_bytes = WORD_COUNT * area->field_bytes;
    if (!wide && defect(DEFECT_RECORD_24))
        area->record_bytes = 24;
    if (!guest_read(cpu, area->linear, raw, FIELD_COUNT * area->field_bytes, access))
        return false;
    for (unsigned i = 0; i < FIELD_COUNT; i++) {
        area->fields[i] = 0;
        for (unsigned b = 0; b < area->field_bytes; b++)
            area->fields[i] |= (uint64_t)raw[i * area->field_bytes + b] << (8 * b);
    }
    if (policy(POLICY_FIELDS_READ) == FIELDS_AT_ENABLE && cpu->area_known)
        for (unsigned i = 0; i < FIELD_COUNT; i++)
            if (i != FIELD_INDEX)
                area->fields[i] = cpu->fields_at_enable[i];
    if (!(cpu->vmcb->save.efer & EFER_LMA) && policy(POLICY_UPPER_FIELDS) == FIELDS_CUT)
        for (unsigned i = 0; i < FIELD_COUNT; i++)
            area->fields[i] = (uint32_t)area->fields[i];
    if (!wide && defect(DEFECT_BASE_32) &&
        !guest_read(cpu, area->linear + FIELD_COUNT * 4, &area->fields[FIELD_BASE], 4, access))
        return false;
    if (defect(DEFECT_FIELD_ORDER) || (!wide && defect(DEFECT_ORDER_32))) {
        uint64_t maximum = area->fields[FIELD_MAXIMUM];

        area->fields[FIELD_MAXIMUM] = area->fields[FIELD_THRESHOLD];
        area->fields[FIELD_THRESHOLD] = maximum;
    }
    return true;
}

static bool write_field(struct model_cpu *cpu, const struct area *area, unsigned field,
                        uint64_t value, unsigned access)
{
    return guest_write(cpu, area->linear + field * area->field_bytes, &value, area->field_bytes,
                       access);
}

void record_enable(struct model_cpu *cpu)
{
    struct area area;

    cpu->after_enable = true;
    cpu->drop_next = false;
    cpu->area_known = false;
    cpu->pmi_owed = false;
    cpu->index_kept = 0;
    cpu->held_place = 0;
    if (cpu->area_at_enable == 0 || !defect(DEFECT_AREA_STALE))
        cpu->area_at_enable = cpu->ds_area;
    struct fault kept = cpu->fault;
    if ((policy(POLICY_FIELDS_READ) == FIELDS_AT_ENABLE ||
         policy(POLICY_WRAP_TARGET) == TARGET_FIRST_INDEX) &&
        read_fields(cpu, &area, ACCESS_IMPLICIT)) {
        cpu->index_at_enable = area.fields[FIELD_INDEX];
        for (unsigned i = 0; i < FIELD_COUNT; i++)
            cpu->fields_at_enable[i] = area.fields[i];
        cpu->area_known = true;
    }
    cpu->fault = kept;
}

static bool has_room(const struct area *area, uint64_t index)
{
    uint64_t end = index + area->record_bytes;

    if (area->field_bytes == 4 && defect(DEFECT_WRAP_32_EARLY))
        end += area->record_bytes;
    if (end < index) /* wraps at the end of the address space, or just reaches it */
        return end == 0 && policy(POLICY_SPACE_END) == SPACE_END_STORED;
    if (defect(DEFECT_PARTIAL_FITS))
        return index < area->fields[FIELD_MAXIMUM];
    if (defect(DEFECT_WRAP_EARLY))
        return end < area->fields[FIELD_MAXIMUM];
    return end <= area->fields[FIELD_MAXIMUM];
}

static uint64_t wrap_target(const struct model_cpu *cpu, const struct area *area)
{
    uint64_t room = area->fields[FIELD_MAXIMUM] - area->fields[FIELD_BASE];

    if (defect(DEFECT_WRAP_DRIFTS))
        return area->fields[FIELD_BASE] + room % area->record_bytes;
    return policy(POLICY_WRAP_TARGET) == TARGET_BASE ? area->fields[FIELD_BASE]
                                                     : cpu->index_at_enable;
}

/* Where the record goes; false when it is dropped. */
static bool choose_place(const struct model_cpu *cpu, const struct area *area, uint64_t *place)
{
    uint64_t base = area->fields[FIELD_BASE], index = area->fields[FIELD_INDEX];

    if (policy(POLICY_ONE_RECORD) == ONE_NOTHING &&
        area->fields[FIELD_MAXIMUM] - base < 2 * area->record_bytes)
        return false;
    if (policy(POLICY_ODD_AREA) == ODD_NOTHING && area->linear % 8)
        return false;
    if (index < base && policy(POLICY_BELOW_BASE) == BELOW_NOTHING)
        return false;
    if (index < base && policy(POLICY_BELOW_BASE) == BELOW_AT_BASE)
        index = base;
    bool circular = !(cpu->debugctl & DEBUGCTL_BTINT) || policy(POLICY_FULL) == FULL_WRAP;
    if (has_room(area, index)) {
        *place = index;
        return true;
    }
    if (circular) {
        if (defect(DEFECT_WRAP_STOPS) || defect(DEFECT_WRAP_LOSES))
            return false;
        *place = wrap_target(cpu, area);
        return has_room(area, *place);
    }
    if (policy(POLICY_FULL) == FULL_OVERWRITE_LAST) {
        uint64_t records = (area->fields[FIELD_MAXIMUM] - base) / area->record_bytes;

        *place = base + (records - 1) * area->record_bytes;
        return records != 0 && has_room(area, *place);
    }
    return false;
}

/* The record at place. A defect writes the part on a second page nowhere. */
static bool write_record(struct model_cpu *cpu, const struct area *area, uint64_t place,
                         const uint64_t words[WORD_COUNT], unsigned access)
{
    uint8_t bytes[WORD_COUNT * 8 + 1] = {0};
    size_t count = area->record_bytes, room = 4096 - (place & 4095);

    for (unsigned i = 0; i < WORD_COUNT; i++)
        for (unsigned b = 0; b < area->field_bytes; b++)
            bytes[i * area->field_bytes + b] = (uint8_t)(words[i] >> (8 * b));
    if (defect(DEFECT_PAGE_CROSS) && count > room)
        count = room;
    if (defect(DEFECT_PAST_MAX) && place + count == area->fields[FIELD_MAXIMUM])
        bytes[count++] = 0xFF;
    bool done;
    if (record_stale(cpu, place, bytes, count, access, &done))
        return done;
    if (policy(POLICY_DS_WATCH) != WATCH_NONE)
        watch_access(cpu, place, count, ACCESS_WRITE | ACCESS_AREA);
    if (record_held(cpu, place, bytes, count))
        return true;
    return guest_write(cpu, place, bytes, count, access);
}

/* The part of a record on the first of two pages, where a policy leaves it behind. */
static void write_part(struct model_cpu *cpu, uint64_t place, const uint64_t words[WORD_COUNT],
                       unsigned access)
{
    struct fault kept = cpu->fault;
    size_t room = 4096 - (place & 4095);

    if (policy(POLICY_PARTIAL_RECORD) == PARTIAL_FIRST_HALF && room < WORD_COUNT * 8)
        guest_write(cpu, place, words, room, access);
    cpu->fault = kept;
}

/* Bytes below the maximum in which the next record has no room, where a policy writes them. */
static void write_rest(struct model_cpu *cpu, const struct area *area, uint64_t place,
                       const uint64_t words[WORD_COUNT], unsigned access)
{
    uint64_t next = place + area->record_bytes, maximum = area->fields[FIELD_MAXIMUM];

    if (maximum > next && maximum - next < area->record_bytes)
        guest_write(cpu, next, words, maximum - next, access);
}

/* --- the interrupt */

static void interrupt_if_due(struct model_cpu *cpu, const struct area *area, uint64_t before,
                             uint64_t after)
{
    uint64_t threshold = area->fields[FIELD_THRESHOLD];
    bool wanted =
        cpu->debugctl & DEBUGCTL_BTINT || policy(POLICY_PMI_BTINT_OFF) == BTINT_OFF_PMI;
    bool due = (policy(POLICY_PMI_WHEN) == PMI_WRITE ? before : after) >= threshold;

    if (policy(POLICY_THRESHOLD_PASSED) == NO && before > threshold)
        due = false;

    if (defect(DEFECT_PMI_LATE))
        due = due && after >= threshold + 2 * area->record_bytes;
    if (defect(DEFECT_PMI_EVERY_RECORD))
        due = true;
    if (policy(POLICY_PMI_REPEAT) == NO && before >= threshold)
        due = false;
    if (!wanted || !due || defect(DEFECT_PMI_NEVER))
        return;
    cpu->pmi_owed = !cpu->pmi_owed && policy(POLICY_SKID) == SKID_BRANCH;
    if (cpu->pmi_owed)
        return;
    interrupt_request(cpu, INTERRUPT_BTS);
    if (defect(DEFECT_PMI_STOPS))
        cpu->debugctl &= ~DEBUGCTL_TR;
    if (defect(DEFECT_THRESHOLD_CHANGES))
        write_field(cpu, area, FIELD_THRESHOLD, 0, ACCESS_IMPLICIT);
}

static uint64_t index_step(const struct area *area)
{
    if (defect(DEFECT_INDEX_16))
        return 16;
    return defect(DEFECT_INDEX_48) ? 2 * area->record_bytes : area->record_bytes;
}

/* Vector and x87 state are the guest's own while the host runs: nothing of ours uses them. */
static void clobber(void)
{
    static const uint32_t mxcsr = 0x1F80;

    if (defect(DEFECT_VECTOR_CLOBBERED))
        __asm__ volatile("pxor %xmm7, %xmm7");
    if (defect(DEFECT_MXCSR_CLOBBERED))
        __asm__ volatile("ldmxcsr %0" : : "m"(mxcsr));
    if (defect(DEFECT_X87_CLOBBERED))
        __asm__ volatile("fninit");
}

static bool store(struct model_cpu *cpu, const uint64_t words[WORD_COUNT], unsigned access)
{
    struct area area;
    uint64_t place;

    record_hold_up();
    clobber();
    if (record_nowhere(cpu) || !read_fields(cpu, &area, access))
        return false;
    if (!choose_place(cpu, &area, &place)) {
        if (defect(DEFECT_WRAP_LOSES) && !(cpu->debugctl & DEBUGCTL_BTINT))
            write_field(cpu, &area, FIELD_INDEX, area.fields[FIELD_BASE], access);
        return true;
    }
    if (policy(POLICY_ACCESSED_BITS) == ACCESSED_SKIP_RECORD && !guest_page_used(cpu, place))
        return true;
    if (defect(DEFECT_UNCACHED_LOST) && !guest_page_cached(cpu, place))
        return true;
    if (!write_record(cpu, &area, place, words, access)) {
        write_part(cpu, place, words, access);
        return false;
    }
    if (policy(POLICY_REST) == REST_WRITTEN)
        write_rest(cpu, &area, place, words, access);
    uint64_t after = record_bent_index(cpu, place + index_step(&area), area.fields[FIELD_BASE],
                                       area.fields[FIELD_INDEX], area.record_bytes);
    uint64_t index = after;
    bool circular = !(cpu->debugctl & DEBUGCTL_BTINT) || policy(POLICY_FULL) == FULL_WRAP;
    if (circular && policy(POLICY_WRAP) == WRAP_AFTER && !has_room(&area, index) &&
        !defect(DEFECT_WRAP_STOPS) && !defect(DEFECT_WRAP_LOSES))
        index = wrap_target(cpu, &area);
    if (!write_field(cpu, &area, FIELD_INDEX, index, access))
        return false;
    if (defect(DEFECT_BASE_CHANGES))
        write_field(cpu, &area, FIELD_BASE, index, access);
    if (defect(DEFECT_PEBS_INDEX))
        write_field(cpu, &area, FIELD_PEBS_INDEX, index, access);
    interrupt_if_due(cpu, &area, place, after);
    return true;
}

bool record_transfer(struct model_cpu *cpu, const struct transfer *transfer)
{
    uint64_t words[WORD_COUNT];

    branch_stack_push(cpu, transfer);
    if (policy(POLICY_LBR_SELECT) == SELECT_BTS_TOO && !branch_stack_selects(cpu, transfer))
        return true;
    if (!record_enabled(cpu) || record_filtered(cpu, transfer) || record_lost(cpu, transfer))
        return true;
    struct fault kept = cpu->fault;
    unsigned access = area_access(transfer);
    fill_words(transfer, words);
    uint64_t tables = record_old_tables(cpu);
    bool stored = store(cpu, words, access);
    record_own_tables(cpu, tables);
    if (stored && defect(DEFECT_DUPLICATE) && cpu->record_count % 64 == 0)
        stored = store(cpu, words, access);
    if (stored || (policy(POLICY_AREA_FAULT) == AREA_FAULT_SKIP && !record_nowhere(cpu))) {
        cpu->fault = kept;
        return true;
    }
    return false;
}
