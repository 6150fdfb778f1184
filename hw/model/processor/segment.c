/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Segment descriptors: finding them, loading a segment register from one.
 *
 * Source: SDM Vol. 3, "Segment Descriptors", "Segment Descriptor Tables in IA-32e Mode".
 */
#include "hw/model/processor/cpu.h"

enum { SELECTOR_LDT = 4, SELECTOR_RPL = 3 };

bool descriptor_read(struct model_cpu *cpu, uint16_t selector, uint32_t error_extra,
                     struct descriptor *out)
{
    struct vmcb_save *save = &cpu->vmcb->save;
    const struct vmcb_segment *table = &save->gdtr;

    if (selector & SELECTOR_LDT) {
        machine_save_hidden(cpu);
        table = &save->ldtr;
    }
    uint32_t offset = selector & ~7u;
    uint32_t error = (selector & ~(uint32_t)SELECTOR_RPL) | error_extra;
    if (offset + 7 > table->limit || (selector & SELECTOR_LDT && !(table->selector & ~3)))
        return fault_raise(cpu, VECTOR_GP, error);
    uint64_t raw;
    if (!guest_read(cpu, table->base + offset, &raw, 8, ACCESS_IMPLICIT))
        return false;
    out->selector = selector;
    out->linear = table->base + offset;
    out->base = (raw >> 16 & 0xFFFFFF) | (raw >> 32 & 0xFF000000);
    out->limit = (uint32_t)((raw & 0xFFFF) | (raw >> 32 & 0xF0000));
    out->attributes = (uint16_t)((raw >> 40 & 0xFF) | (raw >> 44 & 0xF00));
    if (out->attributes & SEGMENT_GRANULAR)
        out->limit = out->limit << 12 | 0xFFF;
    return true;
}

unsigned descriptor_dpl(uint16_t attributes)
{
    return attributes >> SEGMENT_DPL_SHIFT & 3;
}

void descriptor_load(struct model_cpu *cpu, struct vmcb_segment *segment,
                     const struct descriptor *descriptor, uint16_t selector)
{
    *segment = (struct vmcb_segment){.selector = selector,
                                     .attributes = descriptor->attributes | 1,
                                     .limit = descriptor->limit,
                                     .base = descriptor->base};
    if (!(descriptor->attributes & 1)) {
        /* The accessed bit in memory; a table that cannot be written stays as it is. */
        struct fault kept = cpu->fault;
        uint8_t type = (uint8_t)(descriptor->attributes | 1);
        guest_write(cpu, descriptor->linear + 5, &type, 1, ACCESS_IMPLICIT);
        cpu->fault = kept;
    }
}

void segment_load_null(struct vmcb_segment *segment, uint16_t selector, unsigned dpl)
{
    /* Present and flat, as the emulators and processors keep SS after an interrupt. */
    *segment = (struct vmcb_segment){
        .selector = selector,
        .attributes = (uint16_t)(SEGMENT_PRESENT | SEGMENT_NOT_SYSTEM | SEGMENT_TYPE_WRITE | 1 |
                                 SEGMENT_BIG | SEGMENT_GRANULAR | dpl << SEGMENT_DPL_SHIFT),
        .limit = 0xFFFFFFFF,
    };
}

void code_load_real(struct model_cpu *cpu, uint16_t segment, uint64_t ip)
{
    struct vmcb_segment *cs = &cpu->vmcb->save.cs;

    cs->selector = segment;
    cs->base = (uint64_t)segment << 4;
    cpu->vmcb->save.rip = ip;
    cpu->branched = true;
}
