/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The model's events and far transfers on the host: gates, stacks, frames, error codes,
 * double faults, IRET, SYSCALL, far pointers, all 16 conditions; each with the transfer that
 * would be recorded. Descriptor tables, TSS and page tables are built here by hand.
 */
#define _GNU_SOURCE
#include "harness/tests/fakes/model_fixture.h"
#include "hw/model/emulate/emulate.h"

#include <setjmp.h>

#define TABLES     0x0000u /* PML4, PDPT, PD, PT: linear = physical, user pages */
#define GDT        0x8000u
#define IDT        0x9000u
#define TSS        0xA000u
#define CODE       0xB000u
#define USER_STACK 0x18000u
#define KERNEL_TOP 0x20000u
#define IST_TOP    0x24000u
#define HANDLER    0xC000u

enum { KERNEL_CS = 0x08, KERNEL_SS = 0x10, USER_SS = 0x1B, USER_CS = 0x23, GATE = 0x28 };

static unsigned unblocked;
static jmp_buf shut_down;

void machine_unblock_nmi(void)
{
    unblocked++;
}

_Noreturn void machine_shutdown(void)
{
    longjmp(shut_down, 1);
}

static uint64_t *word(uint64_t at)
{
    return (uint64_t *)(arena + at);
}

static uint64_t *page_entry(uint64_t at)
{
    return word(TABLES + 0x3000 + at / 4096 * 8);
}

static void gate(unsigned vector, uint64_t type, uint64_t dpl, uint64_t ist)
{
    uint64_t handler = HANDLER + 16 * vector;

    *word(IDT + 16 * vector) = (handler & 0xFFFF) | KERNEL_CS << 16 | ist << 32 | type << 40 |
                               dpl << 45 | 1ull << 47 | (handler >> 16) << 48;
    *word(IDT + 16 * vector + 8) = 0;
}

static void build_tables(void)
{
    *word(TABLES) = (TABLES + 0x1000) | 7;
    *word(TABLES + 0x1000) = (TABLES + 0x2000) | 7;
    *word(TABLES + 0x2000) = (TABLES + 0x3000) | 7;
    for (uint64_t page = 0; page < ARENA_BYTES / 4096; page++)
        *word(TABLES + 0x3000 + page * 8) = page * 4096 | 7;
    *word(GDT + 0x08) = 0x00209B0000000000;
    *word(GDT + 0x10) = 0x00CF93000000FFFF;
    *word(GDT + 0x18) = 0x00CFF3000000FFFF;
    *word(GDT + 0x20) = 0x0020FB0000000000;
    for (unsigned vector = 0; vector < 256; vector++)
        gate(vector, 0xE, vector == 3 || vector == 0x80 ? 3 : 0, 0);
    memcpy(arena + TSS + 4, &(uint64_t){KERNEL_TOP}, 8);
    memcpy(arena + TSS + 0x24, &(uint64_t){IST_TOP}, 8);
}

static void load(struct vmcb_segment *segment, uint16_t selector)
{
    uint64_t raw = *word(GDT + (selector & ~7u));

    *segment = (struct vmcb_segment){.selector = selector, .limit = 0xFFFFFFFF};
    segment->attributes = (uint16_t)((raw >> 40 & 0xFF) | (raw >> 44 & 0xF00));
}

static void setup(unsigned cpl)
{
    fresh_cpu();
    build_tables();
    vmcb.save.cr0 = CR0_PE | CR0_PG | CR0_WP;
    vmcb.save.efer = EFER_LMA | EFER_LME | EFER_SCE;
    vmcb.save.gdtr = (struct vmcb_segment){.base = GDT, .limit = 0x3F};
    vmcb.save.idtr = (struct vmcb_segment){.base = IDT, .limit = 0xFFF};
    vmcb.save.tr = (struct vmcb_segment){.base = TSS, .limit = 0x67, .selector = 0x30};
    load(&vmcb.save.cs, cpl ? USER_CS : KERNEL_CS);
    load(&vmcb.save.ss, cpl ? USER_SS : KERNEL_SS);
    vmcb.save.rip = CODE;
    cpu.gpr[RSP] = USER_STACK;
    guest_forget_translations(&cpu);
}

