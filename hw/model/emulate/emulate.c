/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Instructions carried out by software: near branches, and the frame around all of them.
 *
 * Each returns false, with nothing changed, when it faults. Where vendors differ on operand
 * size it follows the processors that have SVM, because untraced code runs on one.
 */
#include "hw/model/emulate/emulate.h"
#include "hw/model/bts/bts.h"
#include "hw/model/perfmon/perfmon.h"
#include "hw/model/trial/defect.h"
#include "hw/model/trial/policy.h"

static unsigned branch_bytes(const struct model_cpu *cpu, const struct insn *insn)
{
    if (guest_long_code(cpu))
        return insn->operand_bytes == 2 ? 2 : 8;
    return insn->operand_bytes;
}

/* --- near branches */

static bool target_valid(struct model_cpu *cpu, uint64_t rip)
{
    if (guest_long_code(cpu) ? guest_canonical(cpu, rip) : rip <= cpu->vmcb->save.cs.limit)
        return true;
    return fault_raise(cpu, VECTOR_GP, 0);
}

bool transfer_to(struct model_cpu *cpu, const struct insn *insn, uint64_t rip)
{
    rip = truncate_to(rip, branch_bytes(cpu, insn));
    if (!target_valid(cpu, rip))
        return false;
    cpu->vmcb->save.rip = rip;
    cpu->branched = true;
    return true;
}

static bool condition_holds(uint64_t flags, unsigned condition)
{
    bool sign_differs = !(flags & FLAG_SF) != !(flags & FLAG_OF);
    bool holds = false;

    switch (condition >> 1) {
    case 0:
        holds = flags & FLAG_OF;
        break;
    case 1:
        holds = flags & FLAG_CF;
        break;
    case 2:
        holds = flags & FLAG_ZF;
        break;
    case 3:
        holds = flags & (FLAG_CF | FLAG_ZF);
        break;
    case 4:
        holds = flags & FLAG_SF;
        break;
    case 5:
        holds = flags & FLAG_PF;
        break;
    case 6:
        holds = sign_differs;
        break;
    case 7:
        holds = sign_differs || flags & FLAG_ZF;
        break;
    }
    return holds != (condition & 1);
}

static bool branch_relative(struct model_cpu *cpu, const struct insn *insn, bool taken)
{
    uint64_t next = guest_next_rip(cpu, insn);

    if (taken)
        return transfer_to(cpu, insn, next + (uint64_t)insn->immediate);
    cpu->vmcb->save.rip = next;
    return true;
}

static bool loop(struct model_cpu *cpu, const struct insn *insn)
{
    uint64_t count = truncate_to(cpu->gpr[RCX] - 1, insn->address_bytes);
    bool zero = cpu->vmcb->save.rflags & FLAG_ZF;
    bool taken = count != 0;

    if (insn->opcode != 0xE2)
        taken = taken && zero == (insn->opcode == 0xE1);
    if (!branch_relative(cpu, insn, taken))
        return false;
    if (insn->address_bytes == 2)
        count |= cpu->gpr[RCX] & ~0xFFFFull;
    cpu->gpr[RCX] = count;
    return true;
}

static bool call(struct model_cpu *cpu, const struct insn *insn, uint64_t target)
{
    uint64_t from = cpu->vmcb->save.rip;
    uint64_t next = guest_next_rip(cpu, insn);

    if (!transfer_to(cpu, insn, target))
        return false;
    if (stack_push(cpu, next, branch_bytes(cpu, insn)))
        return true;
    cpu->vmcb->save.rip = from;
    cpu->branched = false;
    return false;
}

static bool near_return(struct model_cpu *cpu, const struct insn *insn)
{
    unsigned bytes = branch_bytes(cpu, insn);
    uint64_t target = 0;

    if (!stack_read(cpu, 0, &target, bytes) || !transfer_to(cpu, insn, target))
        return false;
    uint64_t release = insn->opcode == 0xC2 ? (uint16_t)insn->immediate : 0;
    stack_set(cpu, cpu->gpr[RSP] + bytes + release);
    return true;
}

