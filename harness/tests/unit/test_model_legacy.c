/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The model outside 64-bit mode, on the host: 32-bit and PAE page tables, gates of protected
 * mode, vectors of real mode, far transfers with segment bases, a call gate from 32-bit code.
 * Tables are built here by hand, from the manual's figures.
 */
#define _GNU_SOURCE
#include "harness/tests/fakes/model_fixture.h"
#include "hw/model/emulate/emulate.h"

#define TABLES     0x1000u
#define GDT        0x8000u
#define IDT        0x9000u
#define TSS        0xA000u
#define STACK_BASE 0x10000u
#define CODE_BASE  0x20000u
#define CODE       0x100u /* offset */
#define STACK      0x800u
#define HANDLER    0x400u
#define KERNEL_TOP 0x30000u

enum { CS32 = 0x08, SS32 = 0x10, USER_CS = 0x1B, USER_SS = 0x23, GATE = 0x2B, CS64 = 0x38 };

void machine_unblock_nmi(void)
{
}
_Noreturn void machine_shutdown(void)
{
    fprintf(stderr, "the model shut down\n");
    exit(1);
}
static loose32 *word32(uint64_t at)
{
    return (loose32 *)(arena + at);
}
static loose64 *word64(uint64_t at)
{
    return (loose64 *)(arena + at);
}

static uint64_t segment(uint64_t descriptor, uint64_t base)
{
    return descriptor | (base & 0xFFFFFF) << 16 | base >> 24 << 56;
}

static void load(struct vmcb_segment *to, uint16_t selector)
{
    uint64_t raw = *word64(GDT + (selector & ~7u));

    *to = (struct vmcb_segment){.selector = selector, .limit = 0xFFFFFFFF};
    to->attributes = (uint16_t)((raw >> 40 & 0xFF) | (raw >> 44 & 0xF00));
    to->base = (raw >> 16 & 0xFFFFFF) | (raw >> 32 & 0xFF000000);
}

/* Protected mode, paging off, ring 0. */
static void setup(void)
{
    fresh_cpu();
    *word64(GDT + 0x08) = segment(0x00CF9B000000FFFF, CODE_BASE);
    *word64(GDT + 0x10) = segment(0x00CF93000000FFFF, STACK_BASE);
    *word64(GDT + 0x18) = segment(0x00CFFB000000FFFF, CODE_BASE);
    *word64(GDT + 0x20) = segment(0x00CFF3000000FFFF, STACK_BASE);
    *word64(GDT + 0x38) = 0x00AF9B000000FFFF;
    vmcb.save.cr0 = CR0_PE;
    vmcb.save.gdtr = (struct vmcb_segment){.base = GDT, .limit = 0x47};
    vmcb.save.idtr = (struct vmcb_segment){.base = IDT, .limit = 0x7FF};
    load(&vmcb.save.cs, CS32);
    load(&vmcb.save.ss, SS32);
    vmcb.save.rip = CODE;
    cpu.gpr[RSP] = STACK;
    guest_forget_translations(&cpu);
}

static void run(const void *bytes, size_t count)
{
    struct insn insn;
    uint8_t *at = arena + vmcb.save.cs.base + vmcb.save.rip;

    memcpy(at, bytes, count);
    EXPECT_EQ(insn_decode(at, count, guest_mode(&cpu), &insn), DECODE_OK);
    carry_out(&cpu, &insn);
}

static void gate32(unsigned vector)
{
    *word64(IDT + 8 * vector) = (HANDLER + vector) | (uint64_t)CS32 << 16 | 0x8E00ull << 32;
}

