/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Descriptor tables: GDT and TSS of one processor, the IDT that all share.
 * Source: SDM Vol. 3, "Segment Descriptors", "64-Bit Mode Task State Segment", "64-Bit Mode
 * IDT".
 */
#ifndef HW_TABLES_H
#define HW_TABLES_H

#include "hw/cpu.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * 0x30 and 0x38 are the selectors firmware uses for the same purpose, so that an event between
 * loading the GDT and the IDT finds a usable code segment. The TSS lies beyond firmware's GDT
 * limit (0x47): TR cannot go back to null, and a saved TR that lies beyond is known as ours.
 */
#define SELECTOR_SYSCALL_SS 0x40 /* STAR: SYSCALL's CS + 8 */
#define SELECTOR_TSS        0x60
#define SELECTOR_COMPAT_CS  0x73 /* 32-bit code, ring 3 */
#define SELECTOR_RING1_CS   0x79
#define SELECTOR_RING1_SS   0x81
#define SELECTOR_RING2_CS   0x8A
#define SELECTOR_RING2_SS   0x92
#define SELECTOR_KERNEL32   0x98 /* 32-bit code, ring 0 */
#define SELECTOR_GATE       0xA3 /* call gate of two entries, for ring 3; absent until set */
#define SELECTOR_FAST_CS    0xB0 /* SYSENTER and SYSEXIT: six descriptors in a fixed order */
#define SELECTOR_LOW_CS     0xE3 /* 32-bit code, ring 3; absent until set, as the next two */
#define SELECTOR_LOW_SS     0xEB /* data, ring 3 */
#define SELECTOR_LOW_CS16   0xF3 /* 16-bit code, ring 3 */
#define GDT_ENTRIES         31

struct tss64 {
    uint32_t reserved0;
    uint64_t rsp[3];
    uint64_t reserved1;
    uint64_t ist[7]; /* ist[0] is IST1 */
    uint64_t reserved2;
    uint16_t reserved3;
    uint16_t io_map_base;
} __attribute__((packed));
_Static_assert(sizeof(struct tss64) == 104, "64-bit TSS");

struct hw_tables {
    uint64_t gdt[GDT_ENTRIES];
    struct tss64 tss;
} __attribute__((aligned(16)));

enum ist { IST_NONE, IST_DB, IST_NMI, IST_DF, IST_MC };

/* Fills tables for the stacks of cpu; builds the shared IDT as well. */
void tables_init(struct cpu *cpu);

/*
 * What this processor's GDT holds for the selectors that are absent at first: a call gate to
 * ring-0 64-bit code at target, and the three low segments, all with this base (below 4 GiB).
 * 0 takes them away. Source: SDM Vol. 3, "Call-Gate Descriptors in IA-32e Mode".
 */
void tables_set_gate(uint64_t target);
void tables_set_low(uint32_t base);

/* TR names this processor's TSS again, after something else was loaded. */
void tables_reload_tss(void);

/*
 * Whether #DB takes a stack of its own, as it does at first. Without, a #DB in the first
 * instruction of another one's handler keeps that one's frame.
 */
void tables_debug_stack(bool own);

/* Loads GDT, segments, LDT (null), TR and IDT of this processor. IF = 0. */
void tables_load(struct cpu *cpu);

#endif
