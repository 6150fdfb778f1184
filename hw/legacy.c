/* SPDX-License-Identifier: BSD-2-Clause */
/* What hw/legacy.asm finds in its page: descriptors, page tables, registers to load. */
#include "hw/legacy.h"

#include "hw/low_memory.h"
#include "hw/msr.h"
#include "hw/paging.h"
#include "hw/regs.h"
#include "hw/string.h"
#include "hw/tables.h"
#include "hw/user.h"

#include <stddef.h>

#define HIDDEN __attribute__((visibility("hidden")))

struct legacy_gdtr {
    uint16_t limit;
    uint64_t base;
    uint8_t unused[6];
} __attribute__((packed));

struct far_pointer {
    uint32_t offset;
    uint32_t selector;
};

struct legacy_state {
    uint64_t rsp;
    struct legacy_gdtr gdtr, idtr;
    uint32_t cr0, cr3, cr4, efer;
    struct legacy_gdtr low_gdtr, low_idtr;
    uint32_t new_cr0, new_cr3, new_cr4;
    uint32_t real;
    struct far_pointer entry;
    uint16_t entry16[2]; /* offset, segment */
    uint32_t stack, argument, result;
    struct far_pointer leave;
    uint16_t to_real[2]; /* offset, segment */
    uint32_t unused;
    uint64_t gdt[11];
    uint64_t unused_end;
};
/* hw/legacy.inc */
_Static_assert(offsetof(struct legacy_state, cr0) == 0x28, "STATE_CR0");
_Static_assert(offsetof(struct legacy_state, low_gdtr) == 0x38, "STATE_LOW_GDTR");
_Static_assert(offsetof(struct legacy_state, new_cr0) == 0x58, "STATE_NEW_CR0");
_Static_assert(offsetof(struct legacy_state, entry) == 0x68, "STATE_ENTRY");
_Static_assert(offsetof(struct legacy_state, stack) == 0x74, "STATE_STACK");
_Static_assert(offsetof(struct legacy_state, leave) == 0x80, "STATE_LEAVE");
_Static_assert(offsetof(struct legacy_state, gdt) == 0x90, "the GDT");
_Static_assert(sizeof(struct legacy_state) == 0xF0, "STATE_BYTES");

extern const uint8_t legacy_code[] HIDDEN, legacy_code_end[] HIDDEN, legacy_real[] HIDDEN,
    legacy_leave[] HIDDEN;
uint32_t legacy_enter(struct legacy_state *page) HIDDEN;

/* Pages from LEGACY_LOW_OFFSET on. */
#define DIRECTORY_32 LEGACY_LOW_OFFSET
#define POINTERS_PAE (LEGACY_LOW_OFFSET + 0x1000)
#define DIRECTORY    (LEGACY_LOW_OFFSET + 0x2000)
#define CODE_PAGE    (LEGACY_LOW_OFFSET + 0x3000)
_Static_assert(CODE_PAGE + PAGE_BYTES <= LOW_BYTES, "low memory holds it all");

#define CR4_PSE     (1u << 4)
#define CR0_PE      (1u << 0)
#define CR0_PG      (1u << 31)
#define LARGE_ENTRY 0xE3u /* present, writable, accessed, dirty, large */

#define CODE_32 0x00CF9B000000FFFFull /* ring 0, 4 GiB, base 0, accessed */
#define DATA_32 0x00CF93000000FFFFull
#define CODE_16 0x00009B000000FFFFull /* 64 KiB */
#define DATA_16 0x000093000000FFFFull
#define TSS_32  0x0000890000000067ull /* available */
#define CODE_64 0x00AF9B000000FFFFull

bool legacy_possible(void)
{
    return low_memory() && paging_current() <= UINT32_MAX;
}

static uint64_t based(uint64_t descriptor, uint32_t base)
{
    return descriptor | (base & 0xFFFFFFull) << 16 | (uint64_t)(base >> 24) << 56;
}

