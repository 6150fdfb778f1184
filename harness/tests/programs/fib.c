/* SPDX-License-Identifier: BSD-2-Clause */
/* Recursion in the plainest form; the exit code is a result. */
#include "guest/runtime/runtime.h"

static __attribute__((noinline)) unsigned fib(unsigned n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

int main(int argc, char **argv)
{
    (void)argv;
    return (int)(fib(12 + (unsigned)argc) % 251);
}
