/* SPDX-License-Identifier: BSD-2-Clause */
/* Descriptor tables: building and loading GDT, TSS and IDT. */
#include "hw/tables.h"

#include "hw/string.h"
#include "hw/user.h"

/* Access bytes and flags of a code or data descriptor, as bits of its upper half. */
#define SEGMENT_CODE    (0x1Aull << 40) /* S, execute, read */
#define SEGMENT_DATA    (0x12ull << 40) /* S, read, write */
#define SEGMENT_PRESENT (0x80ull << 40)
#define SEGMENT_ACCESSED                                                                       \
    (0x01ull << 40) /* set beforehand: the processor need not write the GDT */
#define SEGMENT_DPL(dpl) ((uint64_t)(dpl) << 45)
#define SEGMENT_LONG     (1ull << 53)
#define SEGMENT_32       (1ull << 54)
#define SEGMENT_FLAT     (0xFFFFull | 0xFull << 48 | 1ull << 55) /* limit 4 GiB - 1 */
#define SEGMENT(type, dpl, more)                                                               \
    (SEGMENT_##type | SEGMENT_PRESENT | SEGMENT_ACCESSED | SEGMENT_DPL(dpl) | SEGMENT_FLAT |   \
     (more))

#define TSS_AVAILABLE  (0x89ull << 40)
#define CALL_GATE      (0x8Cull << 40)
#define GATE_INTERRUPT 0x8E00u

struct idt_gate {
    uint16_t offset_low;
    uint16_t selector;
    uint16_t attributes; /* IST in 2:0, type, DPL, present */
    uint16_t offset_middle;
    uint32_t offset_high;
    uint32_t reserved;
};
_Static_assert(sizeof(struct idt_gate) == 16, "64-bit gate");

struct table_pointer {
    uint16_t limit;
    uint64_t base;
} __attribute__((packed));

static struct idt_gate idt[VECTOR_COUNT] __attribute__((aligned(16)));

static const uint64_t gdt_template[GDT_ENTRIES] = {
    [SELECTOR_KERNEL_SS / 8] = SEGMENT(DATA, 0, SEGMENT_32),
    [SELECTOR_KERNEL_CS / 8] = SEGMENT(CODE, 0, SEGMENT_LONG),
    [SELECTOR_SYSCALL_SS / 8] = SEGMENT(DATA, 0, SEGMENT_32),
    [SELECTOR_USER_SS / 8] = SEGMENT(DATA, 3, SEGMENT_32),
    [SELECTOR_USER_CS / 8] = SEGMENT(CODE, 3, SEGMENT_LONG),
    [SELECTOR_COMPAT_CS / 8] = SEGMENT(CODE, 3, SEGMENT_32),
    [SELECTOR_RING1_CS / 8] = SEGMENT(CODE, 1, SEGMENT_LONG),
    [SELECTOR_RING1_SS / 8] = SEGMENT(DATA, 1, SEGMENT_32),
    [SELECTOR_RING2_CS / 8] = SEGMENT(CODE, 2, SEGMENT_LONG),
    [SELECTOR_RING2_SS / 8] = SEGMENT(DATA, 2, SEGMENT_32),
    [SELECTOR_KERNEL32 / 8] = SEGMENT(CODE, 0, SEGMENT_32),
    [SELECTOR_FAST_CS / 8] = SEGMENT(CODE, 0, SEGMENT_LONG),
    [SELECTOR_FAST_CS / 8 + 1] = SEGMENT(DATA, 0, SEGMENT_32),
    [SELECTOR_FAST_CS / 8 + 2] = SEGMENT(CODE, 3, SEGMENT_32),
    [SELECTOR_FAST_CS / 8 + 3] = SEGMENT(DATA, 3, SEGMENT_32),
    [SELECTOR_FAST_CS / 8 + 4] = SEGMENT(CODE, 3, SEGMENT_LONG),
    [SELECTOR_FAST_CS / 8 + 5] = SEGMENT(DATA, 3, SEGMENT_32),
};

static void idt_init(void)
{
    for (unsigned vector = 0; vector < VECTOR_COUNT; vector++) {
        uint64_t entry = trap_entry_address(vector);
        unsigned dpl = 0, stack = IST_NONE;

        /* What ring 3 may raise by an instruction of its own. */
        if (vector == VECTOR_BP || vector == VECTOR_OF || vector == VECTOR_SYSCALL_INT)
            dpl = 3;
        if (vector == VECTOR_DB)
            stack = IST_DB;
        else if (vector == VECTOR_NMI)
            stack = IST_NMI;
        else if (vector == VECTOR_DF)
            stack = IST_DF;
        else if (vector == VECTOR_MC)
            stack = IST_MC;
        idt[vector] = (struct idt_gate){
            .offset_low = (uint16_t)entry,
            .selector = SELECTOR_KERNEL_CS,
            .attributes = (uint16_t)(GATE_INTERRUPT | dpl << 13 | stack),
            .offset_middle = (uint16_t)(entry >> 16),
            .offset_high = (uint32_t)(entry >> 32),
        };
    }
}

