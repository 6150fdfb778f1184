/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hardware task switches between 32-bit tasks, outside IA-32e mode.
 *
 * Source: SDM Vol. 3, "Task Switching", "Task-State Segment (TSS)". Tasks have no LDT and stay
 * in ring 0; what else could go wrong in the new task is #TS in the old one.
 */
#include "hw/model/emulate/emulate.h"

enum { TSS_LINK, TSS_CR3 = 7, TSS_EIP, TSS_FLAGS, TSS_GPR, TSS_ES = 18, TSS_LDT = 24 };
enum { TSS_WORDS = 26, TSS_LIMIT = 0x67, TYPE_BUSY = 2, TYPE_TSS = 9 };
#define CR0_TS (1ull << 3)

bool task_descriptor(const struct model_cpu *cpu, const struct descriptor *descriptor)
{
    uint16_t kind = descriptor->attributes & (SEGMENT_NOT_SYSTEM | SEGMENT_TYPE);

    return !(cpu->vmcb->save.efer & EFER_LMA) && (kind & ~TYPE_BUSY) == TYPE_TSS;
}

static bool set_busy(struct model_cpu *cpu, uint64_t linear, bool busy)
{
    uint8_t type;

    if (!guest_read(cpu, linear + 5, &type, 1, ACCESS_IMPLICIT))
        return false;
    type = (uint8_t)((type & ~TYPE_BUSY) | (busy ? TYPE_BUSY : 0));
    return guest_write(cpu, linear + 5, &type, 1, ACCESS_IMPLICIT);
}

static bool save_task(struct model_cpu *cpu, uint64_t next_rip, bool keep_nested)
{
    const struct vmcb_save *save = &cpu->vmcb->save;
    const struct vmcb_segment *const segments[] = {&save->es, &save->cs, &save->ss,
                                                   &save->ds, &save->fs, &save->gs};
    uint32_t words[TSS_LDT - TSS_EIP];

    words[0] = (uint32_t)next_rip;
    words[1] = (uint32_t)(keep_nested ? save->rflags : save->rflags & ~FLAG_NT);
    for (unsigned i = 0; i < 8; i++)
        words[TSS_GPR - TSS_EIP + i] = (uint32_t)cpu->gpr[i];
    for (unsigned i = 0; i < 6; i++)
        words[TSS_ES - TSS_EIP + i] = segments[i]->selector;
    return guest_write(cpu, save->tr.base + 4 * TSS_EIP, words, sizeof(words), ACCESS_IMPLICIT);
}

static bool load_segment(struct model_cpu *cpu, struct vmcb_segment *segment, uint16_t selector)
{
    struct descriptor descriptor;

    if (!(selector & ~3u)) {
        *segment = (struct vmcb_segment){.selector = selector};
        return true;
    }
    if (!descriptor_read(cpu, selector, 0, &descriptor) ||
        !(descriptor.attributes & SEGMENT_PRESENT))
        return fault_raise(cpu, VECTOR_TS, selector & 0xFFFCu);
    descriptor_load(cpu, segment, &descriptor, selector);
    return true;
}

static bool load_task(struct model_cpu *cpu, const uint32_t words[TSS_WORDS])
{
    struct vmcb_save *save = &cpu->vmcb->save;
    struct vmcb_segment *const segments[] = {&save->es, &save->cs, &save->ss,
                                             &save->ds, &save->fs, &save->gs};

    if (save->cr0 & CR0_PG) {
        save->cr3 = words[TSS_CR3];
        guest_forget_translations(cpu);
    }
    save->cr0 |= CR0_TS;
    save->rip = words[TSS_EIP];
    save->rflags = words[TSS_FLAGS] | FLAG_FIXED;
    for (unsigned i = 0; i < 8; i++)
        cpu->gpr[i] = words[TSS_GPR + i];
    for (unsigned i = 0; i < 6; i++)
        if (!load_segment(cpu, segments[i], (uint16_t)words[TSS_ES + i]))
            return false;
    return true;
}

bool task_switch(struct model_cpu *cpu, const struct descriptor *target, enum task_way way,
                 uint64_t next_rip)
{
    struct vmcb_save *save = &cpu->vmcb->save;
    uint32_t words[TSS_WORDS], error = target->selector & 0xFFFCu;
    bool busy = target->attributes & TYPE_BUSY;

    if (busy != (way == TASK_RETURN) || target->limit < TSS_LIMIT)
        return fault_raise(cpu, way == TASK_RETURN ? VECTOR_TS : VECTOR_GP, error);
    if (!(target->attributes & SEGMENT_PRESENT))
        return fault_raise(cpu, VECTOR_NP, error);
    machine_save_hidden(cpu);
    uint16_t old_selector = save->tr.selector;
    if (!guest_read(cpu, target->base, words, sizeof(words), ACCESS_IMPLICIT) ||
        !save_task(cpu, next_rip, way != TASK_RETURN))
        return false;
    if (way != TASK_CALL && !set_busy(cpu, save->gdtr.base + (old_selector & ~7u), false))
        return false;
    if (way == TASK_CALL) {
        words[TSS_FLAGS] |= FLAG_NT;
        if (!guest_write(cpu, target->base, &old_selector, 2, ACCESS_IMPLICIT))
            return false;
    }
    if (!set_busy(cpu, target->linear, true) || !load_task(cpu, words))
        return false;
    save->tr = (struct vmcb_segment){.selector = target->selector,
                                     .attributes = target->attributes | TYPE_BUSY,
                                     .limit = target->limit,
                                     .base = target->base};
    machine_load_hidden(cpu);
    cpu->branched = true;
    cpu->task_switched = true;
    return true;
}

bool task_return(struct model_cpu *cpu, const struct insn *insn)
{
    struct descriptor target;
    uint16_t selector;

    machine_save_hidden(cpu);
    if (!guest_read(cpu, cpu->vmcb->save.tr.base, &selector, 2, ACCESS_IMPLICIT) ||
        !descriptor_read(cpu, selector, 0, &target))
        return false;
    if (!task_descriptor(cpu, &target))
        return fault_raise(cpu, VECTOR_TS, selector & 0xFFFCu);
    return task_switch(cpu, &target, TASK_RETURN, guest_next_rip(cpu, insn));
}
