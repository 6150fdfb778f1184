/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Entering the model: the host's memory, tables and first VMCB.
 *
 * Everything the host uses lies in one block per processor: state, VMCB, bitmaps, IDT, stack
 * and identity page tables of its own. Requirements on the VMCB: APM Vol. 2, "VMRUN
 * Instruction", "Canonicalization and Consistency Checks".
 */
#include "hw/model/bts/bts.h"
#include "hw/model/host/host.h"
#include "hw/model/perfmon/perfmon.h"
#include "hw/model/processor/insns.h"
#include "hw/model/processor/svm.h"
#include "hw/model/trial/defect.h"

#define PAGE_BYTES       4096ull
#define GIB              (1ull << 30)
#define LARGE_PAGE       (2ull << 20)
#define MSR_MAP_BYTES    (2 * PAGE_BYTES)
#define IO_MAP_BYTES     (3 * PAGE_BYTES)
#define IDT_BYTES        (256 * 16)
#define ENTRY_TABLE      0x3ull /* present, writable */
#define ENTRY_LARGE      0x83ull
#define GATE_INTERRUPT   0x8E00ull
#define HOST_CODE        0x08
#define GDT_CODE         0x00209B0000000000ull
#define GDT_DATA         0x00CF93000000FFFFull
#define EXTENDED_ECX_SVM (1u << 2)
#define VENDOR_ECX_INTEL 0x6C65746Eu /* "ntel" */
#define LEAF7_ECX_LA57   (1u << 16)

/* Page tables for the identity map: one top page or two, one per 512 GiB, one per GiB. */
static uint64_t mapped_gib(uint64_t top_of_ram)
{
    uint64_t gib = (top_of_ram + GIB - 1) / GIB;

    return gib < 4 ? 4 : gib; /* the local APIC lies below 4 GiB */
}

static uint64_t table_bytes(uint64_t top_of_ram)
{
    uint64_t gib = mapped_gib(top_of_ram);

    return (2 + (gib + 511) / 512 + gib) * PAGE_BYTES;
}