/* Carries out the instruction in these bytes at CODE. */
static void run(const void *bytes, size_t count)
{
    struct insn insn;

    memcpy(arena + CODE, bytes, count);
    EXPECT_EQ(insn_decode(arena + CODE, count, DECODE_64, &insn), DECODE_OK);
    EXPECT(is_emulated(&insn));
    carry_out(&cpu, &insn);
}

static void expect_transfer(unsigned which, uint64_t from, uint64_t to, unsigned before,
                            unsigned after)
{
    expect_edge(which, from, to);
    EXPECT_EQ(transfers[which].cpl_before, before);
    EXPECT_EQ(transfers[which].cpl_after, after);
}

static void expect_frame(uint64_t top, uint64_t rip, uint64_t cs, uint64_t flags, uint64_t rsp,
                         uint64_t ss)
{
    const uint64_t expected[] = {rip, cs, flags, rsp, ss};

    for (unsigned i = 0; i < 5; i++)
        EXPECT_EQ(*word(top - 40 + 8 * i), expected[i]);
}

static void test_int_from_user(void)
{
    setup(3);
    RUN_BYTES(0xCD, 0x80);
    EXPECT_EQ(transfer_count, 1);
    expect_transfer(0, CODE, HANDLER + 0x800, 3, 0);
    expect_frame(KERNEL_TOP, CODE + 2, USER_CS, FLAG_FIXED | FLAG_IF, USER_STACK, USER_SS);
    EXPECT_EQ(cpu.gpr[RSP], KERNEL_TOP - 40);
    EXPECT_EQ(vmcb.save.ss.selector, 0);
    EXPECT_EQ(guest_cpl(&cpu), 0);
    EXPECT(!(vmcb.save.rflags & FLAG_IF));
}

/* The gate's DPL counts for INT n: #GP with the vector in the error code. */
static void test_int_refused(void)
{
    setup(3);
    RUN_BYTES(0xCD, 0x21);
    EXPECT_EQ(vmcb.save.rip, HANDLER + 16 * 13);
    EXPECT_EQ(*word(KERNEL_TOP - 48), 0x21 * 8 + 2);
    expect_frame(KERNEL_TOP, CODE, USER_CS, FLAG_FIXED | FLAG_IF | FLAG_RF, USER_STACK,
                 USER_SS);
    EXPECT_EQ(transfer_count, 1);
    expect_transfer(0, CODE, HANDLER + 16 * 13, 3, 0);
}

static void test_trap_gate_and_ist(void)
{
    setup(0);
    gate(3, 0xF, 3, 1);
    RUN_BYTES(0xCC);
    EXPECT(vmcb.save.rflags & FLAG_IF);
    expect_frame(IST_TOP, CODE + 1, KERNEL_CS, FLAG_FIXED | FLAG_IF, USER_STACK, KERNEL_SS);
    expect_transfer(0, CODE, HANDLER + 0x30, 0, 0);
}

static void test_stack_is_aligned(void)
{
    setup(0);
    cpu.gpr[RSP] = USER_STACK - 5;
    RUN_BYTES(0xCC);
    EXPECT_EQ(cpu.gpr[RSP], USER_STACK - 16 - 40);
}

/* Vector 14 by INT n pushes no error code, whatever the exception of that number does. */
static void test_int_has_no_error_code(void)
{
    setup(0);
    RUN_BYTES(0xCD, 0x0E);
    EXPECT_EQ(cpu.gpr[RSP], USER_STACK - 40);
    expect_transfer(0, CODE, HANDLER + 16 * 14, 0, 0);
}

