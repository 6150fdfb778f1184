/* SPDX-License-Identifier: BSD-2-Clause */
/* The guest by itself: one entry of it, from what the model holds to what the exit left. */
#include "hw/model/host/host.h"
#include "hw/model/processor/insns.h"
#include "hw/model/processor/svm.h"

/*
 * The breakpoint of a step: DR0, execution, global. Writing DISARMED, which differs in the
 * legacy LE bit, makes every emulator take its breakpoint down whatever DR7 reads.
 */
#define DR7_ARMED    0x402ull
#define DR7_DISARMED 0x500ull

void machine_window(struct model_cpu *cpu, bool interrupts)
{
    machine_window_open(cpu, interrupts);
}

static void remember_entry(struct model_cpu *cpu)
{
    const struct vmcb_save *save = &cpu->vmcb->save;

    cpu->entry = (struct entry_state){.rip = save->rip,
                                      .efer = save->efer,
                                      .cr0 = save->cr0,
                                      .cr3 = save->cr3,
                                      .cr4 = save->cr4,
                                      .dr6 = save->dr6,
                                      .dr7 = save->dr7,
                                      .event = cpu->vmcb->control.event,
                                      .cs_base = save->cs.base,
                                      .cs_attributes = save->cs.attributes};
}

void machine_run(struct model_cpu *cpu)
{
    struct vmcb *vmcb = cpu->vmcb;
    bool watching = cpu->stepping && watch_any(cpu);

    vmcb->save.rax = cpu->gpr[RAX];
    vmcb->save.rsp = cpu->gpr[RSP];
    vmcb->control.interrupt_state = cpu->shadow;
    if (cpu->stepping) {
        vmcb->save.dr6 = DR6_FIXED;
        vmcb->save.dr7 = cpu->stop_armed ? DR7_ARMED : DR7_FIXED;
        vmcb->save.dr7 |= watching ? watch_arm(cpu) : 0;
    }
    if (cpu->stop_armed)
        write_dr0(cpu->stop_at);
    if (cpu->stop_armed || watching)
        write_dr7(vmcb->save.dr7);
    remember_entry(cpu);
    machine_enter(cpu);
    if (cpu->stop_armed || watching)
        write_dr7(DR7_DISARMED);
    if (watching)
        watch_taken(cpu, vmcb->save.dr6);
    vmcb->control.event = 0;
    vmcb->control.tlb_control = 0;
    cpu->shadow = vmcb->control.interrupt_state & 1;
    cpu->gpr[RAX] = vmcb->save.rax;
    cpu->gpr[RSP] = vmcb->save.rsp;
    /* SS.DPL may lag behind after SYSRET on processors; here both always say the same. */
    cpl_set(cpu, vmcb->save.cpl);
}
