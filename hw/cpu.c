/* SPDX-License-Identifier: BSD-2-Clause */
/* One processor's memory, and loading the processor with the kernel's state. */
#include "hw/cpu.h"

#include "hw/apic.h"
#include "hw/context.h"
#include "hw/cpuid.h"
#include "hw/msr.h"
#include "hw/paging.h"
#include "hw/regs.h"
#include "hw/string.h"
#include "hw/tables.h"
#include "hw/traps.h"
#include "hw/user.h"

/* Struct cpu and tables follow the stacks. */
struct cpu_block {
    struct hw_tables tables;
    struct cpu cpu;
};

#define STACKS_BYTES (STACK_COUNT * KERNEL_STACK_BYTES)

static struct cpu *cpus[CPU_MAX];

size_t cpu_memory_bytes(void)
{
    size_t block = (sizeof(struct cpu_block) + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);

    return STACKS_BYTES + block;
}

struct cpu *cpu_init(void *memory, unsigned index)
{
    uint8_t *base = memory;
    struct cpu_block *block = (struct cpu_block *)(base + STACKS_BYTES);
    struct cpu *cpu = &block->cpu;

    if (index >= CPU_MAX || ((uint64_t)memory & (KERNEL_STACK_BYTES - 1)))
        return NULL;
    memset(memory, 0, cpu_memory_bytes());
    cpu->index = index;
    cpu->tables = &block->tables;
    for (unsigned i = 0; i < STACK_COUNT; i++) {
        cpu->stacks[i] = base + i * KERNEL_STACK_BYTES;
        *(struct cpu **)cpu->stacks[i] = cpu;
    }
    tables_init(cpu);
    syscall_stacks[index].top = (uint64_t)cpu->stacks[STACK_RSP0] + KERNEL_STACK_BYTES;
    cpus[index] = cpu;
    return cpu;
}

struct cpu *cpu_get(unsigned index)
{
    return index < CPU_MAX ? cpus[index] : NULL;
}

uint64_t cpu_call_on_main_stack(struct cpu *cpu, uint64_t (*fn)(void *), void *arg)
{
    return context_call_on(cpu->stacks[STACK_MAIN] + KERNEL_STACK_BYTES, fn, arg);
}

/*
 * PGE and PCIDE go first, so that the load of CR3 flushes everything firmware had cached.
 * LA57 cannot change in long mode. OSXSAVE off makes AVX an exception instead of lost state;
 * SMEP and SMAP are for checks to turn on.
 */
static void load_control_registers(uint64_t cr3)
{
    uint64_t keep = CR4_PAE | CR4_MCE | CR4_LA57;

    cr4_write(cr4_read() & ~(CR4_PGE | CR4_PCIDE));
    cr3_write(cr3);
    cr4_write((cr4_read() & keep) | CR4_DE | CR4_OSFXSR | CR4_OSXMMEXCPT);
    cr3_write(cr3);
    cr0_write((cr0_read() | CR0_WP | CR0_NE | CR0_MP) & ~(CR0_EM | CR0_TS | CR0_AM));
}

/* SYSCALL: CS 38H, SS 40H; SYSRET: CS 50H + 3, SS 48H + 3 (STAR holds their base). */
static void load_syscall(const struct cpu *cpu)
{
    uint64_t sysret_base = SELECTOR_SYSCALL_SS | 3;

    msr_write(MSR_IA32_STAR, sysret_base << 48 | (uint64_t)SELECTOR_KERNEL_CS << 32);
    msr_write(MSR_IA32_LSTAR, (uint64_t)syscall_entries + cpu->index * SYSCALL_ENTRY_BYTES);
    msr_write(MSR_IA32_FMASK, RFLAGS_TF | RFLAGS_IF | RFLAGS_DF | RFLAGS_IOPL | RFLAGS_NT |
                                  RFLAGS_RF | RFLAGS_AC);
}

void cpu_load(struct cpu *cpu, uint64_t cr3)
{
    uint64_t efer = msr_read(MSR_IA32_EFER) | EFER_SCE;

    if (cpu_has_nx())
        efer |= EFER_NXE;
    dr7_write(DR7_FIXED);
    msr_write(MSR_IA32_EFER, efer); /* NXE before tables that use it */
    load_control_registers(cr3);
    tables_load(cpu);
    load_syscall(cpu);
    /* After the selectors: loading a null FS or GS may clear the base. */
    msr_write(MSR_IA32_FS_BASE, 0);
    msr_write(MSR_IA32_GS_BASE, 0);
    msr_write(MSR_IA32_KERNEL_GS_BASE, 0);
    cpu->apic_id = apic_id();
    cpu->frame = NULL;
    cpu->user = NULL;
    cpu->try_frame = NULL;
}
