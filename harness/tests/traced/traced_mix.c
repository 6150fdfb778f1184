/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program to be traced: every kind of near branch, recursion, tail calls, longjmp, a signal
 * handler, string instructions, system calls. Without a C library; the first argument says how
 * many rounds.
 */
#include <stddef.h>
#include <stdint.h>

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

static volatile unsigned sink;

NOINLINE static long system_call(long number, long a, long b, long c, long d)
{
    register long r10 __asm__("r10") = d;
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
                     : "rcx", "r11", "memory");
    return result;
}

NOINLINE static unsigned fib(unsigned n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

NOINLINE static unsigned odd(unsigned n);

NOINLINE static unsigned even(unsigned n)
{
    return n == 0 ? 1 : odd(n - 1);
}

NOINLINE static unsigned odd(unsigned n)
{
    return n == 0 ? 0 : even(n - 1);
}

NOINLINE static unsigned leaf(unsigned n)
{
    return n * 3 + sink;
}

NOINLINE static unsigned tail(unsigned n)
{
    sink = n;
    return leaf(n + 1);
}

NOINLINE static unsigned choose(unsigned op, unsigned value)
{
    switch (op) {
    case 0:
        return leaf(value);
    case 1:
        return value * 5;
    case 2:
        return tail(value);
    case 3:
        return value >> 1;
    case 4:
        return even(value % 7);
    case 5:
        return ~value;
    default:
        return value ^ 0x55;
    }
}

static void *jump_buffer[5];

NOINLINE static void thrower(unsigned n)
{
    if (n == 0)
        __builtin_longjmp(jump_buffer, 1);
    thrower(n - 1);
    sink++;
}

NOINLINE static unsigned catcher(unsigned n)
{
    if (__builtin_setjmp(jump_buffer))
        return n;
    thrower(3);
    return 0;
}

NOINLINE static void strings(void)
{
    static char from[40] = "some text", to[40];
    char *source = from, *target = to;
    unsigned long count = sizeof from;

    __asm__ volatile("rep movsb" : "+S"(source), "+D"(target), "+c"(count) : : "memory");
    count = 5;
    __asm__ volatile("1: loop 1b\n    jrcxz 2f\n    nop\n2:" : "+c"(count));
}

/* --- a signal handler; the frame is the kernel's */

struct action {
    void (*handler)(int, void *, uint64_t *);
    unsigned long flags;
    void (*restorer)(void);
    unsigned long mask;
};

void restorer(void);

__asm__(".globl restorer\n"
        ".type restorer, @function\n"
        "restorer:\n"
        "    mov $15, %eax\n"
        "    syscall\n"
        ".size restorer, . - restorer\n");

#define SIGNAL_ILL   4
#define SA_WITH_INFO 0x4
#define SA_RESTORER  0x04000000
#define CONTEXT_RIP  (5 + 16) /* in 64-bit words of the context */

static void handler(int signal, void *info, uint64_t *context)
{
    (void)info;
    sink += (unsigned)signal;
    context[CONTEXT_RIP] += 2;
}

NOINLINE static void faulting(void)
{
    __asm__ volatile("ud2");
    sink++;
}

NOINLINE static void handle_signals(void)
{
    static struct action action = {handler, SA_WITH_INFO | SA_RESTORER, restorer, 0};

    system_call(13, SIGNAL_ILL, (long)&action, 0, 8);
    faulting();
}

NOINLINE static unsigned never(unsigned n)
{
    return n ? fib(n) : 1;
}

NOINLINE static unsigned round_of(unsigned number)
{
    unsigned (*volatile indirect)(unsigned, unsigned) = choose;
    unsigned value = number;

    for (unsigned i = 0; i < 9; i++)
        value = indirect(i, value);
    value += fib(5) + catcher(number);
    strings();
    if (value == 0x12345678)
        value = never(value);
    return value;
}

NOINLINE static unsigned rounds(unsigned count)
{
    unsigned value = 0;

    for (unsigned i = 0; i < count; i++)
        value += round_of(i);
    return value;
}

NOINLINE static unsigned to_number(const char *text)
{
    unsigned value = 0;

    while (*text)
        value = value * 10 + (unsigned)(*text++ - '0');
    return value;
}

void start_c(long *stack)
{
    static const char text[] = "rounds done\n";
    unsigned count = stack[0] > 1 ? to_number((const char *)stack[2]) : 3;

    handle_signals();
    sink = rounds(count);
    system_call(1, 1, (long)text, sizeof text - 1, 0);
    system_call(60, 7, 0, 0, 0);
}