/* MOV SS with a null selector of another ring: only its own is allowed, and only inside. */
static void test_null_stack_segment(void)
{
    setup(0);
    cpu.gpr[RAX] = 1;
    RUN_BYTES(0x8E, 0xD0);
    EXPECT_EQ(vmcb.save.rip, HANDLER + 16 * 13);
    setup(0);
    cpu.gpr[RAX] = 0;
    RUN_BYTES(0x8E, 0xD0);
    EXPECT_EQ(vmcb.save.rip, CODE + 2);
}

/* SYSEXIT: either address outside the canonical halves is refused. */
static void test_sysexit_refused(void)
{
    for (unsigned bad = 0; bad < 2; bad++) {
        setup(0);
        cpu.has_sysenter = true;
        vmcb.save.sysenter_cs = KERNEL_CS;
        cpu.gpr[RDX] = bad == 0 ? 1ull << 62 : CODE;
        cpu.gpr[RCX] = bad == 1 ? 1ull << 62 : USER_STACK;
        RUN_BYTES(0x48, 0x0F, 0x35);
        EXPECT_EQ(vmcb.save.rip, HANDLER + 16 * 13);
    }
}

static void test_page_fault(void)
{
    setup(3);
    cpu.fault = (struct fault){.vector = 14, .error = 6, .address = 0x12345};
    deliver_fault(&cpu);
    EXPECT_EQ(vmcb.save.cr2, 0x12345);
    EXPECT_EQ(*word(KERNEL_TOP - 48), 6);
    expect_transfer(0, CODE, HANDLER + 16 * 14, 3, 0);
}

/* First event, second by a missing gate or page: what comes of the pair. */
static void test_double_faults(void)
{
    setup(3); /* #GP, its gate not present: #NP is contributory, so #DF */
    *word(IDT + 16 * 13) &= ~(1ull << 47);
    cpu.fault = (struct fault){.vector = 13};
    deliver_fault(&cpu);
    EXPECT_EQ(vmcb.save.rip, HANDLER + 16 * 8);
    EXPECT_EQ(*word(KERNEL_TOP - 48), 0);
    EXPECT_EQ(transfer_count, 1);
    setup(3); /* #UD, not present: benign first, so #NP with EXT and IDT */
    *word(IDT + 16 * 6) &= ~(1ull << 47);
    cpu.fault = (struct fault){.vector = 6};
    deliver_fault(&cpu);
    EXPECT_EQ(vmcb.save.rip, HANDLER + 16 * 11);
    EXPECT_EQ(*word(KERNEL_TOP - 48), 6 * 8 + 3);
    setup(3); /* #PF on a stack that is not mapped: #PF on #PF is #DF, on its IST */
    gate(8, 0xE, 0, 1);
    *page_entry(KERNEL_TOP - 8) = 0;
    cpu.fault = (struct fault){.vector = 14, .error = 4, .address = 1};
    deliver_fault(&cpu);
    EXPECT_EQ(vmcb.save.rip, HANDLER + 16 * 8);
    EXPECT_EQ(cpu.gpr[RSP], IST_TOP - 48);
}

/* By policy the event that never reached its handler leaves a record of its own. */
static void test_double_fault_records(void)
{
    setup(3);
    EXPECT_EQ(model_set("policy", "df-records:each"), MODEL_OK);
    *word(IDT + 16 * 13) &= ~(1ull << 47);
    cpu.fault = (struct fault){.vector = 13};
    deliver_fault(&cpu);
    EXPECT_EQ(transfer_count, 2);
    expect_transfer(0, CODE, HANDLER + 16 * 13, 3, 0);
    expect_transfer(1, CODE, HANDLER + 16 * 8, 3, 0);
}

static void test_shutdown(void)
{
    volatile bool down = false;

    setup(3);
    vmcb.save.idtr.limit = 0;
    cpu.fault = (struct fault){.vector = 6};
    if (setjmp(shut_down))
        down = true;
    else
        deliver_fault(&cpu);
    EXPECT(down);
    EXPECT_EQ(transfer_count, 0);
}

