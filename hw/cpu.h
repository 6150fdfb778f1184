/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Per-processor state of the taken-over machine, and how code finds its own.
 *
 * Every kernel stack (main and IST) is KERNEL_STACK_BYTES long, aligned to its size, with a
 * pointer to the processor's struct cpu in its lowest quadword. That works in an NMI that
 * lands anywhere, where a GS base with SWAPGS would not.
 */
#ifndef HW_CPU_H
#define HW_CPU_H

#include "hw/trap.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KERNEL_STACK_BYTES 0x8000ull
#define CPU_MAX            256

enum cpu_stack { STACK_MAIN, STACK_RSP0, STACK_DB, STACK_NMI, STACK_DF, STACK_MC, STACK_COUNT };

struct cpu {
    unsigned index; /* 0 = the processor that booted */
    uint32_t apic_id;
    uint8_t *stacks[STACK_COUNT]; /* lowest byte of each */
    struct hw_tables *tables;     /* GDT, TSS of this processor (hw/tables.h) */
    struct user_return *user;     /* innermost user_run in progress, or NULL */
    struct trap_frame *frame;     /* innermost trap being handled, or NULL */
    void *try_frame;              /* innermost hw_try in progress, or NULL */
    void *ds;                     /* ds/'s per-processor state */
    void *harness;                /* harness' per-processor state */
};

#ifdef WAYMARK_HOST
struct cpu *cpu_this(void);
#else
static inline struct cpu *cpu_this(void)
{
    uint64_t sp;

    __asm__("mov %%rsp, %0" : "=r"(sp));
    return *(struct cpu **)(sp & ~(KERNEL_STACK_BYTES - 1));
}
#endif
static inline unsigned cpu_index(void)
{
    return cpu_this()->index;
}

/* Page-aligned bytes that hw needs for one processor (struct cpu, tables, stacks). */
size_t cpu_memory_bytes(void);
/* Lays a struct cpu, its tables and stacks out in memory aligned to KERNEL_STACK_BYTES. */
struct cpu *cpu_init(void *memory, unsigned index);
/* The processor by index, NULL when it was never initialised. */
struct cpu *cpu_get(unsigned index);

/*
 * Calls fn(arg) on the processor's main kernel stack and returns its value: firmware's stack
 * carries no struct cpu, so everything that takes the machine over runs inside this.
 */
uint64_t cpu_call_on_main_stack(struct cpu *cpu, uint64_t (*fn)(void *), void *arg);

/*
 * Loads this processor with the kernel's GDT, TSS, IDT, SYSCALL MSRs, CR0/CR4/EFER bits and
 * the given CR3. IF stays 0. What was there before is boot/takeover's to save.
 */
void cpu_load(struct cpu *cpu, uint64_t cr3);

#endif
