/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Far transfers outward: RET between code segments, IRET.
 *
 * Checks in the order of SDM Vol. 2, "RET", "IRET/IRETD/IRETQ".
 */
#include "hw/model/emulate/emulate.h"
#include "hw/model/emulate/far.h"

static bool is_writable_data(uint16_t attributes)
{
    return attributes & SEGMENT_NOT_SYSTEM && !(attributes & SEGMENT_TYPE_CODE) &&
           attributes & SEGMENT_TYPE_WRITE;
}

static bool check_return_code(struct model_cpu *cpu, uint16_t selector, struct descriptor *code)
{
    unsigned rpl = selector & 3;

    if (!(selector & ~3u))
        return fault_raise(cpu, VECTOR_GP, 0);
    if (!descriptor_read(cpu, selector, 0, code))
        return false;
    unsigned dpl = descriptor_dpl(code->attributes);
    bool dpl_good = code->attributes & SEGMENT_TYPE_CONFORM ? dpl <= rpl : dpl == rpl;
    if (!far_is_code(code->attributes) || rpl < guest_cpl(cpu) || !dpl_good ||
        !far_mode_bits_good(cpu, code->attributes))
        return fault_raise(cpu, VECTOR_GP, far_selector_error(selector));
    if (!(code->attributes & SEGMENT_PRESENT))
        return fault_raise(cpu, VECTOR_NP, far_selector_error(selector));
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
        return fault_raise(cpu, VECTOR_GP, far_selector_error(selector));
    if (!(stack->attributes & SEGMENT_PRESENT))
        return fault_raise(cpu, VECTOR_SS, far_selector_error(selector));
    return true;
}

static bool must_be_emptied(const struct vmcb_segment *segment, unsigned cpl)
{
    bool conforming =
        far_is_code(segment->attributes) && segment->attributes & SEGMENT_TYPE_CONFORM;

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
    uint64_t release = insn->opcode == 0xCA ? (uint16_t)insn->immediate : 0;
    uint64_t rip = 0, selector64 = 0, rsp = 0, stack_selector64 = 0;
    struct descriptor code, stack;

    if (!stack_read(cpu, 0, &rip, bytes) || !stack_read(cpu, bytes, &selector64, bytes))
        return false;
    uint16_t selector = (uint16_t)selector64;
    if (far_real_mode(cpu)) {
        if (!far_fits_real(cpu, rip))
            return false;
        stack_set(cpu, cpu->gpr[RSP] + 2 * bytes + release);
        code_load_real(cpu, selector, rip);
        return true;
    }
    if (!check_return_code(cpu, selector, &code))
        return false;
    unsigned cpl = selector & 3;
    if (cpl == guest_cpl(cpu)) {
        if (!far_target_fits(cpu, &code, rip))
            return false;
        stack_set(cpu, cpu->gpr[RSP] + 2 * bytes + release);
        far_enter_code(cpu, &code, selector, rip);
        return true;
    }
    uint64_t outer = 2 * bytes + release;
    if (!stack_read(cpu, outer, &rsp, bytes) ||
        !stack_read(cpu, outer + bytes, &stack_selector64, bytes))
        return false;
    uint16_t stack_selector = (uint16_t)stack_selector64;
    if (!check_return_stack(cpu, stack_selector, cpl, code.attributes & SEGMENT_LONG, &stack) ||
        !far_target_fits(cpu, &code, rip))
        return false;
    far_enter_code(cpu, &code, selector, rip);
    load_return_stack(cpu, &stack, stack_selector, cpl);
    stack_set(cpu, rsp + release);
    empty_data_segments(cpu, cpl);
    return true;
}

/* --- IRET */

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

    if (cpu->vmcb->save.rflags & FLAG_NT && !far_real_mode(cpu)) {
        if (cpu->vmcb->save.efer & EFER_LMA) /* there is no task return there */
            return fault_raise(cpu, VECTOR_GP, 0);
        return task_return(cpu, insn);
    }
    if (!read_frame(cpu, bytes, from_long, &frame))
        return false;
    uint16_t selector = (uint16_t)frame.cs;
    if (far_real_mode(cpu)) {
        if (!far_fits_real(cpu, frame.rip))
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
    if (!far_target_fits(cpu, &code, frame.rip))
        return false;
    if (!with_stack)
        stack_set(cpu, cpu->gpr[RSP] + 3 * bytes);
    far_enter_code(cpu, &code, selector, frame.rip);
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
