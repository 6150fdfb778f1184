/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The last-branch stack beside the trace: sixteen pairs of registers and their filter.
 *
 * Laid out as from Nehalem on: one register for each from and each to, a register that names
 * the newest pair, and LBR_SELECT, whose bits keep branches out (SDM Vol. 3, "LBR Stack",
 * "Filtering of Last Branch Records"). Debug exceptions are never in it.
 */
#include "hw/model/bts/bts.h"
#include "hw/model/perfmon/perfmon.h"
#include "hw/model/trial/defect.h"
#include "hw/model/trial/feature_gate.h"
#include "hw/model/trial/policy.h"

/* LBR_SELECT: what is set stays out. */
enum {
    SELECT_CPL_0 = 1 << 0, /* ends in ring 0 */
    SELECT_CPL_OTHER = 1 << 1,
    SELECT_JCC = 1 << 2,
    SELECT_CALL = 1 << 3,
    SELECT_CALL_INDIRECT = 1 << 4,
    SELECT_RET = 1 << 5,
    SELECT_JMP_INDIRECT = 1 << 6,
    SELECT_JMP = 1 << 7,
    SELECT_FAR = 1 << 8,
    SELECT_ALL = (1 << 9) - 1
};

static unsigned select_class(const struct transfer *t)
{
    if (t->kind != TRANSFER_JUMP)
        return SELECT_FAR;
    switch (t->class) {
    case INSN_JCC:
    case INSN_LOOP:
    case INSN_JCXZ:
        return SELECT_JCC;
    case INSN_CALL:
        return SELECT_CALL;
    case INSN_CALL_INDIRECT:
        return SELECT_CALL_INDIRECT;
    case INSN_RET:
        return SELECT_RET;
    case INSN_JMP_INDIRECT:
        return SELECT_JMP_INDIRECT;
    case INSN_JMP:
        return SELECT_JMP;
    }
    return SELECT_FAR;
}

bool branch_stack_selects(const struct model_cpu *cpu, const struct transfer *t)
{
    unsigned level = t->cpl_after == 0 ? SELECT_CPL_0 : SELECT_CPL_OTHER;

    return !(cpu->lbr_select & (level | select_class(t)));
}

void branch_stack_push(struct model_cpu *cpu, const struct transfer *t)
{
    bool moves = cpu->debugctl & DEBUGCTL_LBR ||
                 (cpu->debugctl & DEBUGCTL_TR && policy(POLICY_LBR_WHILE_TR) == LBR_MOVES);

    if (!moves && cpu->debugctl & DEBUGCTL_TR && defect(DEFECT_LBR_TOP_MOVES))
        cpu->lbr_top = (cpu->lbr_top + 1) % LBR_DEPTH;
    bool held = (!moves || perfmon_lbrs_frozen(cpu)) && !cpu->lbr_leaks;
    if (held || !branch_stack_exists() || t->kind == TRANSFER_DEBUG ||
        !branch_stack_selects(cpu, t))
        return;
    cpu->lbr_top = (cpu->lbr_top + 1) % LBR_DEPTH;
    cpu->lbr_from[cpu->lbr_top] = t->from;
    cpu->lbr_to[cpu->lbr_top] = t->to;
    if (policy(POLICY_LBR_STREAM) == STREAM_DIFFERS)
        cpu->lbr_from[cpu->lbr_top] += t->length;
}

/* The register behind index, or NULL when it is none of the stack. */
static uint64_t *stack_register(struct model_cpu *cpu, uint32_t index)
{
    if (!branch_stack_exists())
        return NULL;
    if (index == MSR_LBR_SELECT)
        return &cpu->lbr_select;
    if (index == MSR_LBR_TOP)
        return &cpu->lbr_top;
    if (index - MSR_LBR_FROM < LBR_DEPTH)
        return &cpu->lbr_from[index - MSR_LBR_FROM];
    if (index - MSR_LBR_TO < LBR_DEPTH)
        return &cpu->lbr_to[index - MSR_LBR_TO];
    return NULL;
}

bool branch_stack_read(struct model_cpu *cpu, uint32_t index, uint64_t *value)
{
    const uint64_t *from = stack_register(cpu, index);

    if (!from)
        return fault_raise(cpu, VECTOR_GP, 0);
    *value = *from;
    return true;
}

bool branch_stack_write(struct model_cpu *cpu, uint32_t index, uint64_t value)
{
    uint64_t *to = stack_register(cpu, index);
    bool reserved = index == MSR_LBR_SELECT && value & ~(uint64_t)SELECT_ALL;

    if (!to || reserved || (index == MSR_LBR_TOP && defect(DEFECT_LBR_TOP_READ_ONLY)))
        return fault_raise(cpu, VECTOR_GP, 0);
    /* Whoever switches tasks puts the newest entry's number back with the entries. */
    *to = index == MSR_LBR_TOP ? value % LBR_DEPTH : value;
    return true;
}
