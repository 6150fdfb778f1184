/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes to a constant at the end: a page fault that the trace must lead to. */
#include "guest/runtime/runtime.h"

static const unsigned table[16] = {3, 1, 2};

static __attribute__((noinline)) void spoil(volatile unsigned *at, unsigned index)
{
    at[index] = 7;
}

int main(int argc, char **argv)
{
    unsigned sum = 0;

    (void)argv;
    for (unsigned i = 0; i < 16; i++)
        sum += ((volatile const unsigned *)table)[i];
    print("before\n");
    spoil((volatile unsigned *)table, sum - 5 - (unsigned)argc + 1);
    print("never\n");
    return 0;
}