static void test_iret(void)
{
    static const uint64_t frame[] = {CODE + 0x100, USER_CS, FLAG_FIXED | FLAG_IF | FLAG_TF,
                                     USER_STACK, USER_SS};

    setup(0);
    unblocked = 0;
    load(&vmcb.save.ds, KERNEL_SS);
    memcpy(arena + KERNEL_TOP - 40, frame, sizeof(frame));
    cpu.gpr[RSP] = KERNEL_TOP - 40;
    RUN_BYTES(0x48, 0xCF);
    expect_transfer(0, CODE, CODE + 0x100, 0, 3);
    EXPECT_EQ(guest_cpl(&cpu), 3);
    EXPECT_EQ(cpu.gpr[RSP], USER_STACK);
    EXPECT_EQ(vmcb.save.rflags, frame[2]);
    EXPECT_EQ(vmcb.save.ds.selector, 0); /* no kernel segment is left to ring 3 */
    EXPECT_EQ(unblocked, 1);
}

static void iret_fault(unsigned word_number, uint64_t value, uint64_t error)
{
    uint64_t frame[] = {CODE + 0x100, USER_CS, FLAG_FIXED, USER_STACK, USER_SS};

    setup(0);
    frame[word_number] = value;
    memcpy(arena + KERNEL_TOP - 40, frame, sizeof(frame));
    cpu.gpr[RSP] = KERNEL_TOP - 40;
    RUN_BYTES(0x48, 0xCF);
    EXPECT_EQ(vmcb.save.rip, HANDLER + 16 * 13);
    EXPECT_EQ(*word(KERNEL_TOP - 48 - 48), error); /* aligned by 16 first */
    EXPECT_EQ(transfer_count, 1);
    expect_transfer(0, CODE, HANDLER + 16 * 13, 0, 0);
}

static void test_iret_faults(void)
{
    iret_fault(0, 0x0000800000000000, 0);  /* RIP not canonical */
    iret_fault(1, 0, 0);                   /* null CS */
    iret_fault(1, USER_SS, USER_SS & ~3u); /* a data segment as CS */
    iret_fault(1, 0x1000, 0x1000);         /* beyond the table */
    iret_fault(4, 3, 0);                   /* null SS for ring 3 */
    iret_fault(4, KERNEL_SS, KERNEL_SS);   /* SS of another level */
}

static void test_syscall_and_sysret(void)
{
    setup(3);
    vmcb.save.star = (uint64_t)KERNEL_CS << 32 | 0x13ull << 48;
    vmcb.save.lstar = HANDLER;
    vmcb.save.sfmask = FLAG_IF | FLAG_DF;
    RUN_BYTES(0x0F, 0x05);
    expect_transfer(0, CODE, HANDLER, 3, 0);
    EXPECT_EQ(cpu.gpr[RCX], CODE + 2);
    EXPECT_EQ(cpu.gpr[11], FLAG_FIXED | FLAG_IF);
    EXPECT_EQ(vmcb.save.rflags, FLAG_FIXED);
    EXPECT_EQ(vmcb.save.cs.selector, KERNEL_CS);
    vmcb.save.rip = CODE;
    RUN_BYTES(0x48, 0x0F, 0x07);
    expect_transfer(1, CODE, CODE + 2, 0, 3);
    EXPECT_EQ(vmcb.save.cs.selector, USER_CS);
    EXPECT_EQ(vmcb.save.ss.selector, USER_SS);
    EXPECT_EQ(vmcb.save.rflags, FLAG_FIXED | FLAG_IF);
    vmcb.save.rip = CODE; /* SYSRET in ring 3 */
    RUN_BYTES(0x48, 0x0F, 0x07);
    EXPECT_EQ(vmcb.save.rip, HANDLER + 16 * 13);
}

