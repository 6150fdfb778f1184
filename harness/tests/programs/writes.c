/* SPDX-License-Identifier: BSD-2-Clause */
/* Many writes of different sizes, one that fills a pipe; wrong ones too. */
#include "guest/runtime/runtime.h"

#define LARGE 60000

static long call(long number, long a, long b, long c)
{
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c)
                     : "rcx", "r11", "memory");
    return result;
}

int main(void)
{
    char *large = allocate(LARGE);

    for (unsigned i = 0; i < 60; i++)
        write_all(1, "0123456789012345678901234567890123456789012345678901234567890", i);
    for (unsigned i = 0; large && i < LARGE; i++)
        large[i] = i % 64 == 63 ? '\n' : (char)('a' + i % 23);
    write_all(1, large, large ? LARGE : 0);
    /* Of nothing, to no stream, of memory that is not there; and a call that is none. */
    return call(1, 1, (long)large, 0) == 0 && call(1, 77, (long)large, 1) == -9 &&
                   call(1, 1, 16, 1) == -14 && call(999, 0, 0, 0) == -38
               ? 0
               : 1;
}
