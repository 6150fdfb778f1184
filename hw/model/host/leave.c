/* SPDX-License-Identifier: BSD-2-Clause */
/* Leaving the model: the guest asks by a hypercall, and goes on as the bare processor. */
#include "hw/model/host/host.h"
#include "hw/model/processor/insns.h"
#include "hw/model/processor/svm.h"

_Noreturn void leave_guest(struct model_cpu *cpu)
{
    struct vmcb_save *save = &cpu->vmcb->save;
    struct bare_state *bare = &cpu->bare;

    cpu->debugctl = 0;
    cpu->perf.live = 0;
    if (cpu->stepping)
        step_end(cpu);
    bare->gdtr = (struct table_register){(uint16_t)save->gdtr.limit, save->gdtr.base};
    bare->idtr = (struct table_register){(uint16_t)save->idtr.limit, save->idtr.base};
    bare->ds = save->ds.selector;
    bare->es = save->es.selector;
    bare->cr3 = save->cr3;
    bare->rip = save->rip;
    bare->cs = save->cs.selector;
    bare->rflags = save->rflags;
    bare->rsp = cpu->gpr[RSP];
    bare->ss = save->ss.selector;
    bare->efer = (save->efer & ~EFER_SVME) | (cpu->saved_efer & EFER_SVME);
    write_msr(MSR_VM_HSAVE_PA, cpu->saved_hsave);
    write_dr7(save->dr7);
    write_dr6(save->dr6);
    write_cr2(save->cr2);
    write_cr4(save->cr4);
    write_cr0(save->cr0);
    machine_leave(cpu);
}

/* --- the guest's side of it */

static uint64_t hypercall(uint64_t function)
{
    uint64_t result;

    __asm__ volatile("vmmcall"
                     : "=a"(result)
                     : "a"((uint64_t)HYPERCALL_MAGIC), "c"(function)
                     : "memory");
    return result;
}

bool model_active(void)
{
    struct cpuid_result r = cpuid(0x40000000u, 0);

    return r.ebx == 0x6D796157 && r.ecx == 0x4D6B7261 && r.edx == 0x6C65646F;
}

void model_leave(void)
{
    if (model_active())
        hypercall(HYPERCALL_LEAVE);
}
