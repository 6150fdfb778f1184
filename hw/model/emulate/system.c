/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Instructions about flags, interrupts and the stack segment that stepping must see.
 *
 * PUSHF and POPF because of TF; STI, MOV SS and POP SS because the shadow they cast is lost
 * at an exit and, for the last two, hides a breakpoint on the next instruction; HLT because
 * the host waits instead.
 */
#include "hw/model/emulate/emulate.h"

static void advance(struct model_cpu *cpu, const struct insn *insn)
{
    uint64_t rip = cpu->vmcb->save.rip + insn->length;

    cpu->vmcb->save.rip = guest_long_code(cpu) ? rip : (uint32_t)rip;
}

static unsigned flags_bytes(const struct model_cpu *cpu, const struct insn *insn)
{
    if (!guest_long_code(cpu))
        return insn->operand_bytes;
    return insn->operand_bytes == 2 ? 2 : 8;
}

bool push_flags(struct model_cpu *cpu, const struct insn *insn)
{
    uint64_t flags = cpu->vmcb->save.rflags & ~(FLAG_VM | FLAG_RF);

    if (!stack_push(cpu, flags, flags_bytes(cpu, insn)))
        return false;
    advance(cpu, insn);
    return true;
}

bool pop_flags(struct model_cpu *cpu, const struct insn *insn)
{
    struct vmcb_save *save = &cpu->vmcb->save;
    unsigned bytes = flags_bytes(cpu, insn), cpl = guest_cpl(cpu);
    uint64_t value = 0, mask = FLAG_STATUS | FLAG_TF | FLAG_DF | FLAG_NT;

    if (!stack_read(cpu, 0, &value, bytes))
        return false;
    if (bytes > 2)
        mask |= FLAG_AC | FLAG_ID;
    if (cpl == 0)
        mask |= FLAG_IOPL;
    if (cpl <= (save->rflags & FLAG_IOPL) >> 12)
        mask |= FLAG_IF;
    save->rflags = (save->rflags & ~mask) | (value & mask);
    stack_set(cpu, cpu->gpr[RSP] + bytes);
    advance(cpu, insn);
    return true;
}

bool change_interrupt_flag(struct model_cpu *cpu, const struct insn *insn)
{
    struct vmcb_save *save = &cpu->vmcb->save;

    if (guest_cpl(cpu) > (save->rflags & FLAG_IOPL) >> 12)
        return fault_raise(cpu, VECTOR_GP, 0);
    if (insn->class == INSN_CLI) {
        save->rflags &= ~FLAG_IF;
    } else {
        cpu->shadow = !(save->rflags & FLAG_IF);
        save->rflags |= FLAG_IF;
    }
    advance(cpu, insn);
    return true;
}

static bool check_stack_segment(struct model_cpu *cpu, uint16_t selector,
                                struct descriptor *stack)
{
    unsigned cpl = guest_cpl(cpu);

    if (!descriptor_read(cpu, selector, 0, stack))
        return false;
    unsigned kind =
        stack->attributes & (SEGMENT_NOT_SYSTEM | SEGMENT_TYPE_CODE | SEGMENT_TYPE_WRITE);
    if ((selector & 3u) != cpl || descriptor_dpl(stack->attributes) != cpl ||
        kind != (SEGMENT_NOT_SYSTEM | SEGMENT_TYPE_WRITE))
        return fault_raise(cpu, VECTOR_GP, selector & 0xFFFCu);
    if (!(stack->attributes & SEGMENT_PRESENT))
        return fault_raise(cpu, VECTOR_SS, selector & 0xFFFCu);
    return true;
}

bool load_stack_segment(struct model_cpu *cpu, const struct insn *insn)
{
    uint64_t value = 0;
    unsigned cpl = guest_cpl(cpu);
    struct descriptor stack;

    if (insn->class == INSN_POP_SS ? !stack_read(cpu, 0, &value, 2)
                                   : !operand_load(cpu, insn, 0, 2, &value))
        return false;
    uint16_t selector = (uint16_t)value;
    if (!(cpu->vmcb->save.cr0 & CR0_PE)) {
        cpu->vmcb->save.ss.selector = selector;
        cpu->vmcb->save.ss.base = (uint64_t)selector << 4;
    } else if (selector & ~3u) {
        if (!check_stack_segment(cpu, selector, &stack))
            return false;
        descriptor_load(cpu, &cpu->vmcb->save.ss, &stack, selector);
    } else {
        if (!guest_long_code(cpu) || cpl == 3 || (selector & 3u) != cpl)
            return fault_raise(cpu, VECTOR_GP, 0);
        segment_load_null(&cpu->vmcb->save.ss, selector, cpl);
    }
    if (insn->class == INSN_POP_SS)
        stack_set(cpu, cpu->gpr[RSP] + insn->operand_bytes);
    cpu->shadow = true;
    advance(cpu, insn);
    return true;
}

bool halt(struct model_cpu *cpu, const struct insn *insn)
{
    if (guest_cpl(cpu) != 0)
        return fault_raise(cpu, VECTOR_GP, 0);
    cpu->halted = true;
    advance(cpu, insn);
    return true;
}