/* The first GiB, mapped to itself. */
static uint32_t build_tables(enum legacy_mode mode)
{
    uint8_t *low = low_memory();
    uint32_t *directory32 = (uint32_t *)(low + DIRECTORY_32);
    uint64_t *pointers = (uint64_t *)(low + POINTERS_PAE);
    uint64_t *directory = (uint64_t *)(low + DIRECTORY);

    if (mode == LEGACY_PAGED) {
        memset(directory32, 0, PAGE_BYTES);
        for (uint32_t i = 0; i < 256; i++)
            directory32[i] = i << 22 | LARGE_ENTRY;
        return (uint32_t)(uint64_t)directory32;
    }
    memset(pointers, 0, PAGE_BYTES);
    pointers[0] = (uint64_t)directory | PAGE_PRESENT;
    for (uint64_t i = 0; i < 512; i++)
        directory[i] = i << 21 | LARGE_ENTRY;
    return (uint32_t)(uint64_t)pointers;
}

/* Byte granularity, so that the limit is exact. */
static uint64_t limited(uint64_t descriptor, uint32_t limit)
{
    return (descriptor & ~0x008F00000000FFFFull) | (limit & 0xFFFF) |
           (uint64_t)(limit >> 16 & 0xF) << 48;
}

static void fill_gdt(struct legacy_state *s, uint32_t page, const struct legacy_call *call)
{
    s->gdt[1] = based(CODE_32, page);
    s->gdt[2] = based(DATA_32, page);
    s->gdt[LEGACY_PROGRAM_CS / 8] = based(CODE_32, call->base);
    s->gdt[LEGACY_PROGRAM_SS / 8] = limited(based(DATA_32, call->base), call->limit);
    s->gdt[5] = based(CODE_16, page);
    s->gdt[SELECTOR_KERNEL_SS / 8] = DATA_32;
    s->gdt[SELECTOR_KERNEL_CS / 8] = CODE_64;
    s->gdt[8] = based(DATA_16, page);
    if (call->tss) {
        s->gdt[9] = based(TSS_32, call->tss);
        s->gdt[10] = based(TSS_32, call->tss + LEGACY_TSS_BYTES);
    }
    s->low_gdtr.limit = sizeof(s->gdt) - 1;
    s->low_gdtr.base = (uint64_t)s->gdt;
}

uint32_t legacy_run(const struct legacy_call *call)
{
    struct legacy_state *s = (struct legacy_state *)(low_memory() + CODE_PAGE);
    uint32_t page = (uint32_t)(uint64_t)s;
    uint32_t result;
    bool paged = call->mode == LEGACY_PAGED || call->mode == LEGACY_PAE;

    memset(s, 0, sizeof(*s));
    memcpy(s + 1, legacy_code, (size_t)(legacy_code_end - legacy_code));
    fill_gdt(s, page, call);
    s->cr0 = (uint32_t)cr0_read();
    s->cr3 = (uint32_t)(call->landing ? call->landing->cr3 : cr3_read());
    s->cr4 = (uint32_t)(call->landing ? call->landing->cr4 : cr4_read());
    s->efer = (uint32_t)msr_read(MSR_IA32_EFER) & ~(uint32_t)EFER_LMA;
    s->new_cr3 = build_tables(call->mode);
    s->new_cr0 = paged ? s->cr0 : s->cr0 & ~CR0_PG;
    s->new_cr4 = (uint32_t)(cr4_read() & ~CR4_LA57);
    if (call->mode != LEGACY_PAE)
        s->new_cr4 = (s->new_cr4 & ~(uint32_t)CR4_PAE) | CR4_PSE;
    s->low_idtr.limit = call->idt_limit;
    s->low_idtr.base = call->idt;
    s->real = call->mode == LEGACY_REAL;
    s->entry = (struct far_pointer){call->entry, LEGACY_PROGRAM_CS};
    s->entry16[0] = (uint16_t)call->entry;
    s->entry16[1] = (uint16_t)(call->base >> 4);
    s->stack = call->stack;
    s->argument = call->argument;
    s->leave = (struct far_pointer){
        page + (uint32_t)(sizeof(*s) + (size_t)(legacy_leave - legacy_code)),
        SELECTOR_KERNEL_CS};
    s->to_real[0] = (uint16_t)(sizeof(*s) + (size_t)(legacy_real - legacy_code));
    s->to_real[1] = (uint16_t)(page >> 4);
    result = legacy_enter(s);
    if (call->tss)
        tables_reload_tss(); /* the program has loaded TR */
    return result;
}
