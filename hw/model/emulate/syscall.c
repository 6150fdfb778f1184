/* SPDX-License-Identifier: BSD-2-Clause */
/* SYSCALL, SYSRET, SYSENTER, SYSEXIT, after SDM Vol. 2. The MSRs are the processor's own. */
#include "hw/model/emulate/emulate.h"

static void load_flat(struct vmcb_segment *segment, uint16_t selector, uint16_t attributes)
{
    *segment = (struct vmcb_segment){
        .selector = selector, .attributes = attributes, .limit = 0xFFFFFFFF};
}

static const uint16_t flat_code = SEGMENT_PRESENT | SEGMENT_NOT_SYSTEM | SEGMENT_TYPE_CODE |
                                  SEGMENT_TYPE_WRITE | 1 | SEGMENT_GRANULAR;
static const uint16_t flat_data = SEGMENT_PRESENT | SEGMENT_NOT_SYSTEM | SEGMENT_TYPE_WRITE |
                                  1 | SEGMENT_GRANULAR | SEGMENT_BIG;

bool system_call(struct model_cpu *cpu, const struct insn *insn)
{
    struct vmcb_save *save = &cpu->vmcb->save;

    if (!(save->efer & EFER_SCE) || !(save->efer & EFER_LMA))
        return fault_raise(cpu, VECTOR_UD, 0);
    machine_save_hidden(cpu);
    bool from_long = guest_long_code(cpu);
    cpu->gpr[RCX] = save->rip + insn->length;
    cpu->gpr[R11] = save->rflags & ~FLAG_RF;
    save->rip = from_long ? save->lstar : save->cstar;
    save->rflags = (save->rflags & ~save->sfmask & ~FLAG_RF) | FLAG_FIXED;
    uint16_t selector = (uint16_t)(save->star >> 32) & 0xFFFC;
    load_flat(&save->cs, selector, flat_code | SEGMENT_LONG);
    load_flat(&save->ss, (uint16_t)(selector + 8), flat_data);
    cpl_set(cpu, 0);
    cpu->branched = true;
    return true;
}

bool system_return(struct model_cpu *cpu, const struct insn *insn)
{
    struct vmcb_save *save = &cpu->vmcb->save;
    bool to_long = insn->operand_bytes == 8;

    if (!(save->efer & EFER_SCE) || !(save->efer & EFER_LMA))
        return fault_raise(cpu, VECTOR_UD, 0);
    if (guest_cpl(cpu) != 0 || (to_long && !guest_canonical(cpu, cpu->gpr[RCX])))
        return fault_raise(cpu, VECTOR_GP, 0);
    machine_save_hidden(cpu);
    uint64_t loaded = FLAG_STATUS | FLAG_TF | FLAG_IF | FLAG_DF | FLAG_IOPL | FLAG_NT |
                      FLAG_AC | FLAG_ID | FLAG_VIF | FLAG_VIP;
    save->rip = to_long ? cpu->gpr[RCX] : (uint32_t)cpu->gpr[RCX];
    save->rflags = (cpu->gpr[R11] & loaded) | FLAG_FIXED;
    uint16_t selector = (uint16_t)(save->star >> 48);
    uint16_t user = 3 << SEGMENT_DPL_SHIFT;
    load_flat(&save->cs, (uint16_t)((selector + (to_long ? 16 : 0)) | 3),
              (uint16_t)(flat_code | user | (to_long ? SEGMENT_LONG : SEGMENT_BIG)));
    load_flat(&save->ss, (uint16_t)((selector + 8) | 3), (uint16_t)(flat_data | user));
    cpl_set(cpu, 3);
    cpu->branched = true;
    return true;
}

static bool fast_calls_exist(struct model_cpu *cpu, unsigned cpl_needed)
{
    /* Processors that are not Intel's lack the pair in IA-32e mode. */
    if (!cpu->has_sysenter && cpu->vmcb->save.efer & EFER_LMA)
        return fault_raise(cpu, VECTOR_UD, 0);
    machine_save_hidden(cpu);
    if (!(cpu->vmcb->save.sysenter_cs & 0xFFFC) || guest_cpl(cpu) > cpl_needed)
        return fault_raise(cpu, VECTOR_GP, 0);
    return true;
}

bool fast_call(struct model_cpu *cpu, const struct insn *insn)
{
    struct vmcb_save *save = &cpu->vmcb->save;
    bool to_long = save->efer & EFER_LMA;

    (void)insn;
    if (!fast_calls_exist(cpu, 3))
        return false;
    uint16_t selector = (uint16_t)save->sysenter_cs & 0xFFFC;
    save->rflags &= ~(FLAG_VM | FLAG_IF);
    cpu->gpr[RSP] = to_long ? save->sysenter_esp : (uint32_t)save->sysenter_esp;
    save->rip = to_long ? save->sysenter_eip : (uint32_t)save->sysenter_eip;
    load_flat(&save->cs, selector, flat_code | (to_long ? SEGMENT_LONG : SEGMENT_BIG));
    load_flat(&save->ss, (uint16_t)(selector + 8), flat_data);
    cpl_set(cpu, 0);
    cpu->branched = true;
    return true;
}

bool fast_return(struct model_cpu *cpu, const struct insn *insn)
{
    struct vmcb_save *save = &cpu->vmcb->save;
    bool to_long = insn->operand_bytes == 8;
    uint64_t rip = cpu->gpr[RDX], rsp = cpu->gpr[RCX];

    if (!fast_calls_exist(cpu, 0))
        return false;
    if (to_long && (!guest_canonical(cpu, rip) || !guest_canonical(cpu, rsp)))
        return fault_raise(cpu, VECTOR_GP, 0);
    uint16_t selector = (uint16_t)((save->sysenter_cs & 0xFFFC) + (to_long ? 32 : 16));
    uint16_t user = 3 << SEGMENT_DPL_SHIFT;
    save->rip = to_long ? rip : (uint32_t)rip;
    cpu->gpr[RSP] = to_long ? rsp : (uint32_t)rsp;
    load_flat(&save->cs, selector | 3,
              (uint16_t)(flat_code | user | (to_long ? SEGMENT_LONG : SEGMENT_BIG)));
    load_flat(&save->ss, (uint16_t)(selector + 8) | 3, (uint16_t)(flat_data | user));
    cpl_set(cpu, 3);
    cpu->branched = true;
    return true;
}
