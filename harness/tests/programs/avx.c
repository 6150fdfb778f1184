/* SPDX-License-Identifier: BSD-2-Clause */
/* Uses AVX where the processor has it enabled, and is ended by #UD elsewhere. */
#include "guest/runtime/runtime.h"

static __attribute__((noinline)) unsigned sum_of(unsigned count)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < count; i++)
        sum += i;
    __asm__ volatile("vaddps %%ymm0, %%ymm0, %%ymm0" : : : "xmm0");
    return sum;
}

int main(int argc, char **argv)
{
    (void)argv;
    print_number(sum_of(9 + (unsigned)argc));
    print("\n");
    return 0;
}
