/* SPDX-License-Identifier: BSD-2-Clause */
/* Far transfers: JMP, CALL and RET between code segments, call gates, IRET.
 *
 * Checks in the order of SDM Vol. 2, "CALL", "JMP", "RET", "IRET/IRETD/IRETQ". */
#include "hw/model/processor/cpu.h"

enum { TYPE_CALL_GATE = 0xc };

static bool is_code(uint16_t attributes)
{
    unsigned wanted = SEGMENT_NOT_SYSTEM | SEGMENT_TYPE_CODE;
    return (attributes & wanted) == wanted;
}

static bool is_writable_data(uint16_t attributes)
{
    return attributes & SEGMENT_NOT_SYSTEM && !(attributes & SEGMENT_TYPE_CODE) &&
           attributes & SEGMENT_TYPE_WRITE;
}

/* L and D together are reserved in IA-32e mode. */
static bool mode_bits_good(const struct model_cpu *cpu, uint16_t attributes)
{
    return !(cpu->vmcb->save.efer & EFER_LMA) || !(attributes & SEGMENT_LONG) ||
           !(attributes & SEGMENT_BIG);
}

static uint32_t selector_error(uint16_t selector)
{
    return selector & 0xfffcu;
}

static bool target_fits(struct model_cpu *cpu, const struct descriptor *code, uint64_t rip)
{
    bool is_long = cpu->vmcb->save.efer & EFER_LMA && code->attributes & SEGMENT_LONG;
    if (is_long ? guest_canonical(cpu, rip) : rip <= code->limit)
        return true;
    return fault_raise(cpu, VECTOR_GP, 0);
}

static void enter_code(struct model_cpu *cpu, const struct descriptor *code, uint16_t selector,
                       uint64_t rip)
{
    descriptor_load(cpu, &cpu->vmcb->save.cs, code, selector);
    cpu->vmcb->save.rip = rip;
    cpu->branched = true;
}

static bool real_mode(const struct model_cpu *cpu)
{
    return !(cpu->vmcb->save.cr0 & CR0_PE);
}

static bool fits_real(struct model_cpu *cpu, uint64_t ip)
{
    return ip <= cpu->vmcb->save.cs.limit || fault_raise(cpu, VECTOR_GP, 0);
}

/* --- outward: RET far and IRET --- */

static bool check_return_code(struct model_cpu *cpu, uint16_t selector, struct descriptor *code)
{
    unsigned rpl = selector & 3;
    if (!(selector & ~3u))
        return fault_raise(cpu, VECTOR_GP, 0);
    if (!descriptor_read(cpu, selector, 0, code))
        return false;
    unsigned dpl = descriptor_dpl(code->attributes);
    bool dpl_good = code->attributes & SEGMENT_TYPE_CONFORM ? dpl <= rpl : dpl == rpl;
    if (!is_code(code->attributes) || rpl < guest_cpl(cpu) || !dpl_good ||
        !mode_bits_good(cpu, code->attributes))
        return fault_raise(cpu, VECTOR_GP, selector_error(selector));
    if (!(code->attributes & SEGMENT_PRESENT))
        return fault_raise(cpu, VECTOR_NP, selector_error(selector));
    return true;
}

static bool check_return_stack(struct model_cpu *cpu, uint16_t selector, unsigned cpl,
                               bool to_long, struct descriptor *stack)
{
    if (!(selector & ~3u)) {
        if (to_long && cpl != 3 && (selector & 3) == cpl)
            return true;
        return fault_raise(cpu, VECTOR_GP, 0);
    }
    if (!descriptor_read(cpu, selector, 0, stack))
        return false;
    if ((selector & 3) != cpl || !is_writable_data(stack->attributes) ||
        descriptor_dpl(stack->attributes) != cpl)
        return fault_raise(cpu, VECTOR_GP, selector_error(selector));
    if (!(stack->attributes & SEGMENT_PRESENT))
        return fault_raise(cpu, VECTOR_SS, selector_error(selector));
    return true;
}

static bool must_be_emptied(const struct vmcb_segment *segment, unsigned cpl)
{
    bool conforming =
        is_code(segment->attributes) && segment->attributes & SEGMENT_TYPE_CONFORM;
    return segment->selector & ~3u && !conforming && descriptor_dpl(segment->attributes) < cpl;
}