static void test_protected_int(void)
{
    setup();
    gate32(0x21);
    RUN_BYTES(0xCD, 0x21);
    expect_edge(0, CODE_BASE + CODE, CODE_BASE + HANDLER + 0x21);
    EXPECT_EQ(cpu.gpr[RSP], STACK - 12);
    EXPECT_EQ(*word32(STACK_BASE + STACK - 12), CODE + 2);
    EXPECT_EQ(*word32(STACK_BASE + STACK - 8), CS32);
    EXPECT_EQ(*word32(STACK_BASE + STACK - 4), FLAG_FIXED | FLAG_IF);
    EXPECT(!(vmcb.save.rflags & FLAG_IF));
    RUN_BYTES(0xCF);
    expect_edge(1, CODE_BASE + HANDLER + 0x21, CODE_BASE + CODE + 2);
    EXPECT_EQ(cpu.gpr[RSP], STACK);
    EXPECT(vmcb.save.rflags & FLAG_IF);
}

/* A fault with an error code: a far JMP to a null selector. */
static void test_protected_fault(void)
{
    setup();
    gate32(VECTOR_GP);
    RUN_BYTES(0xEA, 0, 0, 0, 0, 0, 0);
    expect_edge(0, CODE_BASE + CODE, CODE_BASE + HANDLER + VECTOR_GP);
    EXPECT_EQ(cpu.gpr[RSP], STACK - 16);
    EXPECT_EQ(*word32(STACK_BASE + STACK - 16), 0);
    EXPECT_EQ(*word32(STACK_BASE + STACK - 12), CODE);
}

static void enter_real(void)
{
    setup();
    vmcb.save.cr0 = 0;
    vmcb.save.cs = (struct vmcb_segment){CODE_BASE >> 4, 0x9B, 0xFFFF, CODE_BASE};
    vmcb.save.ss = (struct vmcb_segment){STACK_BASE >> 4, 0x93, 0xFFFF, STACK_BASE};
    cpu.gpr[RSP] = 0xABCD0000 | STACK;
}

static void test_real_int(void)
{
    enter_real();
    *word32(IDT + 4 * 0x21) = 0x2100u << 16 | HANDLER;
    RUN_BYTES(0xCD, 0x21);
    expect_edge(0, CODE_BASE + CODE, 0x21000 + HANDLER);
    EXPECT_EQ(vmcb.save.cs.selector, 0x2100);
    EXPECT_EQ(cpu.gpr[RSP], 0xABCD0000 | (STACK - 6));
    EXPECT_EQ(*word32(STACK_BASE + STACK - 6), (CODE_BASE >> 4) << 16 | (CODE + 2));
    RUN_BYTES(0xCF);
    expect_edge(1, 0x21000 + HANDLER, CODE_BASE + CODE + 2);
    EXPECT_EQ(vmcb.save.rip, CODE + 2);
    EXPECT_EQ(cpu.gpr[RSP], 0xABCD0000 | STACK);
}

static void test_real_far(void)
{
    enter_real();
    RUN_BYTES(0x9A, 0x34, 0x02, 0x00, 0x21); /* CALL 2100:0234 */
    expect_edge(0, CODE_BASE + CODE, 0x21234);
    EXPECT_EQ(*word32(STACK_BASE + STACK - 4), (CODE_BASE >> 4) << 16 | (CODE + 5));
    RUN_BYTES(0xCB);
    expect_edge(1, 0x21234, CODE_BASE + CODE + 5);
    EXPECT_EQ(cpu.gpr[RSP], 0xABCD0000 | STACK);
}

/* The frame of a call gate lies where the 64-bit RSP says, whatever base SS had. */
static void test_gate_from_compat(void)
{
    setup();
    vmcb.save.efer = EFER_LMA | EFER_LME;
    load(&vmcb.save.cs, USER_CS);
    load(&vmcb.save.ss, USER_SS);
    *word64(GDT + 0x28) = 0x5678 | (uint64_t)CS64 << 16 | 0xEC00ull << 32 | 0x2ull << 48;
    *word64(GDT + 0x30) = 0;
    vmcb.save.tr = (struct vmcb_segment){.base = TSS, .limit = 0x67};
    memcpy(arena + TSS + 4, &(uint64_t){KERNEL_TOP}, 8);
    RUN_BYTES(0x9A, 0, 0, 0, 0, GATE, 0);
    expect_edge(0, CODE_BASE + CODE, 0x25678);
    EXPECT_EQ(transfers[0].cpl_before, 3);
    EXPECT_EQ(transfers[0].cpl_after, 0);
    EXPECT_EQ(cpu.gpr[RSP], KERNEL_TOP - 32);
    EXPECT_EQ(*word64(KERNEL_TOP - 32), CODE + 7);
    EXPECT_EQ(*word64(KERNEL_TOP - 24), USER_CS);
    EXPECT_EQ(*word64(KERNEL_TOP - 16), STACK);
    EXPECT_EQ(*word64(KERNEL_TOP - 8), USER_SS);
}

