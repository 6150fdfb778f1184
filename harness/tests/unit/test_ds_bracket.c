/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The real ds/bracket.asm, as it goes into the image: WRMSR and RDMSR fault in a user process,
 * and the handler carries them out on one register. Single steps then show every taken branch
 * between the two writes.
 */
#include "ds/bracket.h"
#include "harness/tests/fakes/unit.h"

#include <signal.h>
#include <ucontext.h>

#define TF  0x100
#define ON  0x1122334400C0ull
#define OFF 0x5566778800001ull
#define MSR 0x1D9

static uint64_t msr, written[8], masked;
static unsigned writes, reads;
static bool wrong_msr;

/* Taken branches seen while the register held ON. */
static uint64_t edges[64][2];
static unsigned edge_count;
static uint64_t last;

/* WRMSR is 0F 30, RDMSR 0F 32. */
static void on_fault(int signal, siginfo_t *info, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    const uint8_t *code = (const uint8_t *)registers[REG_RIP];

    (void)info;
    if (code[0] != 0x0F || (code[1] != 0x30 && code[1] != 0x32))
        _Exit(100 + signal);
    wrong_msr |= registers[REG_RCX] != MSR;
    if (code[1] == 0x30) {
        /* The upper halves of RAX and RDX are not looked at. */
        msr = (uint32_t)registers[REG_RAX] | (uint64_t)(uint32_t)registers[REG_RDX] << 32;
        written[writes++ & 7] = msr;
    } else {
        registers[REG_RAX] = (uint32_t)(msr & ~masked);
        registers[REG_RDX] = (uint32_t)((msr & ~masked) >> 32);
        reads++;
    }
    registers[REG_RIP] += 2;
    last = registers[REG_RIP];
}

static unsigned length_between(uint64_t from, uint64_t to)
{
    return to > from && to - from <= 15 ? (unsigned)(to - from) : 0;
}

/* An instruction that does not end within 15 bytes further on has branched. */
static void on_step(int signal, siginfo_t *info, void *context)
{
    uint64_t rip = ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];

    (void)signal;
    (void)info;
    if (msr == ON && last && !length_between(last, rip) && edge_count < 64) {
        edges[edge_count][0] = last;
        edges[edge_count][1] = rip;
        edge_count++;
    }
    last = rip;
}

static void start(void)
{
    struct sigaction fault = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    struct sigaction step = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};

    sigaction(SIGSEGV, &fault, NULL);
    sigaction(SIGTRAP, &step, NULL);
    msr = masked = last = 0;
    writes = reads = edge_count = 0;
    wrong_msr = false;
}

static void step(bool on)
{
    if (on)
        __asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\torq %0, (%%rsp)\n\tpopfq\n\t"
                         "lea 128(%%rsp), %%rsp"
                         :
                         : "i"(TF)
                         : "memory", "cc");
    else
        __asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\tandq %0, (%%rsp)\n\tpopfq\n\t"
                         "lea 128(%%rsp), %%rsp"
                         :
                         : "i"(~TF)
                         : "memory", "cc");
}

static uint64_t calls_of_fn, msr_in_fn;

/* No branch of its own but the RET; arg comes in RDI. It spoils all that it may. */
uint64_t callee(void *arg);
extern const uint8_t callee_ret[];
__asm__(".text\n"
        ".globl callee, callee_ret\n"
        "callee: movq %rsp, stack_copy(%rip)\n"
        "lea 1(%rdi), %rax\n"
        "mov %rax, %rdx\n"
        "shl $32, %rdx\n"
        "or %rdx, %rax\n"
        "mov $-1, %rcx\n mov %rcx, %rdx\n mov %rcx, %rsi\n mov %rcx, %rdi\n"
        "mov %rcx, %r8\n mov %rcx, %r9\n mov %rcx, %r10\n mov %rcx, %r11\n"
        "callee_ret: ret\n"
        ".data\n.globl stack_copy\nstack_copy: .quad 0\n.text\n");
extern uint64_t stack_copy;

static void test_values(void)
{
    start();
    EXPECT_EQ(ds_bracket(ON, OFF, callee, (void *)0x41, MSR), 0x4200000042);
    EXPECT_EQ(writes, 2);
    EXPECT_EQ(written[0], ON);
    EXPECT_EQ(written[1], OFF);
    EXPECT_EQ(reads, 0);
    EXPECT(!wrong_msr);
    /* At a function's first instruction the stack is 8 off a multiple of 16. */
    EXPECT_EQ(stack_copy % 16, 8);
    ds_bracket(UINT64_MAX, 0, callee, NULL, MSR);
    EXPECT_EQ(written[2], UINT64_MAX);
    EXPECT_EQ(written[3], 0);
}