bool branch_near(struct model_cpu *cpu, const struct insn *insn)
{
    uint64_t target;

    switch (insn->class) {
    case INSN_JCC:
        return branch_relative(cpu, insn,
                               condition_holds(cpu->vmcb->save.rflags, insn->opcode & 15));
    case INSN_LOOP:
        return loop(cpu, insn);
    case INSN_JCXZ:
        return branch_relative(cpu, insn, truncate_to(cpu->gpr[RCX], insn->address_bytes) == 0);
    case INSN_JMP:
        return branch_relative(cpu, insn, true);
    case INSN_CALL:
        return call(cpu, insn, guest_next_rip(cpu, insn) + (uint64_t)insn->immediate);
    case INSN_RET:
        return near_return(cpu, insn);
    default: /* JMP and CALL through a register or memory */
        if (!operand_load(cpu, insn, 0, branch_bytes(cpu, insn), &target))
            return false;
        return insn->class == INSN_CALL_INDIRECT ? call(cpu, insn, target)
                                                 : transfer_to(cpu, insn, target);
    }
}

/* --- the frame around every instruction */

bool is_emulated(const struct insn *insn)
{
    return insn->class > INSN_BARRIER && !insn->lock; /* LOCK: the processor raises #UD */
}

static bool execute(struct model_cpu *cpu, const struct insn *insn)
{
    switch (insn->class) {
    case INSN_JMP_FAR:
    case INSN_CALL_FAR:
    case INSN_JMP_FAR_DIRECT:
    case INSN_CALL_FAR_DIRECT:
        return far_jump(cpu, insn);
    case INSN_RET_FAR:
        return far_return(cpu, insn);
    case INSN_IRET:
        return interrupt_return(cpu, insn);
    case INSN_SYSCALL:
        return system_call(cpu, insn);
    case INSN_SYSRET:
        return system_return(cpu, insn);
    case INSN_SYSENTER:
        return fast_call(cpu, insn);
    case INSN_SYSEXIT:
        return fast_return(cpu, insn);
    case INSN_PUSHF:
        return push_flags(cpu, insn);
    case INSN_POPF:
        return pop_flags(cpu, insn);
    case INSN_CLI:
    case INSN_STI:
        return change_interrupt_flag(cpu, insn);
    case INSN_HLT:
        return halt(cpu, insn);
    case INSN_MOV_SS:
    case INSN_POP_SS:
        return load_stack_segment(cpu, insn);
    default:
        return branch_near(cpu, insn);
    }
}

/* INT n, INT3, INT1, INTO: the event's frame does all the work. */
static bool software_event(struct model_cpu *cpu, const struct insn *insn)
{
    uint64_t rip = cpu->vmcb->save.rip, next = guest_next_rip(cpu, insn);
    struct event event = {.kind = EVENT_SOFTWARE, .return_rip = next, .restart_rip = rip};
    bool from_next;

    switch (insn->class) {
    case INSN_INT:
        event.vector = (uint8_t)insn->immediate;
        from_next = policy(POLICY_INT_N_FROM) == FROM_NEXT;
        break;
    case INSN_INT3:
        event.vector = VECTOR_BP;
        from_next = policy(POLICY_INT3_FROM) == FROM_NEXT;
        break;
    case INSN_INT1:
        event.vector = VECTOR_DB;
        event.kind = EVENT_ICEBP;
        from_next = policy(POLICY_INT1_FROM) == FROM_NEXT;
        break;
    case INSN_INTO:
        event.vector = VECTOR_OF;
        from_next = policy(POLICY_INT_N_FROM) == FROM_NEXT;
        if (!(cpu->vmcb->save.rflags & FLAG_OF)) {
            cpu->vmcb->save.rip = next;
            return true;
        }
        break;
    default:
        return false;
    }
    if (policy(POLICY_BTF_INT) == BTF_AFTER_RETURN)
        cpu->debugctl &= ~DEBUGCTL_BTF; /* as if the step were done */
    cpu->vmcb->save.rflags &= ~FLAG_RF;
    event.from_rip = from_next ? next : rip;
    deliver(cpu, &event);
    return true;
}

