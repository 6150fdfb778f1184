/* SPDX-License-Identifier: BSD-2-Clause */
/* Signals that a program sends to itself, with a handler; where there are none it says 1. */
#include "guest/runtime/runtime.h"

#define COUNT 20

enum { CALL_SIGACTION = 13, CALL_GETPID = 39, CALL_KILL = 62 };
enum { USER_SIGNAL = 10, RESTORER = 0x04000000 };

struct action {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)(void);
    unsigned long mask;
};

static volatile unsigned handled;

static long call(long number, long a, long b, long c, long d)
{
    register long r10 __asm__("r10") = d;
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
                     : "rcx", "r11", "memory");
    return result;
}

static void handler(int number)
{
    handled += number == USER_SIGNAL ? 1 : 1000;
}

/* The kernel lets a handler return to here, with its frame at the stack pointer. */
void restorer(void);
__asm__(".text\n"
        ".type restorer, @function\n"
        "restorer: mov $15, %eax\n" /* rt_sigreturn */
        "syscall\n"
        ".size restorer, . - restorer\n");

int main(void)
{
    const struct action action = {handler, RESTORER, restorer, 0};
    long process = call(CALL_GETPID, 0, 0, 0, 0);

    if (call(CALL_SIGACTION, USER_SIGNAL, (long)&action, 0, sizeof action.mask) != 0)
        return 1;
    for (unsigned i = 0; i < COUNT; i++)
        call(CALL_KILL, process, USER_SIGNAL, 0, 0);
    return handled == COUNT ? 0 : 2;
}
