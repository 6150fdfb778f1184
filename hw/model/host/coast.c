/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Coasting: a kernel that nothing looks at runs by itself, though its programs are looked at.
 *
 * While only user code is traced or counted, stepping an operating system's kernel has no
 * effect but to make it slow; and one whose clock interrupts take longer than the time between
 * two of them gets nothing else done. So its kernel runs freely until it returns: IRET leaves
 * the guest, and with SYSCALL and SYSRET switched off SYSRET does, as an invalid opcode. Each
 * is then carried out as always. A far return and SYSEXIT would not be noticed, but no 64-bit
 * system in the upper half of the addresses returns by them; code in the lower half, as the
 * firmware's and that of test programs is, never coasts.
 * Source: APM Vol. 2, "Instruction Intercepts"; SDM Vol. 2, "SYSRET".
 */
#include "hw/model/bts/record_filter.h"
#include "hw/model/host/host.h"
#include "hw/model/perfmon/perfmon.h"

/* Counters whose kernel half is off, of events that a kernel left alone does not change. */
static bool counters_blind(const struct perfmon *perf)
{
    for (unsigned i = 0; i < COUNTERS; i++) {
        const struct counting *counting = &perf->counting[i];

        if (perf->live >> i & 1 &&
            (counting->rings & RING_0 || counting->event == COUNT_CYCLES || counting->invert))
            return false;
    }
    return !perf->armed;
}

bool coast_possible(const struct model_cpu *cpu)
{
    const struct vmcb_save *save = &cpu->vmcb->save;
    bool system = guest_cpl(cpu) == 0 && save->efer & EFER_LMA && save->rip >> 63;

    return system && !cpu->coast_over && !cpu->halted && !cpu->watch_hits && !cpu->in_smm &&
           !(cpu->debugctl & (DEBUGCTL_LBR | DEBUGCTL_BTF)) && record_silent(cpu, 0) &&
           counters_blind(&cpu->perf);
}

void coast(struct model_cpu *cpu)
{
    struct vmcb *vmcb = cpu->vmcb;
    uint64_t calls = vmcb->save.efer & EFER_SCE;

    vmcb->save.efer &= ~EFER_SCE;
    vmcb->control.intercept1 |= INTERCEPT1_IRET;
    vmcb->control.exceptions = 1u << VECTOR_UD;
    machine_run(cpu);
    vmcb->control.exceptions = 0;
    vmcb->control.intercept1 &= ~INTERCEPT1_IRET;
    vmcb->save.efer |= calls;
    if (vmcb->control.exit_code == EXIT_IRET ||
        vmcb->control.exit_code == EXIT_EXCEPTION + VECTOR_UD)
        cpu->coast_over = true; /* stepping carries it out */
    else
        handle_exit(cpu);
}