void transfer_finish(struct model_cpu *cpu, const struct insn *insn, uint64_t from,
                     unsigned cpl_before)
{
    if (defect(DEFECT_CALL_RIP_LOST) && insn->class == INSN_CALL_INDIRECT && insn->rip_relative)
        return;
    struct transfer transfer = {.from = from,
                                .to = recorded_address(cpu, cpu->vmcb->save.rip),
                                .cpl_before = (uint8_t)cpl_before,
                                .cpl_after = (uint8_t)guest_cpl(cpu),
                                .kind = TRANSFER_JUMP,
                                .class = insn->class,
                                .length = insn->length,
                                .prefix_bytes = insn->prefix_bytes,
                                .from_legacy = cpu->from_legacy,
                                .to_legacy = !guest_long_code(cpu)};
    if (!record_transfer(cpu, &transfer))
        deliver_fault(cpu);
}

/* The instruction has retired, from linear address from, while something counts. */
static bool retire(struct model_cpu *cpu, const struct insn *insn, uint64_t from,
                   unsigned cpl_before)
{
    struct retired retired = {.linear = from,
                              .count = 1,
                              .class = insn->class,
                              .taken = cpu->branched,
                              .cpl_before = (uint8_t)cpl_before,
                              .cpl_after = (uint8_t)guest_cpl(cpu)};

    return count_retired(cpu, &retired);
}

void carry_out(struct model_cpu *cpu, const struct insn *insn)
{
    struct vmcb_save *save = &cpu->vmcb->save;
    uint64_t from = recorded_address(cpu, save->rip), start_rip = save->rip;
    uint64_t flags_before = save->rflags;

    cpu->from_legacy = !guest_long_code(cpu);
    unsigned cpl_before = guest_cpl(cpu);
    cpu->shadow = false;
    cpu->branched = false;
    cpu->task_switched = false;
    if (software_event(cpu, insn))
        return;
    save->rflags &= ~FLAG_RF;
    if (!execute(cpu, insn)) {
        save->rflags = flags_before;
        if (defect(DEFECT_FAULT_RECORDED) && insn_is_transfer(insn->class)) {
            struct fault kept = cpu->fault;

            transfer_finish(cpu, insn, from, cpl_before);
            cpu->fault = kept;
        }
        deliver_fault(cpu);
        return;
    }
    /* SYSCALL and SYSRET trap by the flag that they load, all others by the one before. */
    bool by_new = insn->class == INSN_SYSCALL || insn->class == INSN_SYSRET;
    bool trap = (by_new ? save->rflags : flags_before) & FLAG_TF;
    if (cpu->debugctl & DEBUGCTL_BTF && !defect(DEFECT_BTF_IGNORED))
        trap = trap && cpu->branched;
    if (cpu->debugctl & DEBUGCTL_BTF && defect(DEFECT_BTF_FAR))
        trap = trap && (insn->class < INSN_JMP_FAR || insn->class > INSN_IRET);
    trap = trap && (!cpu->task_switched || defect(DEFECT_TASK_TRAPS));
    bool late = trap && (defect(DEFECT_ORDER) ||
                         (cpu->debugctl & DEBUGCTL_BTF && defect(DEFECT_BTF_ORDER)));
    bool bent = insn->class == INSN_JCC && defect(DEFECT_NOT_TAKEN);
    bool swapped = defect(DEFECT_PEBS_AFTER_BTS) && cpu->branched;
    if (swapped) {
        transfer_finish(cpu, insn, from, cpl_before);
        interrupt_send(cpu);
    }
    if (cpu->perf.live && !retire(cpu, insn, from, cpl_before)) {
        struct fault of_sample = cpu->fault;

        if (cpu->branched && !swapped)
            transfer_finish(cpu, insn, from, cpl_before);
        cpu->fault = of_sample;
        deliver_fault(cpu);
        return;
    }
    if ((cpu->branched || bent) && !late && !swapped)
        transfer_finish(cpu, insn, from, cpl_before);
    if (trap && insn->class != INSN_MOV_SS && insn->class != INSN_POP_SS)
        deliver_debug_trap(cpu, DR6_BS,
                           policy(POLICY_DB_FROM) == DB_FROM_INSN ? start_rip : save->rip);
    if (cpu->branched && late && !swapped)
        transfer_finish(cpu, insn, from, cpl_before);
}