/* Data segments that the outer level may not use become null. */
static void empty_data_segments(struct model_cpu *cpu, unsigned cpl)
{
    struct vmcb_save *save = &cpu->vmcb->save;
    if (must_be_emptied(&save->ds, cpl))
        save->ds = (struct vmcb_segment){.base = save->ds.base};
    if (must_be_emptied(&save->es, cpl))
        save->es = (struct vmcb_segment){.base = save->es.base};
    machine_save_hidden(cpu);
    bool fs = must_be_emptied(&save->fs, cpl), gs = must_be_emptied(&save->gs, cpl);
    if (fs)
        save->fs = (struct vmcb_segment){.base = save->fs.base};
    if (gs)
        save->gs = (struct vmcb_segment){.base = save->gs.base};
    if (fs || gs)
        machine_load_hidden(cpu);
}

static void load_return_stack(struct model_cpu *cpu, const struct descriptor *stack,
                              uint16_t selector, unsigned cpl)
{
    if (selector & ~3u)
        descriptor_load(cpu, &cpu->vmcb->save.ss, stack, selector);
    else
        segment_load_null(&cpu->vmcb->save.ss, selector, cpl);
    cpl_set(cpu, cpl);
}

bool far_return(struct model_cpu *cpu, const struct insn *insn)
{
    unsigned bytes = insn->operand_bytes;
    uint64_t release = insn->opcode == 0xca ? (uint16_t)insn->immediate : 0;
    uint64_t rip = 0, selector64 = 0, rsp = 0, stack_selector64 = 0;
    struct descriptor code, stack;
    if (!stack_read(cpu, 0, &rip, bytes) || !stack_read(cpu, bytes, &selector64, bytes))
        return false;
    uint16_t selector = (uint16_t)selector64;
    if (real_mode(cpu)) {
        if (!fits_real(cpu, rip))
            return false;
        stack_set(cpu, cpu->gpr[RSP] + 2 * bytes + release);
        code_load_real(cpu, selector, rip);
        return true;
    }
    if (!check_return_code(cpu, selector, &code))
        return false;
    unsigned cpl = selector & 3;
    if (cpl == guest_cpl(cpu)) {
        if (!target_fits(cpu, &code, rip))
            return false;
        stack_set(cpu, cpu->gpr[RSP] + 2 * bytes + release);
        enter_code(cpu, &code, selector, rip);
        return true;
    }
    uint64_t outer = 2 * bytes + release;
    if (!stack_read(cpu, outer, &rsp, bytes) ||
        !stack_read(cpu, outer + bytes, &stack_selector64, bytes))
        return false;
    uint16_t stack_selector = (uint16_t)stack_selector64;
    if (!check_return_stack(cpu, stack_selector, cpl, code.attributes & SEGMENT_LONG, &stack) ||
        !target_fits(cpu, &code, rip))
        return false;
    enter_code(cpu, &code, selector, rip);
    load_return_stack(cpu, &stack, stack_selector, cpl);
    stack_set(cpu, rsp + release);
    empty_data_segments(cpu, cpl);
    return true;
}

/* --- IRET --- */

static void load_flags(struct model_cpu *cpu, uint64_t value, unsigned bytes, unsigned cpl)
{
    uint64_t mask = FLAG_STATUS | FLAG_TF | FLAG_DF | FLAG_NT;
    uint64_t flags = cpu->vmcb->save.rflags;
    if (bytes > 2)
        mask |= FLAG_RF | FLAG_AC | FLAG_ID;
    if (cpl <= (flags & FLAG_IOPL) >> 12)
        mask |= FLAG_IF;
    if (cpl == 0)
        mask |= FLAG_IOPL | (bytes > 2 ? FLAG_VIF | FLAG_VIP : 0);
    cpu->vmcb->save.rflags = (flags & ~mask) | (value & mask) | FLAG_FIXED;
}

struct return_frame {
    uint64_t rip, cs, flags, rsp, ss;
};

static bool read_frame(struct model_cpu *cpu, unsigned bytes, bool whole,
                       struct return_frame *frame)
{
    uint64_t *const fields[] = {&frame->rip, &frame->cs, &frame->flags, &frame->rsp,
                                &frame->ss};
    for (unsigned i = 0; i < (whole ? 5 : 3); i++) {
        *fields[i] = 0;
        if (!stack_read(cpu, i * bytes, fields[i], bytes))
            return false;
    }
    return true;
}

