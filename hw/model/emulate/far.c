/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Far transfers inward and on one level: JMP and CALL between code segments, call gates.
 *
 * Checks in the order of SDM Vol. 2, "CALL", "JMP".
 */
#include "hw/model/emulate/far.h"
#include "hw/model/emulate/emulate.h"

enum { TYPE_CALL_GATE = 0xC };

bool far_is_code(uint16_t attributes)
{
    unsigned wanted = SEGMENT_NOT_SYSTEM | SEGMENT_TYPE_CODE;

    return (attributes & wanted) == wanted;
}

/* L and D together are reserved in IA-32e mode. */
bool far_mode_bits_good(const struct model_cpu *cpu, uint16_t attributes)
{
    return !(cpu->vmcb->save.efer & EFER_LMA) || !(attributes & SEGMENT_LONG) ||
           !(attributes & SEGMENT_BIG);
}

uint32_t far_selector_error(uint16_t selector)
{
    return selector & 0xFFFCu;
}

bool far_target_fits(struct model_cpu *cpu, const struct descriptor *code, uint64_t rip)
{
    bool is_long = cpu->vmcb->save.efer & EFER_LMA && code->attributes & SEGMENT_LONG;

    if (is_long ? guest_canonical(cpu, rip) : rip <= code->limit)
        return true;
    return fault_raise(cpu, VECTOR_GP, 0);
}

void far_enter_code(struct model_cpu *cpu, const struct descriptor *code, uint16_t selector,
                    uint64_t rip)
{
    descriptor_load(cpu, &cpu->vmcb->save.cs, code, selector);
    cpu->vmcb->save.rip = rip;
    cpu->branched = true;
}

bool far_real_mode(const struct model_cpu *cpu)
{
    return !(cpu->vmcb->save.cr0 & CR0_PE);
}

bool far_fits_real(struct model_cpu *cpu, uint64_t ip)
{
    return ip <= cpu->vmcb->save.cs.limit || fault_raise(cpu, VECTOR_GP, 0);
}

/* --- inward and level: JMP and CALL */

/*
 * Pushes what a CALL leaves behind, on the stack at rsp of the level cpl; flat: the code that
 * is entered is 64-bit, and its stack has no base.
 */
static bool push_frame(struct model_cpu *cpu, uint64_t *rsp, const uint64_t *words,
                       unsigned count, unsigned bytes, unsigned cpl, bool flat)
{
    uint8_t frame[4 * 8];

    for (unsigned i = 0; i < count; i++)
        for (unsigned b = 0; b < bytes; b++)
            frame[(count - 1 - i) * bytes + b] = (uint8_t)(words[i] >> (8 * b));
    uint64_t at = *rsp - count * bytes;
    uint64_t linear = at;
    if (!flat)
        linear = stack_linear(cpu, at);
    if (!guest_write(cpu, linear, frame, count * bytes,
                     ACCESS_STACK | (cpl == 3 ? ACCESS_USER : 0)))
        return false;
    *rsp = at;
    return true;
}

static bool through_gate(struct model_cpu *cpu, const struct insn *insn, bool is_call,
                         uint16_t gate_selector, const struct descriptor *gate)
{
    struct vmcb_save *save = &cpu->vmcb->save;
    unsigned cpl = guest_cpl(cpu), dpl = descriptor_dpl(gate->attributes);
    uint32_t error = far_selector_error(gate_selector);
    uint64_t raw[2];

    if (dpl < cpl || dpl < (gate_selector & 3u))
        return fault_raise(cpu, VECTOR_GP, error);
    if (!(gate->attributes & SEGMENT_PRESENT))
        return fault_raise(cpu, VECTOR_NP, error);
    if (!guest_read(cpu, gate->linear, raw, 16, ACCESS_IMPLICIT))
        return false;
    uint16_t selector = (uint16_t)(raw[0] >> 16);
    uint64_t rip = (raw[0] & 0xFFFF) | (raw[0] >> 32 & 0xFFFF0000) | raw[1] << 32;
    struct descriptor code;
    if (!(selector & ~3u))
        return fault_raise(cpu, VECTOR_GP, 0);
    if (!descriptor_read(cpu, selector, 0, &code))
        return false;
    unsigned code_dpl = descriptor_dpl(code.attributes);
    bool conforming = code.attributes & SEGMENT_TYPE_CONFORM;
    bool inward = is_call && !conforming && code_dpl < cpl;
    if (!far_is_code(code.attributes) || !(code.attributes & SEGMENT_LONG) || code_dpl > cpl ||
        (!is_call && !conforming && code_dpl != cpl) ||
        !far_mode_bits_good(cpu, code.attributes))
        return fault_raise(cpu, VECTOR_GP, far_selector_error(selector));
    if (!(code.attributes & SEGMENT_PRESENT))
        return fault_raise(cpu, VECTOR_NP, far_selector_error(selector));
    if (!far_target_fits(cpu, &code, rip))
        return false;
    uint64_t rsp = cpu->gpr[RSP];
    const uint64_t words[] = {save->ss.selector, rsp, save->cs.selector,
                              save->rip + insn->length};
    if (inward) {
        machine_save_hidden(cpu);
        if (!guest_read(cpu, save->tr.base + 4 + 8 * code_dpl, &rsp, 8, ACCESS_IMPLICIT) ||
            !push_frame(cpu, &rsp, words, 4, 8, code_dpl, true))
            return false;
        segment_load_null(&save->ss, (uint16_t)code_dpl, code_dpl);
        cpl_set(cpu, code_dpl);
        cpl = code_dpl;
    } else if (is_call && !push_frame(cpu, &rsp, words + 2, 2, 8, cpl, true)) {
        return false;
    }
    cpu->gpr[RSP] = rsp;
    far_enter_code(cpu, &code, (uint16_t)((selector & ~3u) | cpl), rip);
    return true;
}

