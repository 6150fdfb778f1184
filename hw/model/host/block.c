/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory of one modelled processor: state, VMCB, bitmaps, tables and stack of its host.
 *
 * All of it lies in one block, at places that follow from its size alone, so a processor that
 * is started anew finds what was built for it.
 */
#include "hw/model/host/host.h"
#include "hw/model/host/stay.h"
#include "hw/model/processor/insns.h"
#include "hw/model/processor/svm.h"

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

/* --- the block */

static uint8_t *carve(uint8_t **at, size_t bytes)
{
    uint8_t *start = *at;

    *at += bytes;
    return start;
}

static void clear(void *bytes, size_t count)
{
    __asm__ volatile("rep stosb" : "+D"(bytes), "+c"(count) : "a"(0) : "memory");
}

static uint64_t build_identity_map(uint8_t **at, uint64_t top_of_ram)
{
    uint64_t gib = mapped_gib(top_of_ram);
    uint64_t *top5 = (uint64_t *)carve(at, PAGE_BYTES);
    uint64_t *top4 = (uint64_t *)carve(at, PAGE_BYTES);

    clear(top5, 2 * PAGE_BYTES);
    top5[0] = (uintptr_t)top4 | ENTRY_TABLE;
    for (uint64_t first = 0; first < gib; first += 512) {
        uint64_t *middle = (uint64_t *)carve(at, PAGE_BYTES);

        clear(middle, PAGE_BYTES);
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
    clear(map, MSR_MAP_BYTES);
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
        for (uint32_t k = 0; k < kept[i].count; k++)
            intercept_msr(map, kept[i].first + k);
    /* Writes alone: reading it tells nothing new. */
    if (startup_watched())
        map[MSR_X2APIC_ICR / 4] |= 2u << (MSR_X2APIC_ICR % 4 * 2);
    /* Of another vendor's processors the registers mean something else. */
    if (cpuid(0, 0).ecx == VENDOR_ECX_INTEL) {
        intercept_msr(map, MSR_UPDATE_TRIGGER);
        intercept_msr(map, MSR_UPDATE_SIGNATURE);
    }
}

/*
 * Everything but the stack, which may be in use, and the IDT, which gets the same again.
 * Nothing is asked of what the memory held before.
 */
struct model_cpu *processor_build(void *memory, uint64_t top_of_ram)
{
    uint8_t *at = memory;
    struct model_cpu *cpu = (struct model_cpu *)carve(&at, state_bytes());

    clear(cpu, state_bytes());
    cpu->vmcb = (struct vmcb *)carve(&at, PAGE_BYTES);
    clear(cpu->vmcb, PAGE_BYTES);
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
    clear(io_map, IO_MAP_BYTES);
    io_map[PORT_SMI_COMMAND / 8] |= 1 << PORT_SMI_COMMAND % 8;
    cpu->vmcb->control.io_map = (uintptr_t)io_map;
    cpu->host_stack_top = (uintptr_t)carve(&at, HOST_STACK_BYTES) + HOST_STACK_BYTES;
    cpu->host_cr3 = build_identity_map(&at, top_of_ram);
    cpu->top_of_map = mapped_gib(top_of_ram) * GIB;
    cpu->top_of_ram = top_of_ram;
    cpu->physical_bits = cpuid(0x80000008u, 0).eax & 0xFF;
    cpu->linear_bits = cpuid(7, 0).ecx & LEAF7_ECX_LA57 ? 57 : 48;
    cpu->has_sysenter = cpuid(0, 0).ecx == VENDOR_ECX_INTEL;
    return cpu;
}

uint64_t processor_long_tables(const struct model_cpu *cpu)
{
    return cpu->host_cr3 + (read_cr4() & CR4_LA57 ? PAGE_BYTES : 0);
}