static uint64_t state_bytes(void)
{
    return (sizeof(struct model_cpu) + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
}

size_t model_memory_bytes(uint64_t top_of_ram)
{
    /* State, VMCB, host save area, absent memory, GDT and IDT, maps, stack, tables. */
    return state_bytes() + 4 * PAGE_BYTES + IDT_BYTES + MSR_MAP_BYTES + IO_MAP_BYTES +
           HOST_STACK_BYTES + table_bytes(top_of_ram);
}

enum model_status model_supported(void)
{
    if (cpuid(0x80000000u, 0).eax < 0x8000000Au ||
        !(cpuid(0x80000001u, 0).ecx & EXTENDED_ECX_SVM))
        return MODEL_NO_SVM;
    return read_msr(MSR_VM_CR) & VM_CR_SVMDIS ? MODEL_SVM_LOCKED : MODEL_OK;
}

/* --- the block */

static uint8_t *carve(uint8_t **at, size_t bytes)
{
    uint8_t *start = *at;

    *at += bytes;
    return start;
}

static void clear(uint8_t *bytes, size_t count)
{
    __asm__ volatile("rep stosb" : "+D"(bytes), "+c"(count) : "a"(0) : "memory");
}

static uint64_t build_identity_map(uint8_t **at, uint64_t top_of_ram)
{
    uint64_t gib = mapped_gib(top_of_ram);
    uint64_t *top5 = (uint64_t *)carve(at, PAGE_BYTES);
    uint64_t *top4 = (uint64_t *)carve(at, PAGE_BYTES);

    top5[0] = (uintptr_t)top4 | ENTRY_TABLE;
    for (uint64_t first = 0; first < gib; first += 512) {
        uint64_t *middle = (uint64_t *)carve(at, PAGE_BYTES);

        top4[first / 512] = (uintptr_t)middle | ENTRY_TABLE;
        for (uint64_t g = first; g < gib && g < first + 512; g++) {
            uint64_t *leaves = (uint64_t *)carve(at, PAGE_BYTES);

            middle[g - first] = (uintptr_t)leaves | ENTRY_TABLE;
            for (uint64_t i = 0; i < 512; i++)
                leaves[i] = (g * GIB + i * LARGE_PAGE) | ENTRY_LARGE;
        }
    }
    return (uintptr_t)(read_cr4() & CR4_LA57 ? top5 : top4);
}

static void build_host_tables(struct model_cpu *cpu, uint8_t **at)
{
    uint64_t *gdt = (uint64_t *)carve(at, PAGE_BYTES);
    uint64_t *idt = (uint64_t *)carve(at, IDT_BYTES);

    gdt[1] = GDT_CODE;
    gdt[2] = GDT_DATA;
    for (unsigned vector = 0; vector < 256; vector++) {
        uint64_t handler = (uintptr_t)machine_vectors + vector * VECTOR_STUB_BYTES;

        idt[2 * vector] = (handler & 0xFFFF) | HOST_CODE << 16 | GATE_INTERRUPT << 32 |
                          (handler >> 16 & 0xFFFF) << 48;
        idt[2 * vector + 1] = handler >> 32;
    }
    cpu->host_gdtr = (struct table_register){3 * 8 - 1, (uintptr_t)gdt};
    cpu->host_idtr = (struct table_register){IDT_BYTES - 1, (uintptr_t)idt};
}

/* Two bits per MSR: bit 0 reads, bit 1 writes (APM Vol. 2, "MSR Permissions Map"). */
static void intercept_msr(uint8_t *map, uint32_t index)
{
    uint32_t slot = index & 0x1FFF;

    if (index >= 0xC0010000u)
        slot += 0x4000;
    else if (index >= 0xC0000000u)
        slot += 0x2000;
    map[slot / 4] |= (uint8_t)(3u << (slot % 4 * 2));
}

static void build_msr_map(uint8_t *map)
{
    /* Ranges of the stack and the counters are twice as long: beyond them nothing answers. */
    static const struct {
        uint32_t first, count;
    } kept[] = {
        {MSR_SMI_COUNT, 1},         {MSR_DEBUGCTL, 1},      {MSR_DS_AREA, 1},
        {MSR_MISC_ENABLE, 1},       {MSR_EFER, 1},          {MSR_VM_CR, 1},
        {MSR_VM_HSAVE_PA, 1},       {MSR_LBR_SELECT, 2},    {MSR_LBR_FROM, 32},
        {MSR_LBR_TO, 32},           {MSR_FIXED_CONTROL, 6}, {MSR_FIXED_COUNTER, 6},
        {MSR_PERF_CAPABILITIES, 1}, {MSR_COUNTER, 8},       {MSR_EVENT_SELECT, 8},
        {MSR_FULL_COUNTER, 8},      {MSR_PEBS_ENABLE, 2},
    };
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
        for (uint32_t k = 0; k < kept[i].count; k++)
            intercept_msr(map, kept[i].first + k);
    /* Of another vendor's processors the registers mean something else. */
    if (cpuid(0, 0).ecx == VENDOR_ECX_INTEL) {
        intercept_msr(map, MSR_UPDATE_TRIGGER);
        intercept_msr(map, MSR_UPDATE_SIGNATURE);
    }
}

static struct model_cpu *build(void *memory, uint64_t top_of_ram)
{
    uint8_t *at = memory;
    struct model_cpu *cpu = (struct model_cpu *)carve(&at, state_bytes());

    cpu->vmcb = (struct vmcb *)carve(&at, PAGE_BYTES);
    cpu->vmcb_physical = (uintptr_t)cpu->vmcb;
    cpu->host_save = (uintptr_t)carve(&at, PAGE_BYTES);
    cpu->nowhere = carve(&at, PAGE_BYTES);
    for (unsigned i = 0; i < PAGE_BYTES; i++)
        cpu->nowhere[i] = 0xFF;
    build_host_tables(cpu, &at);
    uint8_t *msr_map = carve(&at, MSR_MAP_BYTES);
    build_msr_map(msr_map);
    cpu->vmcb->control.msr_map = (uintptr_t)msr_map;
    uint8_t *io_map = carve(&at, IO_MAP_BYTES);
    io_map[PORT_SMI_COMMAND / 8] |= 1 << PORT_SMI_COMMAND % 8;
    cpu->vmcb->control.io_map = (uintptr_t)io_map;
    cpu->host_stack_top = (uintptr_t)carve(&at, HOST_STACK_BYTES) + HOST_STACK_BYTES;
    cpu->host_cr3 = build_identity_map(&at, top_of_ram);
    cpu->top_of_map = mapped_gib(top_of_ram) * GIB;
    cpu->top_of_ram = top_of_ram;
    cpu->physical_bits = cpuid(0x80000008u, 0).eax & 0xFF;
    cpu->linear_bits = cpuid(7, 0).ecx & LEAF7_ECX_LA57 ? 57 : 48;
    cpu->has_sysenter = cpuid(0, 0).ecx == VENDOR_ECX_INTEL;
    cpu->misc_enable = 1; /* fast strings, as after reset */
    perfmon_reset(cpu);
    cpu->debugctl = defect(DEFECT_INIT_RECORDS) ? DEBUGCTL_BTS : 0;
    if (defect(DEFECT_INIT_UNMASKED))
        interrupt_entry_reset(0);
    return cpu;
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
}

/* --- the host's only loop */

static bool must_step(const struct model_cpu *cpu)
{
    return recording_wanted(cpu) || cpu->perf.live || defect(DEFECT_PMC_RDPMC_ANY_RING) ||
           cpu->debugctl & (DEBUGCTL_LBR | DEBUGCTL_BTF);
}

/* Several steps for one look at the configuration, which the guest may change as it runs. */
static void step_on(struct model_cpu *cpu)
{
    uint64_t debugctl = cpu->debugctl;

    for (unsigned i = 0; i < 32 && cpu->debugctl == debugctl; i++)
        step(cpu);
}

static void host_loop(struct model_cpu *cpu)
{
    for (;;) {
        if (cpu->interrupt_causes)
            interrupt_send(cpu);
        bool stepping = must_step(cpu);
        if (stepping != cpu->stepping) {
            if (stepping)
                step_begin(cpu);
            else
                step_end(cpu);
        }
        if (stepping) {
            step_on(cpu);
        } else {
            machine_run(cpu);
            handle_exit(cpu);
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
    clear(memory, model_memory_bytes(top_of_ram));
    struct model_cpu *cpu = build(memory, top_of_ram);
    cpu->saved_efer = read_msr(MSR_EFER);
    write_msr(MSR_EFER, cpu->saved_efer | EFER_SVME);
    cpu->saved_hsave = read_msr(MSR_VM_HSAVE_PA);
    write_msr(MSR_VM_HSAVE_PA, cpu->host_save);
    __asm__ volatile("clgi" : : : "memory");
    fill_save(cpu);
    fill_control(cpu);
    machine_launch(cpu, host_loop);
    return MODEL_OK;
}