static uint64_t plain(void *arg)
{
    calls_of_fn++;
    msr_in_fn = msr;
    return (uintptr_t)arg * 3;
}

static void test_calls_c(void)
{
    start();
    EXPECT_EQ(ds_bracket(ON, OFF, plain, (void *)14, MSR), 42);
    EXPECT_EQ(calls_of_fn, 1);
    EXPECT_EQ(msr_in_fn, ON);
}

/* rbx, rbp, r12-r15 and rsp, with values that the routine cannot have by chance. */
static void test_preserves(void)
{
    uint64_t got[6], moved;

    start();
    __asm__ volatile("push %%rbp\n\tmov %%rsp, %%r15\n\tsub $256, %%rsp\n\tand $-16, %%rsp\n\t"
                     "push %[got]\n\tpush %%r15\n\t"
                     "mov $0xb1, %%ebx\n\tmov $0xb2, %%ebp\n\tmov $0xb3, %%r12d\n\t"
                     "mov $0xb4, %%r13d\n\tmov $0xb5, %%r14d\n\tmov $0xb6, %%r15d\n\t"
                     "mov %%rsp, %%rax\n\tpush %%rax\n\tpush %%rax\n\t"
                     "mov $0xc0, %%edi\n\txor %%esi, %%esi\n\tlea callee(%%rip), %%rdx\n\t"
                     "mov $5, %%ecx\n\tmov $0x1d9, %%r8d\n\tcall ds_bracket\n\t"
                     "pop %%rax\n\tpop %%rax\n\tsub %%rsp, %%rax\n\t"
                     "mov 8(%%rsp), %%rcx\n\t"
                     "mov %%rbx, (%%rcx)\n\tmov %%rbp, 8(%%rcx)\n\tmov %%r12, 16(%%rcx)\n\t"
                     "mov %%r13, 24(%%rcx)\n\tmov %%r14, 32(%%rcx)\n\tmov %%r15, 40(%%rcx)\n\t"
                     "pop %%r15\n\tmov %%r15, %%rsp\n\tpop %%rbp\n\t"
                     : "=a"(moved)
                     : [got] "c"(got)
                     : "rbx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13",
                       "r14", "r15", "memory", "cc");
    for (unsigned i = 0; i < 6; i++)
        EXPECT_EQ(got[i], 0xB1 + i);
    EXPECT_EQ(moved, 0);
}

/* Exactly: CALL to fn, fn's RET. */
static void test_two_edges(void)
{
    start();
    step(true);
    ds_bracket(ON, OFF, callee, NULL, MSR);
    step(false);
    ASSERT(edge_count == 2);
    EXPECT_EQ(edges[0][0], (uintptr_t)ds_bracket_call);
    EXPECT_EQ(edges[0][1], (uintptr_t)callee);
    EXPECT_EQ(edges[1][0], (uintptr_t)callee_ret);
    EXPECT_EQ(edges[1][1], (uintptr_t)ds_bracket_return);
    EXPECT_EQ(written[1], OFF);
}

static void test_flip(void)
{
    start();
    masked = 0x1100000080;
    step(true);
    EXPECT_EQ(ds_bracket_flip(ON, OFF, MSR), ON & ~masked);
    step(false);
    EXPECT_EQ(writes, 2);
    EXPECT_EQ(written[0], ON);
    EXPECT_EQ(written[1], OFF);
    EXPECT_EQ(reads, 1);
    EXPECT_EQ(edge_count, 0);
    EXPECT(!wrong_msr);
}

/* Exactly the one JMP. */
static void test_one(void)
{
    start();
    step(true);
    ds_bracket_one(ON, OFF, MSR);
    step(false);
    EXPECT_EQ(writes, 2);
    EXPECT_EQ(written[0], ON);
    EXPECT_EQ(written[1], OFF);
    ASSERT(edge_count == 1);
    EXPECT_EQ(edges[0][0], (uintptr_t)ds_bracket_one_from);
    EXPECT_EQ(edges[0][1], (uintptr_t)ds_bracket_one_to);
    EXPECT(!wrong_msr);
}

int main(void)
{
    RUN(test_values);
    RUN(test_calls_c);
    RUN(test_preserves);
    RUN(test_two_edges);
    RUN(test_flip);
    RUN(test_one);
    UNIT_END();
}
