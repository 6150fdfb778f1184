/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The processor as the kernel loaded it, accesses that fault, and guarded calls.
 *
 * Claim: control registers, segments and tables hold what the suite relies on; a faulting
 *   WRMSR comes back as a value; hw_try puts back everything a C function expects.
 * Source: SDM Vol. 3, "Control Registers", "Segment Descriptors"; Vol. 2, "RDMSR", "WRMSR".
 * How: reads the registers back; provokes the fault; unwinds out of nested calls.
 * Wrong if: an emulator stores MSR bits that every processor rejects. The MSR was chosen so
 *   that it is either absent or has its upper half reserved.
 */
#define CHECK_GROUP "00 hw"
#include "harness/check/check.h"
#include "harness/fixture/ring3.h"

#include "hw/apic.h"
#include "hw/core.h"
#include "hw/cpu.h"
#include "hw/cpuid.h"
#include "hw/msr.h"
#include "hw/regs.h"
#include "hw/tables.h"
#include "hw/user.h"

static uint16_t segment(unsigned which)
{
    uint16_t selector;

    if (which == 0)
        __asm__ volatile("movw %%cs, %0" : "=r"(selector));
    else
        __asm__ volatile("str %0" : "=r"(selector));
    return selector;
}

CHECK("hw.cpu.state", SOFTWARE, "", NEED_NOTHING)
{
    uint64_t cr0 = cr0_read(), cr4 = cr4_read(), efer = msr_read(MSR_IA32_EFER);
    const struct cpu *cpu = cpu_this();

    EXPECT_EQ(run, cr0 & (CR0_WP | CR0_NE | CR0_EM | CR0_TS), CR0_WP | CR0_NE, "CR0");
    EXPECT_EQ(run, cr4 & (CR4_PGE | CR4_PCIDE | CR4_OSXSAVE | CR4_SMEP | CR4_SMAP | CR4_TSD), 0,
              "CR4 bits that must be off");
    EXPECT_EQ(run, cr4 & (CR4_OSFXSR | CR4_OSXMMEXCPT | CR4_PAE),
              CR4_OSFXSR | CR4_OSXMMEXCPT | CR4_PAE, "CR4 bits that must be on");
    EXPECT_EQ(run, efer & (EFER_SCE | EFER_LME | EFER_LMA), EFER_SCE | EFER_LME | EFER_LMA,
              "EFER");
    EXPECT_EQ(run, segment(0), SELECTOR_KERNEL_CS, "CS");
    EXPECT_EQ(run, segment(1), SELECTOR_TSS, "TR");
    EXPECT_EQ(run, rflags_read() & (RFLAGS_IF | RFLAGS_DF | RFLAGS_TF), 0, "RFLAGS");
    EXPECT(run, cpu == cpu_get(cpu->index), "this stack does not know its processor");
    EXPECT_EQ(run, cpu->apic_id, apic_id(), "APIC ID");
}

/* The initial APIC ID in CPUID is an independent witness of the register's layout. */
CHECK("hw.apic.id", SOFTWARE, "", NEED_NOTHING)
{
    uint32_t whole = core_ask().apic_id;

    EXPECT_EQ(run, apic_id() & 0xFF, cpu_initial_apic_id(), "APIC ID");
    /* The xAPIC page has room for 8 bits of it. */
    EXPECT_EQ(run, apic_id(), apic_mode() == APIC_X2APIC ? whole : whole & 0xFF,
              "APIC ID, all of it");
}

CHECK("hw.apic.lvt_perf", SOFTWARE, "", NEED_NOTHING)
{
    uint32_t before = apic_lvt_perf_read();
    static const uint32_t values[] = {LVT_MASKED | VECTOR_PMI, VECTOR_PMI,
                                      LVT_MASKED | LVT_DELIVERY_NMI};

    for (unsigned i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        apic_lvt_perf_write(values[i]);
        EXPECT_EQ(run, apic_lvt_perf_read(), values[i], "LVT performance entry");
    }
    apic_lvt_perf_write(before);
}

/*
 * A reserved bit and a non-canonical base: a processor refuses both, an emulator or hypervisor
 * may let one of them through.
 */
CHECK("hw.msr.fault_returned", SOFTWARE, "DCTL-02", NEED_NOTHING)
{
    int reserved_bit = msr_write_try(MSR_IA32_PKRS, 1ull << 63);
    int non_canonical = msr_write_try(MSR_IA32_FS_BASE, 1ull << 62);
    const uint64_t canary = 0x0123456789ABCDEFull;
    uint64_t value = canary;
    int absent;

    EXPECT(run, reserved_bit == VECTOR_GP || non_canonical == VECTOR_GP,
           "WRMSR returned %d and %d, not once #GP", reserved_bit, non_canonical);
    EXPECT_EQ(run, (uint64_t)msr_write_try(MSR_IA32_FS_BASE, 0xCDEF), 0, "good WRMSR");
    EXPECT_EQ(run, (uint64_t)msr_read_try(MSR_IA32_FS_BASE, &value), 0, "good RDMSR");
    EXPECT_EQ(run, value, 0xCDEF, "IA32_FS_BASE");
    msr_write(MSR_IA32_FS_BASE, 0);
    value = canary;
    absent = msr_read_try(MSR_NEVER_IMPLEMENTED, &value);
    EXPECT(run, absent == 0 || absent == VECTOR_GP, "RDMSR returned vector %d", absent);
    if (absent)
        EXPECT_EQ(run, value, canary, "the value after a failed RDMSR");
    run_observe(run, "hw.msr.absent_read", "%s", absent ? "#GP" : "no fault");
}