static void test_walk_32(void)
{
    uint64_t physical = 0;

    setup();
    vmcb.save.cr0 = CR0_PE | CR0_PG;
    vmcb.save.cr3 = TABLES;
    *word32(TABLES + 4 * 3) = (TABLES + 0x1000) | 7;
    *word32(TABLES + 4 * 4) = 0x400000 | 0x87; /* large, when PSE is on */
    *word32(TABLES + 0x1000 + 4 * 5) = 0x1E000 | 3;
    EXPECT(guest_translate(&cpu, 0xC05123, ACCESS_WRITE, &physical));
    EXPECT_EQ(physical, 0x1E123);
    EXPECT_EQ(*word32(TABLES + 4 * 3), (TABLES + 0x1000) | 7 | 0x20);
    EXPECT_EQ(*word32(TABLES + 0x1000 + 4 * 5), 0x1E000 | 3 | 0x60);
    EXPECT_EQ(*word32(TABLES + 0x1000 + 4 * 6), 0);
    EXPECT(!guest_translate(&cpu, 0xC06000, 0, &physical));
    EXPECT_EQ(cpu.fault.vector, VECTOR_PF);
    EXPECT(!guest_translate(&cpu, 0xC05123, ACCESS_USER, &physical));
    EXPECT_EQ(cpu.fault.error, PF_PRESENT | PF_USER);
    vmcb.save.cr4 = CR4_PSE;
    EXPECT(guest_translate(&cpu, 0x1234567, 0, &physical));
    EXPECT_EQ(physical, 0x400000 | 0x234567);
    /* Linear addresses have 32 bits. */
    EXPECT(guest_translate(&cpu, 0x100C05123, 0, &physical));
    EXPECT_EQ(physical, 0x1E123);
}

static void test_walk_pae(void)
{
    uint64_t physical = 0;

    setup();
    vmcb.save.cr0 = CR0_PE | CR0_PG;
    vmcb.save.cr4 = CR4_PAE;
    vmcb.save.cr3 = TABLES + 0x60; /* 32-byte aligned is enough */
    *word64(TABLES + 0x60 + 8) = (TABLES + 0x1000) | 1;
    *word64(TABLES + 0x1000 + 8 * 2) = (TABLES + 0x2000) | 7;
    *word64(TABLES + 0x1000 + 8 * 3) = 0x600000 | 0x83;
    *word64(TABLES + 0x2000 + 8 * 4) = 0x1F000 | 7;
    EXPECT(guest_translate(&cpu, 0x40404321, ACCESS_WRITE | ACCESS_USER, &physical));
    EXPECT_EQ(physical, 0x1F321);
    EXPECT_EQ(*word64(TABLES + 0x60 + 8), (TABLES + 0x1000) | 1);
    EXPECT_EQ(*word64(TABLES + 0x1000 + 8 * 2), (TABLES + 0x2000) | 7 | 0x20);
    EXPECT_EQ(*word64(TABLES + 0x2000 + 8 * 4), 0x1F000 | 7 | 0x60);
    EXPECT(guest_translate(&cpu, 0x40765432, 0, &physical));
    EXPECT_EQ(physical, 0x765432);
}

int main(void)
{
    if (!EXPECT(map_arena()))
        return 1;
    RUN(test_protected_int);
    RUN(test_protected_fault);
    RUN(test_real_int);
    RUN(test_real_far);
    RUN(test_gate_from_compat);
    RUN(test_walk_32);
    RUN(test_walk_pae);
    UNIT_END();
}
