/* SPDX-License-Identifier: BSD-2-Clause */
/* Recursion through a megabyte of stack, far below what is mapped at the start. */
#include "guest/runtime/runtime.h"

static __attribute__((noinline)) unsigned down(unsigned depth)
{
    volatile char room[200];

    room[depth % 200] = (char)depth;
    return depth ? down(depth - 1) + (unsigned char)room[depth % 200] : 0;
}

int main(void)
{
    print_number(down(5000));
    print("\n");
    return 0;
}