static bool far_pointer(struct model_cpu *cpu, const struct insn *insn, uint64_t *rip,
                        uint16_t *selector)
{
    if (insn->class == INSN_JMP_FAR_DIRECT || insn->class == INSN_CALL_FAR_DIRECT) {
        *rip = truncate_to((uint64_t)insn->immediate, insn->operand_bytes);
        *selector = insn->immediate2;
        return true;
    }
    uint64_t value;
    if (!operand_load(cpu, insn, 0, insn->operand_bytes, rip) ||
        !operand_load(cpu, insn, insn->operand_bytes, 2, &value))
        return false;
    *selector = (uint16_t)value;
    return true;
}

static bool far_jump_real(struct model_cpu *cpu, const struct insn *insn, bool is_call,
                          uint16_t segment, uint64_t ip)
{
    const uint64_t words[] = {cpu->vmcb->save.cs.selector, guest_next_rip(cpu, insn)};
    uint64_t rsp = cpu->gpr[RSP];

    if (!far_fits_real(cpu, ip))
        return false;
    if (is_call) {
        if (!push_frame(cpu, &rsp, words, 2, insn->operand_bytes, 0, false))
            return false;
        stack_set(cpu, rsp);
    }
    code_load_real(cpu, segment, ip);
    return true;
}

bool far_jump(struct model_cpu *cpu, const struct insn *insn)
{
    bool is_call = insn->class == INSN_CALL_FAR || insn->class == INSN_CALL_FAR_DIRECT;
    unsigned cpl = guest_cpl(cpu), bytes = insn->operand_bytes;
    uint64_t rip, rsp = cpu->gpr[RSP];
    uint16_t selector;
    struct descriptor code;

    if (!far_pointer(cpu, insn, &rip, &selector))
        return false;
    if (far_real_mode(cpu))
        return far_jump_real(cpu, insn, is_call, selector, rip);
    if (!(selector & ~3u))
        return fault_raise(cpu, VECTOR_GP, 0);
    if (!descriptor_read(cpu, selector, 0, &code))
        return false;
    if (task_descriptor(cpu, &code))
        return task_switch(cpu, &code, is_call ? TASK_CALL : TASK_JUMP,
                           guest_next_rip(cpu, insn));
    if (!(code.attributes & SEGMENT_NOT_SYSTEM) && cpu->vmcb->save.efer & EFER_LMA &&
        (code.attributes & SEGMENT_TYPE) == TYPE_CALL_GATE)
        return through_gate(cpu, insn, is_call, selector, &code);
    unsigned dpl = descriptor_dpl(code.attributes);
    bool good = code.attributes & SEGMENT_TYPE_CONFORM ? dpl <= cpl
                                                       : dpl == cpl && (selector & 3u) <= cpl;
    if (!far_is_code(code.attributes) || !good || !far_mode_bits_good(cpu, code.attributes))
        return fault_raise(cpu, VECTOR_GP, far_selector_error(selector));
    if (!(code.attributes & SEGMENT_PRESENT))
        return fault_raise(cpu, VECTOR_NP, far_selector_error(selector));
    if (!far_target_fits(cpu, &code, rip))
        return false;
    const uint64_t words[] = {cpu->vmcb->save.cs.selector, cpu->vmcb->save.rip + insn->length};
    if (is_call) {
        if (!push_frame(cpu, &rsp, words, 2, bytes, cpl, stack_is_64(cpu)))
            return false;
        stack_set(cpu, rsp);
    }
    far_enter_code(cpu, &code, (uint16_t)((selector & ~3u) | cpl), rip);
    return true;
}
