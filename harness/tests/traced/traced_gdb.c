/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program to be debugged: calls, recursion, loops, a system call on the way, and an end with
 * the exit code 7. Given an argument, it first waits in a loop for a variable to be set; given
 * two, in one of a single line.
 */
#define NOINLINE __attribute__((noinline, noclone))

void start_c(long *stack);

__asm__(".globl _start\n"
        ".type _start, @function\n"
        "_start:\n"
        "    mov %rsp, %rdi\n"
        "    and $-16, %rsp\n"
        "    call start_c\n"
        "    ud2\n"
        ".size _start, . - _start\n");

volatile int go_on, result;

NOINLINE static long system_call(long number, long a, const void *b, long c)
{
    long value;

    __asm__ volatile("syscall"
                     : "=a"(value)
                     : "a"(number), "D"(a), "S"(b), "d"(c)
                     : "rcx", "r11", "memory");
    return value;
}

NOINLINE static int leaf(int x)
{
    return x & 1 ? 3 * x + 1 : x / 2;
}

NOINLINE static int collatz(int x)
{
    int steps = 0;

    for (; x != 1; steps++)
        x = leaf(x);
    return steps;
}

NOINLINE static int depth(int n)
{
    return n == 0 ? 0 : n + depth(n - 1);
}

NOINLINE static void finish(int v)
{
    result = v;
}

NOINLINE static int spin(void)
{
    int rounds = 0;

    while (!go_on)
        rounds++;
    return rounds;
}

NOINLINE static void idle(void)
{
    __asm__ volatile("1: cmpl $0, go_on(%rip)\n\t  je 1b");
}

void start_c(long *stack)
{
    int v;

    if (stack[0] > 2)
        idle();
    else if (stack[0] > 1)
        spin();
    v = collatz(6);
    system_call(1, 1, "collatz\n", 8);
    v += depth(4);
    finish(v);
    for (int i = 2; i < 40; i++)
        v += collatz(i);
    finish(v);
    system_call(60, 7, 0, 0);
}
