/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Running code outside IA-32e mode: protected mode with or without paging, real mode. Long mode
 * is left for it and entered again. Source: SDM Vol. 3, "Switching Out of IA-32e Mode".
 */
#ifndef HW_LEGACY_H
#define HW_LEGACY_H

#include <stdbool.h>
#include <stdint.h>

enum legacy_mode {
    LEGACY_PROTECTED, /* paging off */
    LEGACY_PAGED,     /* protected mode, 32-bit paging with 4 MiB pages */
    LEGACY_PAE,       /* protected mode, PAE paging with 2 MiB pages */
    LEGACY_REAL,
    LEGACY_MODES
};

/* Selectors of the program's code and data in protected mode. */
#define LEGACY_PROGRAM_CS 0x18
#define LEGACY_PROGRAM_SS 0x20

#define LEGACY_TSS_BYTES 0x80u

/*
 * How long mode comes back. The number of paging levels cannot change inside it; source: SDM
 * Vol. 3, "4-Level Paging and 5-Level Paging". Both values fit into 32 bits.
 */
struct legacy_landing {
    uint64_t cr3, cr4;
};

struct legacy_call {
    enum legacy_mode mode;
    uint32_t base;     /* linear, below 1 MiB, of its CS, DS, ES and SS; a multiple of 16 */
    uint32_t limit;    /* of DS, ES and SS in protected mode: last offset, below 1 MiB */
    uint32_t entry;    /* offset in them: called far, returns by a far RET, result in EAX */
    uint32_t stack;    /* offset of the stack's end; below 64 KiB for real mode */
    uint32_t argument; /* in EDI */
    uint32_t idt;      /* linear address of an IDT of 32-bit gates, or of real-mode vectors */
    uint16_t idt_limit;
    const struct legacy_landing *landing; /* NULL: long mode comes back as it was */
    uint32_t tss; /* linear address of two 32-bit TSSs, LEGACY_TSS_BYTES apart; 0 = none */
};

/* From here on to the end, low_memory() is used: page tables and the code that switches. */
#define LEGACY_LOW_OFFSET 0x14000u

/* Memory below 1 MiB is there, and CR3 fits into 32 bits. */
bool legacy_possible(void);

/*
 * Runs the program with IF = 0; its result. Whoever calls has masked NMIs: none can be taken.
 * In every mode low memory is mapped to itself.
 */
uint32_t legacy_run(const struct legacy_call *call);

#endif