static void test_far_pointers(void)
{
    setup(0);
    *word(0x1F000) = (CODE + 0x40) | (uint64_t)KERNEL_CS << 32;
    cpu.gpr[RBX] = 0x1F000;
    RUN_BYTES(0xFF, 0x2B); /* ljmp *(%rbx) */
    expect_transfer(0, CODE, CODE + 0x40, 0, 0);
    vmcb.save.rip = CODE;
    RUN_BYTES(0x48, 0xFF, 0x1B); /* rex.W lcall *(%rbx): the pointer is longer, so wrong */
    EXPECT_EQ(vmcb.save.rip, HANDLER + 16 * 13);
    setup(0);
    *word(0x1F000) = (CODE + 0x40) | (uint64_t)KERNEL_CS << 32;
    cpu.gpr[RBX] = 0x1F000;
    RUN_BYTES(0xFF, 0x1B);
    EXPECT_EQ(*word(USER_STACK - 8), (CODE + 2) | (uint64_t)KERNEL_CS << 32);
    vmcb.save.rip = CODE;
    RUN_BYTES(0xCB);
    expect_transfer(1, CODE, CODE + 2, 0, 0);
    EXPECT_EQ(cpu.gpr[RSP], USER_STACK);
}

static void test_call_gate(void)
{
    setup(3);
    *word(GDT + GATE) = (HANDLER & 0xFFFF) | KERNEL_CS << 16 | 0xECull << 40;
    *word(GDT + GATE + 8) = 0;
    *word(0x1F000) = (uint64_t)(GATE | 3) << 32;
    cpu.gpr[RBX] = 0x1F000;
    RUN_BYTES(0xFF, 0x1B);
    expect_transfer(0, CODE, HANDLER, 3, 0);
    EXPECT_EQ(*word(KERNEL_TOP - 8), USER_SS);
    EXPECT_EQ(*word(KERNEL_TOP - 16), USER_STACK);
    EXPECT_EQ(*word(KERNEL_TOP - 24), USER_CS);
    EXPECT_EQ(*word(KERNEL_TOP - 32), CODE + 2);
    vmcb.save.rip = CODE;
    RUN_BYTES(0x48, 0xCB);
    expect_transfer(1, CODE, CODE + 2, 0, 3);
    EXPECT_EQ(cpu.gpr[RSP], USER_STACK);
}

static void test_near_faults(void)
{
    setup(3); /* CALL to a non-canonical address: nothing is pushed, one transfer */
    cpu.gpr[RAX] = 0x0000900000000000;
    RUN_BYTES(0xFF, 0xD0);
    EXPECT_EQ(vmcb.save.rip, HANDLER + 16 * 13);
    EXPECT_EQ(transfer_count, 1);
    expect_transfer(0, CODE, HANDLER + 16 * 13, 3, 0);
    expect_frame(KERNEL_TOP, CODE, USER_CS, FLAG_FIXED | FLAG_IF | FLAG_RF, USER_STACK,
                 USER_SS);
    setup(3); /* CALL with the stack not mapped */
    *page_entry(USER_STACK - 8) = 0;
    RUN_BYTES(0xE8, 0, 0, 0, 0);
    EXPECT_EQ(vmcb.save.rip, HANDLER + 16 * 14);
    EXPECT_EQ(vmcb.save.cr2, USER_STACK - 8);
    EXPECT_EQ(*word(KERNEL_TOP - 48), PF_WRITE | PF_USER);
    setup(3); /* JMP through a supervisor page */
    *page_entry(0x1F000) &= ~4ull;
    cpu.gpr[RAX] = 0x1F010;
    RUN_BYTES(0xFF, 0x20);
    EXPECT_EQ(*word(KERNEL_TOP - 48), PF_PRESENT | PF_USER);
    EXPECT_EQ(vmcb.save.cr2, 0x1F010);
}