void tables_debug_stack(bool own)
{
    idt[VECTOR_DB].attributes = (uint16_t)(GATE_INTERRUPT | (own ? IST_DB : IST_NONE));
}

void *trap_idt(void)
{
    return idt;
}

static uint64_t stack_top(const struct cpu *cpu, enum cpu_stack stack)
{
    return (uint64_t)cpu->stacks[stack] + KERNEL_STACK_BYTES;
}

void tables_init(struct cpu *cpu)
{
    struct hw_tables *t = cpu->tables;

    memset(t, 0, sizeof(*t));
    memcpy(t->gdt, gdt_template, sizeof(t->gdt));
    t->tss.rsp[0] = stack_top(cpu, STACK_RSP0);
    t->tss.ist[IST_DB - 1] = stack_top(cpu, STACK_DB);
    t->tss.ist[IST_NMI - 1] = stack_top(cpu, STACK_NMI);
    t->tss.ist[IST_DF - 1] = stack_top(cpu, STACK_DF);
    t->tss.ist[IST_MC - 1] = stack_top(cpu, STACK_MC);
    t->tss.io_map_base = sizeof(t->tss); /* at the limit: no I/O from ring 3 */
    idt_init();
}

/* A TSS descriptor is two entries; LTR wants it available and leaves it busy. */
static void describe_tss(struct hw_tables *t)
{
    uint64_t base = (uint64_t)&t->tss;

    t->gdt[SELECTOR_TSS / 8] = (sizeof(t->tss) - 1) | (base & 0xFFFFFF) << 16 | TSS_AVAILABLE |
                               (base >> 24 & 0xFF) << 56;
    t->gdt[SELECTOR_TSS / 8 + 1] = base >> 32;
}

void tables_set_gate(uint64_t target)
{
    uint64_t *gate = &cpu_this()->tables->gdt[SELECTOR_GATE / 8];

    gate[0] = (target & 0xFFFF) | SELECTOR_KERNEL_CS << 16 | CALL_GATE | SEGMENT_DPL(3) |
              (target >> 16 & 0xFFFF) << 48;
    gate[1] = target >> 32;
    if (!target)
        gate[0] = 0;
}

void tables_set_low(uint32_t base)
{
    uint64_t *gdt = cpu_this()->tables->gdt;
    uint64_t where = (base & 0xFFFFFFull) << 16 | (uint64_t)(base >> 24) << 56;
    bool there = base != 0;

    gdt[SELECTOR_LOW_CS / 8] = there ? SEGMENT(CODE, 3, SEGMENT_32) | where : 0;
    gdt[SELECTOR_LOW_SS / 8] = there ? SEGMENT(DATA, 3, SEGMENT_32) | where : 0;
    gdt[SELECTOR_LOW_CS16 / 8] = there ? SEGMENT(CODE, 3, 0) | where : 0;
}

void tables_reload_tss(void)
{
    describe_tss(cpu_this()->tables);
    __asm__ volatile("ltr %w0" : : "r"(SELECTOR_TSS));
}

void tables_load(struct cpu *cpu)
{
    struct hw_tables *t = cpu->tables;
    struct table_pointer gdtr = {sizeof(t->gdt) - 1, (uint64_t)t->gdt};
    struct table_pointer idtr = {sizeof(idt) - 1, (uint64_t)idt};
    uint64_t scratch;

    describe_tss(t);
    __asm__ volatile("lgdt %[gdtr]\n\t"
                     "pushq %[cs]\n\t"
                     "leaq 1f(%%rip), %[scratch]\n\t"
                     "pushq %[scratch]\n\t"
                     "lretq\n"
                     "1:\n\t"
                     "movl %[ss], %%ds\n\t"
                     "movl %[ss], %%es\n\t"
                     "movl %[ss], %%ss\n\t"
                     "movl %[null], %%fs\n\t"
                     "movl %[null], %%gs\n\t"
                     "lldt %w[null]\n\t"
                     "ltr %w[tr]\n\t"
                     "lidt %[idtr]"
                     : [scratch] "=&r"(scratch)
                     : [gdtr] "m"(gdtr), [idtr] "m"(idtr), [cs] "i"(SELECTOR_KERNEL_CS),
                       [ss] "r"(SELECTOR_KERNEL_SS), [null] "r"(0), [tr] "r"(SELECTOR_TSS)
                     : "memory");
}