bool interrupt_return(struct model_cpu *cpu, const struct insn *insn)
{
    unsigned bytes = insn->operand_bytes, cpl_before = guest_cpl(cpu);
    struct return_frame frame = {0};
    struct descriptor code, stack;
    bool from_long = guest_long_code(cpu);
    if (cpu->vmcb->save.rflags & FLAG_NT && !real_mode(cpu)) {
        if (cpu->vmcb->save.efer & EFER_LMA) /* there is no task return there */
            return fault_raise(cpu, VECTOR_GP, 0);
        return task_return(cpu, insn);
    }
    if (!read_frame(cpu, bytes, from_long, &frame))
        return false;
    uint16_t selector = (uint16_t)frame.cs;
    if (real_mode(cpu)) {
        if (!fits_real(cpu, frame.rip))
            return false;
        stack_set(cpu, cpu->gpr[RSP] + 3 * bytes);
        code_load_real(cpu, selector, frame.rip);
        load_flags(cpu, frame.flags, bytes, 0);
        machine_unblock_nmi();
        return true;
    }
    if (!check_return_code(cpu, selector, &code))
        return false;
    unsigned cpl = selector & 3;
    bool with_stack = from_long || cpl != cpl_before;
    if (with_stack && !from_long && !read_frame(cpu, bytes, true, &frame))
        return false;
    if (with_stack && !check_return_stack(cpu, (uint16_t)frame.ss, cpl,
                                          code.attributes & SEGMENT_LONG, &stack))
        return false;
    if (!target_fits(cpu, &code, frame.rip))
        return false;
    if (!with_stack)
        stack_set(cpu, cpu->gpr[RSP] + 3 * bytes);
    enter_code(cpu, &code, selector, frame.rip);
    load_flags(cpu, frame.flags, bytes, cpl_before);
    if (with_stack) {
        load_return_stack(cpu, &stack, (uint16_t)frame.ss, cpl);
        stack_set(cpu, frame.rsp);
    }
    if (cpl != cpl_before)
        empty_data_segments(cpu, cpl);
    /* The processor still holds NMIs back, since the host took one without IRET. */
    machine_unblock_nmi();
    return true;
}

/* --- inward and level: JMP and CALL --- */

/* Pushes what a CALL leaves behind, on the stack at rsp of the level cpl; flat: the code that
 * is entered is 64-bit, and its stack has no base. */
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
    uint32_t error = selector_error(gate_selector);
    uint64_t raw[2];
    if (dpl < cpl || dpl < (gate_selector & 3u))
        return fault_raise(cpu, VECTOR_GP, error);
    if (!(gate->attributes & SEGMENT_PRESENT))
        return fault_raise(cpu, VECTOR_NP, error);
    if (!guest_read(cpu, gate->linear, raw, 16, ACCESS_IMPLICIT))
        return false;
    uint16_t selector = (uint16_t)(raw[0] >> 16);
    uint64_t rip = (raw[0] & 0xffff) | (raw[0] >> 32 & 0xffff0000) | raw[1] << 32;
    struct descriptor code;
    if (!(selector & ~3u))
        return fault_raise(cpu, VECTOR_GP, 0);
    if (!descriptor_read(cpu, selector, 0, &code))
        return false;
    unsigned code_dpl = descriptor_dpl(code.attributes);
    bool conforming = code.attributes & SEGMENT_TYPE_CONFORM;
    bool inward = is_call && !conforming && code_dpl < cpl;
    if (!is_code(code.attributes) || !(code.attributes & SEGMENT_LONG) || code_dpl > cpl ||
        (!is_call && !conforming && code_dpl != cpl) || !mode_bits_good(cpu, code.attributes))
        return fault_raise(cpu, VECTOR_GP, selector_error(selector));
    if (!(code.attributes & SEGMENT_PRESENT))
        return fault_raise(cpu, VECTOR_NP, selector_error(selector));
    if (!target_fits(cpu, &code, rip))
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
    enter_code(cpu, &code, (uint16_t)((selector & ~3u) | cpl), rip);
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
    if (!fits_real(cpu, ip))
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
    if (real_mode(cpu))
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
    if (!is_code(code.attributes) || !good || !mode_bits_good(cpu, code.attributes))
        return fault_raise(cpu, VECTOR_GP, selector_error(selector));
    if (!(code.attributes & SEGMENT_PRESENT))
        return fault_raise(cpu, VECTOR_NP, selector_error(selector));
    if (!target_fits(cpu, &code, rip))
        return false;
    const uint64_t words[] = {cpu->vmcb->save.cs.selector, cpu->vmcb->save.rip + insn->length};
    if (is_call) {
        if (!push_frame(cpu, &rsp, words, 2, bytes, cpl, stack_is_64(cpu)))
            return false;
        stack_set(cpu, rsp);
    }
    enter_code(cpu, &code, (uint16_t)((selector & ~3u) | cpl), rip);
    return true;
}
