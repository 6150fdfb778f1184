/* SPDX-License-Identifier: BSD-2-Clause */
/* The guest's mode, privilege and addresses, read from the VMCB. */
#include "hw/model/processor/cpu.h"

void cpl_set(struct model_cpu *cpu, unsigned cpl)
{
    struct vmcb_save *save = &cpu->vmcb->save;

    save->ss.attributes = (uint16_t)((save->ss.attributes & ~(3u << SEGMENT_DPL_SHIFT)) |
                                     cpl << SEGMENT_DPL_SHIFT);
    save->cpl = (uint8_t)cpl;
}

uint64_t guest_code_linear(const struct model_cpu *cpu, uint64_t rip)
{
    return guest_long_code(cpu) ? rip : (uint32_t)(cpu->vmcb->save.cs.base + rip);
}

uint64_t guest_segment_base(struct model_cpu *cpu, unsigned segment)
{
    struct vmcb_save *save = &cpu->vmcb->save;
    const struct vmcb_segment *const segments[] = {&save->es, &save->cs, &save->ss,
                                                   &save->ds, &save->fs, &save->gs};

    if (segment < SEGMENT_FS && guest_long_code(cpu))
        return 0;
    if (segment >= SEGMENT_FS) /* live in the processor, not in the VMCB */
        machine_save_hidden(cpu);
    return segments[segment]->base;
}

uint64_t guest_next_rip(const struct model_cpu *cpu, const struct insn *insn)
{
    uint64_t rip = cpu->vmcb->save.rip + insn->length;

    return guest_long_code(cpu) ? rip : (uint32_t)rip;
}
