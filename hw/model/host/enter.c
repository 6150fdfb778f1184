/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Entering the model: the first VMCB, and the loop of the host.
 *
 * Requirements on the VMCB: APM Vol. 2, "VMRUN Instruction", "Canonicalization and Consistency
 * Checks".
 */
#include "hw/model/bts/bts.h"
#include "hw/model/host/host.h"
#include "hw/model/host/stay.h"
#include "hw/model/perfmon/perfmon.h"
#include "hw/model/processor/insns.h"
#include "hw/model/processor/svm.h"
#include "hw/model/trial/defect.h"

#define PAGE_BYTES       4096ull
#define EXTENDED_ECX_SVM (1u << 2)

enum model_status model_supported(void)
{
    if (cpuid(0x80000000u, 0).eax < 0x8000000Au ||
        !(cpuid(0x80000001u, 0).ecx & EXTENDED_ECX_SVM))
        return MODEL_NO_SVM;
    return read_msr(MSR_VM_CR) & VM_CR_SVMDIS ? MODEL_SVM_LOCKED : MODEL_OK;
}

/* --- the guest's first state is the caller's */

static void load_segment(struct vmcb_segment *segment, const struct table_register *gdtr,
                         uint16_t selector)
{
    *segment = (struct vmcb_segment){.selector = selector};
    if (!(selector & ~7u))
        return;
    uint64_t raw = *(const uint64_t *)(uintptr_t)(gdtr->base + (selector & ~7u));
    segment->base = (raw >> 16 & 0xFFFFFF) | (raw >> 32 & 0xFF000000);
    segment->limit = (uint32_t)((raw & 0xFFFF) | (raw >> 32 & 0xF0000));
    segment->attributes = (uint16_t)((raw >> 40 & 0xFF) | (raw >> 44 & 0xF00));
    if (segment->attributes & SEGMENT_GRANULAR)
        segment->limit = segment->limit << 12 | 0xFFF;
}

static void fill_save(struct model_cpu *cpu)
{
    struct vmcb_save *save = &cpu->vmcb->save;
    struct table_register gdtr, idtr;

    __asm__ volatile("sgdt %0" : "=m"(gdtr));
    __asm__ volatile("sidt %0" : "=m"(idtr));
    load_segment(&save->cs, &gdtr, read_selector_cs());
    load_segment(&save->ss, &gdtr, read_selector_ss());
    load_segment(&save->ds, &gdtr, read_selector_ds());
    load_segment(&save->es, &gdtr, read_selector_es());
    if (!(save->ss.selector & ~7u))
        segment_load_null(&save->ss, save->ss.selector, 0);
    save->gdtr = (struct vmcb_segment){.limit = gdtr.limit, .base = gdtr.base};
    save->idtr = (struct vmcb_segment){.limit = idtr.limit, .base = idtr.base};
    save->efer = cpu->saved_efer | EFER_SVME;
    save->cr0 = read_cr0();
    save->cr2 = read_cr2();
    save->cr3 = read_cr3();
    save->cr4 = read_cr4();
    save->dr6 = read_dr6();
    save->dr7 = read_dr7();
    save->rflags = FLAG_FIXED;
    save->rip = (uintptr_t)machine_guest_entry;
    machine_save_hidden(cpu);
}

/* What leaves the guest, whatever state it is in. */
static void fill_control(struct model_cpu *cpu)
{
    struct vmcb_control *control = &cpu->vmcb->control;

    control->intercept1 = INTERCEPT1_CPUID | INTERCEPT1_IO | INTERCEPT1_RDPMC | INTERCEPT1_MSR;
    control->intercept2 = INTERCEPT2_VMRUN | INTERCEPT2_VMMCALL | INTERCEPT2_VMLOAD |
                          INTERCEPT2_VMSAVE | INTERCEPT2_STGI | INTERCEPT2_CLGI |
                          INTERCEPT2_SKINIT;
    control->dr_write = 1 << 7 | 1 << 5;
    control->asid = 1;
    control->tlb_control = 1;
    nested_use(cpu);
}

/* As after an INIT, for what the model keeps; then the processor is the host's. */
void processor_claim(struct model_cpu *cpu)
{
    cpu->misc_enable = 1; /* fast strings */
    perfmon_reset(cpu);
    cpu->debugctl = defect(DEFECT_INIT_RECORDS) ? DEBUGCTL_BTS : 0;
    if (defect(DEFECT_INIT_UNMASKED))
        interrupt_entry_reset(0);
    cpu->saved_efer = read_msr(MSR_EFER);
    write_msr(MSR_EFER, cpu->saved_efer | EFER_SVME);
    cpu->saved_hsave = read_msr(MSR_VM_HSAVE_PA);
    write_msr(MSR_VM_HSAVE_PA, cpu->host_save);
    __asm__ volatile("clgi" : : : "memory");
    fill_control(cpu);
}

/* --- the host's only loop */

static bool must_step(struct model_cpu *cpu)
{
    return recording_wanted(cpu) || defect(DEFECT_PMC_RDPMC_ANY_RING) ||
           cpu->debugctl & (DEBUGCTL_LBR | DEBUGCTL_BTF) ||
           (cpu->perf.live && (cpu->halting || !count_time_alone(cpu)));
}

/*
 * The guest by itself. Where time is counted, as watchdogs do, each interrupt is an occasion to
 * see whether the overflow has come near; and halted time must not count, which stepping knows.
 */
static void run_on(struct model_cpu *cpu)
{
    struct vmcb_control *control = &cpu->vmcb->control;
    const uint32_t occasions = INTERCEPT1_INTR | INTERCEPT1_HLT;

    if (cpu->perf.live)
        control->intercept1 |= occasions;
    machine_run(cpu);
    control->intercept1 &= ~occasions;
    if (control->exit_code == EXIT_HLT) {
        cpu->halting = true;
    } else if (control->exit_code == EXIT_INTR) {
        guest_forget_translations(cpu);
        take_interrupts(cpu);
    } else {
        handle_exit(cpu);
    }
}

/* Several steps for one look at the configuration, which the guest may change as it runs. */
static void step_on(struct model_cpu *cpu)
{
    uint64_t debugctl = cpu->debugctl;

    cpu->coast_over = false;
    for (unsigned i = 0; i < 32 && cpu->debugctl == debugctl; i++)
        step(cpu);
}

void host_loop(struct model_cpu *cpu)
{
    for (;;) {
        if (cpu->interrupt_causes)
            interrupt_send(cpu);
        bool watched = must_step(cpu);
        bool coasting = watched && coast_possible(cpu);
        bool stepping = watched && !coasting;
        if (stepping != cpu->stepping) {
            if (stepping)
                step_begin(cpu);
            else
                step_end(cpu);
        }
        if (stepping) {
            step_on(cpu);
            cpu->halting = cpu->halting && cpu->halted;
        } else if (coasting) {
            coast(cpu);
        } else {
            run_on(cpu);
        }
    }
}

enum model_status model_enter(void *memory, size_t bytes, uint64_t top_of_ram)
{
    enum model_status status = model_supported();

    if (status != MODEL_OK)
        return status;
    if (!memory || (uintptr_t)memory % PAGE_BYTES || bytes < model_memory_bytes(top_of_ram))
        return MODEL_NO_MEMORY;
    struct model_cpu *cpu = processor_build(memory, top_of_ram);
    processor_claim(cpu);
    fill_save(cpu);
    machine_launch(cpu, host_loop);
    return MODEL_OK;
}