static void test_single_step(void)
{
    setup(3);
    vmcb.save.rflags |= FLAG_TF;
    RUN_BYTES(0xEB, 0x10);
    EXPECT_EQ(transfer_count, 2); /* the branch, then its trap */
    expect_transfer(0, CODE, CODE + 0x12, 3, 3);
    expect_transfer(1, CODE + 0x12, HANDLER + 16, 3, 0);
    EXPECT(cpu.dr6 & 0x4000);
    setup(3);
    vmcb.save.rflags |= FLAG_TF;
    cpu.debugctl = DEBUGCTL_BTF | DEBUGCTL_LBR | DEBUGCTL_TR;
    RUN_BYTES(0x75, 0x10); /* taken: ZF is 0 */
    EXPECT_EQ(transfer_count, 2);
    EXPECT_EQ(cpu.debugctl, DEBUGCTL_TR);
    setup(3);
    vmcb.save.rflags |= FLAG_TF;
    cpu.debugctl = DEBUGCTL_BTF;
    RUN_BYTES(0x74, 0x10); /* not taken: no branch, no trap */
    EXPECT_EQ(transfer_count, 0);
    EXPECT_EQ(vmcb.save.rip, CODE + 2);
    EXPECT_EQ(cpu.debugctl, DEBUGCTL_BTF);
}

static void test_flags_and_shadow(void)
{
    setup(0);
    vmcb.save.rflags &= ~FLAG_IF;
    RUN_BYTES(0xFB);
    EXPECT(cpu.shadow && vmcb.save.rflags & FLAG_IF);
    vmcb.save.rip = CODE;
    RUN_BYTES(0xFB); /* IF was set already: no shadow */
    EXPECT(!cpu.shadow);
    setup(3);
    RUN_BYTES(0xFA);
    EXPECT_EQ(vmcb.save.rip, HANDLER + 16 * 13);
    setup(3);
    vmcb.save.rflags |= FLAG_TF | FLAG_RF;
    RUN_BYTES(0x9C);
    EXPECT_EQ(*word(USER_STACK - 8), FLAG_FIXED | FLAG_IF | FLAG_TF);
    setup(3); /* POPF in ring 3 changes neither IF nor IOPL */
    *word(USER_STACK) = FLAG_FIXED | FLAG_IOPL | FLAG_CF;
    RUN_BYTES(0x9D);
    EXPECT_EQ(vmcb.save.rflags, FLAG_FIXED | FLAG_IF | FLAG_CF);
}

/* The host's own SETcc is the judge of every condition. */
#define HOST_CONDITION(cc)                                                                     \
    __asm__("push %1\n\tpopfq\n\tset" cc " %0" : "=q"(holds) : "r"(flags) : "cc", "memory")

static bool host_condition(unsigned condition, uint64_t flags)
{
    uint8_t holds = 0;

    switch (condition) {
    case 0:
        HOST_CONDITION("o");
        break;
    case 1:
        HOST_CONDITION("no");
        break;
    case 2:
        HOST_CONDITION("b");
        break;
    case 3:
        HOST_CONDITION("ae");
        break;
    case 4:
        HOST_CONDITION("e");
        break;
    case 5:
        HOST_CONDITION("ne");
        break;
    case 6:
        HOST_CONDITION("be");
        break;
    case 7:
        HOST_CONDITION("a");
        break;
    case 8:
        HOST_CONDITION("s");
        break;
    case 9:
        HOST_CONDITION("ns");
        break;
    case 10:
        HOST_CONDITION("p");
        break;
    case 11:
        HOST_CONDITION("np");
        break;
    case 12:
        HOST_CONDITION("l");
        break;
    case 13:
        HOST_CONDITION("ge");
        break;
    case 14:
        HOST_CONDITION("le");
        break;
    case 15:
        HOST_CONDITION("g");
        break;
    }
    return holds;
}

static void test_conditions(void)
{
    static const uint64_t bits[] = {FLAG_CF, FLAG_PF, FLAG_ZF, FLAG_SF, FLAG_OF};

    setup(3);
    for (unsigned condition = 0; condition < 16; condition++)
        for (unsigned set = 0; set < 32; set++) {
            uint64_t flags = FLAG_FIXED | FLAG_IF;

            for (unsigned i = 0; i < 5; i++)
                flags |= set >> i & 1 ? bits[i] : 0;
            vmcb.save.rflags = flags;
            vmcb.save.rip = CODE;
            RUN_BYTES((uint8_t)(0x70 + condition), 0x20);
            EXPECT_EQ(vmcb.save.rip == CODE + 0x22, host_condition(condition, flags));
        }
}

