/* SPDX-License-Identifier: BSD-2-Clause */
/* Transfers that leave no record although tracing is on: by policy, or by a defect. */
#include "hw/model/bts/bts.h"
#include "hw/model/trial/defect.h"
#include "hw/model/trial/policy.h"

static bool lost_class(const struct transfer *t)
{
    bool crosses = t->cpl_before != t->cpl_after;

    switch (t->class) {
    case INSN_JCC:
        return defect(DEFECT_TAKEN_LOST) ||
               (t->to - t->from - 64 < 1ull << 32 && defect(DEFECT_JCC_LONG_LOST));
    case INSN_LOOP:
    case INSN_JCXZ:
        return defect(DEFECT_LOOP_LOST);
    case INSN_CALL:
    case INSN_CALL_INDIRECT:
        return defect(DEFECT_CALL_LOST);
    case INSN_RET:
        return defect(DEFECT_RET_LOST);
    case INSN_JMP_INDIRECT:
        return defect(DEFECT_INDIRECT_LOST);
    case INSN_CALL_FAR:
    case INSN_CALL_FAR_DIRECT:
        return defect(DEFECT_FAR_LOST) || (crosses && defect(DEFECT_GATE_LOST));
    case INSN_RET_FAR:
        return defect(DEFECT_FAR_LOST) || (crosses && defect(DEFECT_OUTER_RET_LOST)) ||
               (t->length > 2 && defect(DEFECT_RETF_IMM_LOST));
    case INSN_JMP_FAR:
    case INSN_JMP_FAR_DIRECT:
        return defect(DEFECT_FAR_LOST);
    case INSN_SYSENTER:
    case INSN_SYSEXIT:
        return policy(POLICY_SYSENTER_RECORD) == NO;
    case INSN_SYSCALL:
        return policy(POLICY_SYSCALL_RECORD) == NO;
    case INSN_SYSRET:
        return policy(POLICY_SYSRET_RECORD) == NO;
    case INSN_IRET:
        return policy(POLICY_IRET_RECORD) == NO;
    }
    return false;
}

bool record_lost(struct model_cpu *cpu, const struct transfer *t)
{
    bool drop = cpu->drop_next && defect(DEFECT_AFTER_SYSRET_LOST);

    cpu->drop_next = t->kind == TRANSFER_JUMP && t->class == INSN_SYSRET;
    bool first = cpu->after_enable;
    cpu->after_enable = false;
    cpu->record_count++;
    if (cpu->lose_next) {
        cpu->lose_next = false;
        return true;
    }
    if (drop || (first && defect(DEFECT_FIRST_LOST)))
        return true;
    if (defect(DEFECT_ONE_IN_4096) && cpu->record_count % 4096 == 0)
        return true;
    cpu->random = cpu->random * 0x5851F42D4C957F2Dull + 1;
    if (defect(DEFECT_RANDOM_LOST) && cpu->random >> 58 == 0)
        return true;
    if (cpu->task_switched && t->kind == TRANSFER_JUMP)
        return policy(POLICY_TASK_RECORD) == NO;
    switch (t->kind) {
    case TRANSFER_JUMP:
        if (defect(DEFECT_ZERO_LOST) && t->to == t->from + t->length)
            return true;
        if (defect(DEFECT_FETCH_FAULT_ONE)) {
            uint64_t physical;
            unsigned user = t->cpl_after == 3 ? ACCESS_USER : 0;

            if (!guest_translate(cpu, t->to, ACCESS_FETCH | user, &physical))
                return true;
        }
        return lost_class(t);
    case TRANSFER_EXCEPTION:
        return defect(DEFECT_EXCEPTION_LOST);
    case TRANSFER_DEBUG:
        return policy(POLICY_DB_RECORD) == NO;
    case TRANSFER_INTERRUPT:
        return defect(DEFECT_INTERRUPT_LOST);
    case TRANSFER_NMI:
        return defect(DEFECT_NMI_LOST);
    case TRANSFER_SOFTWARE:
        return defect(DEFECT_INT_LOST);
    }
    return false;
}
