/* SPDX-License-Identifier: BSD-2-Clause */
/* Operands of instructions carried out by software: registers, memory, the stack. */
#include "hw/model/emulate/emulate.h"

static uint64_t register_value(const struct model_cpu *cpu, unsigned number, unsigned bytes)
{
    return truncate_to(cpu->gpr[number], bytes);
}

static uint64_t effective_address_16(const struct model_cpu *cpu, const struct insn *insn)
{
    static const uint8_t base[8] = {RBX, RBX, RBP, RBP, RSI, RDI, RBP, RBX};
    unsigned rm = insn->modrm & 7, mod = insn->modrm >> 6;
    uint64_t address = (uint64_t)insn->displacement;

    if (!(mod == 0 && rm == 6))
        address += cpu->gpr[base[rm]];
    if (rm < 4)
        address += cpu->gpr[rm & 1 ? RDI : RSI];
    return address & 0xFFFF;
}

static bool uses_stack_segment(const struct insn *insn)
{
    unsigned rm = insn->modrm & 7, mod = insn->modrm >> 6;

    if (insn->address_bytes == 2)
        return rm == 2 || rm == 3 || (rm == 6 && mod != 0);
    unsigned base = rm == 4 ? insn->sib & 7 : rm;
    if (insn->rex & REX_B)
        return false;
    return (base == RSP && rm == 4) || (base == RBP && mod != 0);
}

uint64_t effective_address(const struct model_cpu *cpu, const struct insn *insn)
{
    unsigned rm = insn->modrm & 7, mod = insn->modrm >> 6;

    if (insn->address_bytes == 2)
        return effective_address_16(cpu, insn);
    uint64_t address = (uint64_t)insn->displacement;
    unsigned rex_b = insn->rex & REX_B ? 8 : 0;
    if (insn->rip_relative) {
        address += guest_next_rip(cpu, insn);
    } else if (rm == 4) {
        unsigned base = insn->sib & 7;
        unsigned index = (insn->sib >> 3 & 7) | (insn->rex & REX_X ? 8 : 0);

        if (!(base == 5 && mod == 0))
            address += cpu->gpr[base | rex_b];
        if (index != 4)
            address += cpu->gpr[index] << (insn->sib >> 6);
    } else if (!(rm == 5 && mod == 0)) {
        address += cpu->gpr[rm | rex_b];
    }
    return truncate_to(address, insn->address_bytes);
}

bool operand_load(struct model_cpu *cpu, const struct insn *insn, unsigned offset,
                  unsigned bytes, uint64_t *value)
{
    if (insn->modrm >= 0xC0) {
        *value = register_value(cpu, (insn->modrm & 7) | (insn->rex & REX_B ? 8 : 0), bytes);
        return true;
    }
    unsigned segment = insn->segment, access = guest_user_access(cpu);
    if (segment == SEGMENT_NONE)
        segment = uses_stack_segment(insn) ? SEGMENT_SS : SEGMENT_DS;
    if (segment == SEGMENT_SS)
        access |= ACCESS_STACK;
    uint64_t linear = guest_segment_base(cpu, segment) + effective_address(cpu, insn) + offset;
    if (!guest_long_code(cpu))
        linear = (uint32_t)linear;
    *value = 0;
    return guest_read(cpu, linear, value, bytes, access);
}

/* --- stack */

bool stack_is_64(const struct model_cpu *cpu)
{
    return guest_long_code(cpu);
}

uint64_t stack_linear(const struct model_cpu *cpu, uint64_t rsp)
{
    const struct vmcb_segment *ss = &cpu->vmcb->save.ss;

    if (stack_is_64(cpu))
        return rsp;
    return (uint32_t)(ss->base + truncate_to(rsp, ss->attributes & SEGMENT_BIG ? 4 : 2));
}

void stack_set(struct model_cpu *cpu, uint64_t rsp)
{
    if (stack_is_64(cpu))
        cpu->gpr[RSP] = rsp;
    else if (cpu->vmcb->save.ss.attributes & SEGMENT_BIG)
        cpu->gpr[RSP] = (uint32_t)rsp;
    else
        cpu->gpr[RSP] = (cpu->gpr[RSP] & ~0xFFFFull) | (rsp & 0xFFFF);
}

bool stack_read(struct model_cpu *cpu, uint64_t offset, void *to, size_t bytes)
{
    return guest_read(cpu, stack_linear(cpu, cpu->gpr[RSP] + offset), to, bytes,
                      guest_user_access(cpu) | ACCESS_STACK);
}

bool stack_push(struct model_cpu *cpu, uint64_t value, unsigned bytes)
{
    uint64_t rsp = cpu->gpr[RSP] - bytes;

    if (!guest_write(cpu, stack_linear(cpu, rsp), &value, bytes,
                     guest_user_access(cpu) | ACCESS_STACK))
        return false;
    stack_set(cpu, rsp);
    return true;
}
