/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which transfers are recorded: the enables, the filters by level, SMM.
 *
 * Source: SDM Vol. 3, "Branch Trace Store (BTS)", "CPL-Qualified Branch Trace Mechanism".
 */
#include "hw/model/bts/record_filter.h"
#include "hw/model/bts/bts.h"
#include "hw/model/trial/defect.h"
#include "hw/model/trial/policy.h"

/* Both OFF bits as they act, whatever the register reads. */
static bool level_is_off(const struct model_cpu *cpu, unsigned cpl)
{
    if (cpl != 3 && defect(DEFECT_RINGS_12_OS))
        cpl = 0;
    bool off_os = cpu->debugctl & DEBUGCTL_OFF_OS;
    bool off_usr = cpu->debugctl & DEBUGCTL_OFF_USR;
    if (defect(DEFECT_OFF_OS_IGNORED))
        off_os = false;
    if (defect(DEFECT_OFF_USR_IGNORED))
        off_usr = false;
    if (defect(DEFECT_OFF_SWAPPED))
        return cpl == 0 ? off_usr : off_os;
    return cpl == 0 ? off_os : off_usr;
}

bool record_enabled(const struct model_cpu *cpu)
{
    if (defect(DEFECT_REAL_LOST) && !(cpu->vmcb->save.cr0 & CR0_PE))
        return false;
    if (cpu->in_smm && !defect(DEFECT_SMM_RECORDED))
        return false;
    bool tr = cpu->debugctl & DEBUGCTL_TR || defect(DEFECT_TR_IGNORED);
    bool bts = cpu->debugctl & DEBUGCTL_BTS || defect(DEFECT_BTS_IGNORED);
    return tr && bts && cpu->debugctl & (DEBUGCTL_TR | DEBUGCTL_BTS);
}

bool recording_wanted(const struct model_cpu *cpu)
{
    return record_enabled(cpu) && !(level_is_off(cpu, 0) && level_is_off(cpu, 3));
}

bool record_silent(const struct model_cpu *cpu, unsigned cpl)
{
    return !record_enabled(cpu) || level_is_off(cpu, cpl);
}

bool record_filtered(const struct model_cpu *cpu, const struct transfer *t)
{
    bool old_off = level_is_off(cpu, t->cpl_before), new_off = level_is_off(cpu, t->cpl_after);

    if (defect(DEFECT_OFF_USR_LOOP) && t->kind == TRANSFER_JUMP && t->class == INSN_LOOP)
        new_off = old_off = false;
    switch (policy(POLICY_CROSSING)) {
    case CROSSING_OLD:
        return old_off;
    case CROSSING_BOTH:
        return old_off || new_off;
    case CROSSING_EITHER:
        return old_off && new_off;
    default:
        return new_off;
    }
}
