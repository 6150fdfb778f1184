/* SPDX-License-Identifier: BSD-2-Clause */
/* How an instruction ends that was intercepted: done, counted and trapped, or with a fault. */
#include "hw/model/emulate/emulate.h"
#include "hw/model/host/host.h"
#include "hw/model/perfmon/perfmon.h"
#include "hw/model/trial/policy.h"

/* Length of the instruction at RIP. No exit reports it where next-RIP saving is missing. */
static unsigned length_at_rip(struct model_cpu *cpu, unsigned fallback)
{
    struct insn insn;
    uint64_t linear = guest_code_linear(cpu, cpu->vmcb->save.rip);
    struct fault kept = cpu->fault;
    bool found = insn_fetch(cpu, linear, &insn) == FETCH_DECODED;

    cpu->fault = kept;
    return found ? insn.length : fallback;
}

void instruction_done(struct model_cpu *cpu)
{
    struct vmcb *vmcb = cpu->vmcb;
    uint64_t start = vmcb->save.rip, rip = start + length_at_rip(cpu, 2);

    vmcb->save.rip = guest_long_code(cpu) ? rip : (uint32_t)rip;
    vmcb->save.rflags &= ~FLAG_RF;
    cpu->shadow = false;
    if (cpu->perf.live && !count_plain(cpu, guest_code_linear(cpu, start), 1))
        deliver_fault(cpu);
    if (cpu->perf.changed)
        count_refresh(cpu);
    bool btf = cpu->debugctl & DEBUGCTL_BTF;
    if (cpu->btf_before && policy(POLICY_BTF_CLEARED) == CLEARED_NONE)
        btf = true;
    cpu->btf_before = false;
    if (!(vmcb->save.rflags & FLAG_TF) || btf)
        return;
    /* The trap that the instruction would have raised had it not been intercepted. */
    if (cpu->stepping) {
        deliver_debug_trap(cpu, DR6_BS, vmcb->save.rip);
    } else {
        vmcb->save.dr6 |= DR6_BS;
        vmcb->control.event = EVENT_VALID | EVENT_EXCEPTION | VECTOR_DB;
    }
}

void raise_at_exit(struct model_cpu *cpu, enum vector vector, uint32_t error)
{
    if (cpu->stepping) {
        fault_raise(cpu, vector, error);
        deliver_fault(cpu);
        return;
    }
    uint64_t event = EVENT_VALID | EVENT_EXCEPTION | vector;
    if (vector == VECTOR_GP)
        event |= EVENT_ERROR_CODE | (uint64_t)error << 32;
    cpu->vmcb->control.event = event;
}