static void test_loops(void)
{
    static const struct {
        uint8_t opcode;
        uint64_t rcx;
        bool zero, taken;
    } cases[] = {{0xE2, 2, 0, 1}, {0xE2, 1, 0, 0},         {0xE1, 2, 1, 1}, {0xE1, 2, 0, 0},
                 {0xE0, 2, 0, 1}, {0xE0, 2, 1, 0},         {0xE3, 0, 0, 1}, {0xE3, 1, 0, 0},
                 {0xE2, 0, 0, 1}, {0xE3, 1ull << 32, 0, 0}};

    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        setup(3);
        cpu.gpr[RCX] = cases[i].rcx;
        vmcb.save.rflags |= cases[i].zero ? FLAG_ZF : 0;
        RUN_BYTES(cases[i].opcode, 0x20);
        EXPECT_EQ(vmcb.save.rip, CODE + (cases[i].taken ? 0x22 : 2));
        EXPECT_EQ(cpu.gpr[RCX], cases[i].rcx - (cases[i].opcode != 0xE3));
    }
    setup(3); /* with 67H only ECX counts, and its upper half is cleared */
    cpu.gpr[RCX] = 0x500000001;
    RUN_BYTES(0x67, 0xE2, 0x20);
    EXPECT_EQ(vmcb.save.rip, CODE + 3);
    EXPECT_EQ(cpu.gpr[RCX], 0);
}

static void test_returns(void)
{
    setup(3);
    *word(USER_STACK) = CODE + 0x77;
    RUN_BYTES(0xC2, 0x10, 0x00);
    expect_transfer(0, CODE, CODE + 0x77, 3, 3);
    EXPECT_EQ(cpu.gpr[RSP], USER_STACK + 8 + 16);
}

/*
 * DR7 codes of a length of 1, 2, 4 and 8 bytes, on writes: hit by every overlap, by no
 * neighbour.
 */
static void test_watch_edges(void)
{
    static const struct {
        uint64_t code, bytes;
    } lengths[] = {{0, 1}, {1, 2}, {3, 4}, {2, 8}};

    for (unsigned i = 0; i < 4; i++)
        for (unsigned size = 1; size <= 8; size *= 2)
            for (uint64_t at = 0x10F0; at <= 0x1110; at++) {
                bool overlaps = at < 0x1100 + lengths[i].bytes && at + size > 0x1100;

                setup(0);
                cpu.dr[2] = 0x1100;
                cpu.dr7 = 1ull << 4 | 1ull << 24 | lengths[i].code << 26;
                watch_access(&cpu, at, size, ACCESS_WRITE);
                EXPECT_EQ(cpu.watch_hits, overlaps ? 4 : 0);
            }
}

int main(void)
{
    if (!EXPECT(map_arena()))
        return 1;
    RUN(test_int_from_user);
    RUN(test_int_refused);
    RUN(test_trap_gate_and_ist);
    RUN(test_stack_is_aligned);
    RUN(test_int_has_no_error_code);
    RUN(test_null_stack_segment);
    RUN(test_sysexit_refused);
    RUN(test_page_fault);
    RUN(test_double_faults);
    RUN(test_double_fault_records);
    RUN(test_watch_edges);
    RUN(test_shutdown);
    RUN(test_iret);
    RUN(test_iret_faults);
    RUN(test_syscall_and_sysret);
    RUN(test_far_pointers);
    RUN(test_call_gate);
    RUN(test_near_faults);
    RUN(test_single_step);
    RUN(test_flags_and_shadow);
    RUN(test_conditions);
    RUN(test_loops);
    RUN(test_returns);
    UNIT_END();
}