static uint64_t unwind_with(void *code)
{
    /* What the caller keeps in registers must not survive by luck. */
    __asm__ volatile("cli\n\txor %%ebx, %%ebx\n\tmov %%rbx, %%r12\n\tmov %%rbx, %%r13\n\t"
                     "mov %%rbx, %%r14\n\tmov %%rbx, %%r15"
                     :
                     :
                     : "rbx", "r12", "r13", "r14", "r15");
    hw_unwind((uint64_t)code);
}

static uint64_t try_inner(void *arg)
{
    uint64_t code = hw_try(unwind_with, arg, NULL);

    return code * 2; /* reached: the innermost call alone was unwound */
}

CHECK("hw.try.nesting", SOFTWARE, "", NEED_NOTHING)
{
    uint64_t result = 0;

    EXPECT_EQ(run, hw_try(try_inner, (void *)21, &result), 0, "the outer call's code");
    EXPECT_EQ(run, result, 42, "the outer call's result");
    EXPECT_EQ(run, hw_try(unwind_with, (void *)7, &result), 7, "the code of an unwound call");
    EXPECT_EQ(run, result, 42, "the result, which an unwound call leaves alone");
}

CHECK("hw.try.interrupt_flag", SOFTWARE, "", NEED_NOTHING)
{
    uint64_t flags;

    __asm__ volatile("sti");
    hw_try(unwind_with, (void *)1, NULL); /* clears IF on its way */
    flags = rflags_read();
    __asm__ volatile("cli");
    EXPECT(run, flags & RFLAGS_IF, "IF is off after the unwinding");
    hw_try(unwind_with, (void *)1, NULL);
    EXPECT(run, !(rflags_read() & RFLAGS_IF), "IF is on after the unwinding");
}

/* The registers that a C function may expect to find unchanged, with a pattern in each. */
static uint64_t registers_lost(void (*fn)(void))
{
    uint64_t lost = 0;

    __asm__ volatile("push %%rbp\n\t"
                     "mov $0x11, %%ebx\n\tmov $0x12, %%r12d\n\tmov $0x13, %%r13d\n\t"
                     "mov $0x14, %%r14d\n\tmov $0x15, %%r15d\n\tmov $0x16, %%ebp\n\t"
                     "mov %%rsp, %%rdx\n\tand $-16, %%rsp\n\tpush %%rdx\n\tpush %%rdx\n\t"
                     "call *%%rax\n\t"
                     "pop %%rsp\n\t"
                     "sub $0x11, %%rbx\n\tsub $0x12, %%r12\n\tsub $0x13, %%r13\n\t"
                     "sub $0x14, %%r14\n\tsub $0x15, %%r15\n\tsub $0x16, %%rbp\n\t"
                     "or %%rbx, %%rbp\n\tor %%r12, %%rbp\n\tor %%r13, %%rbp\n\t"
                     "or %%r14, %%rbp\n\tor %%r15, %%rbp\n\tmov %%rbp, %%rax\n\t"
                     "pop %%rbp"
                     : "=a"(lost)
                     : "a"(fn)
                     : "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12",
                       "r13", "r14", "r15", "memory", "cc");
    return lost;
}

static void unwind_once(void)
{
    hw_try(unwind_with, (void *)1, NULL);
}

CHECK("hw.try.registers", SOFTWARE, "", NEED_NOTHING)
{
    EXPECT_EQ(run, registers_lost(unwind_once), 0, "bits lost in callee-saved registers");
}

/*
 * Rings 1 and 2 and 32-bit code of ring 0, each entered by IRETQ. The code page is a user page;
 * rings 1 and 2 are supervisor for paging and may run it as long as SMEP is off.
 */
CHECK("hw.tables.rings", SOFTWARE, "", NEED_NOTHING)
{
    static const uint16_t selectors[][2] = {{SELECTOR_USER_CS, SELECTOR_USER_SS},
                                            {SELECTOR_RING1_CS, SELECTOR_RING1_SS},
                                            {SELECTOR_RING2_CS, SELECTOR_RING2_SS},
                                            {SELECTOR_KERNEL32, SELECTOR_KERNEL_SS}};
    struct ring3 r;

    NEED(run, ring3_open(&r), "page pool empty");
    for (unsigned i = 0; i < sizeof(selectors) / sizeof(selectors[0]); i++) {
        struct trap_frame frame = ring3_frame(ring3_cs, false);

        frame.cs = selectors[i][0];
        frame.ss = selectors[i][1];
        if ((frame.cs & 3) == 0) { /* a trap stays on this stack, and 32 bits must reach it */
            frame.rip = (uint64_t)ring3_cs;
            frame.rsp = (uint64_t)cpu_this()->stacks[STACK_RSP0] + KERNEL_STACK_BYTES / 2;
            if ((frame.rip | frame.rsp) >> 32)
                continue;
        }
        user_run(&frame);
        EXPECT_EQ(run, frame.rax, selectors[i][0], "CS as the code saw it");
        EXPECT_EQ(run, frame.cs, selectors[i][0], "CS in the frame");
    }
    ring3_close(&r);
}
