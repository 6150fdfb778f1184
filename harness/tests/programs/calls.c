/* SPDX-License-Identifier: BSD-2-Clause */
/* A switch that becomes a table of jumps, and calls through a table of functions. */
#include "guest/runtime/runtime.h"

static __attribute__((noinline)) unsigned choose(unsigned which, unsigned x)
{
    switch (which) {
    case 0:
        return x + 3;
    case 1:
        return x ^ 0x55;
    case 2:
        return x * 7;
    case 3:
        return x >> 1;
    case 4:
        return x - 11;
    case 5:
        return ~x;
    case 6:
        return x << 3;
    case 7:
        return x | 0x101;
    default:
        return 1;
    }
}

static unsigned twice(unsigned x)
{
    return 2 * x;
}
static unsigned less(unsigned x)
{
    return x - 1;
}
static unsigned swapped(unsigned x)
{
    return x << 16 | x >> 16;
}

static unsigned (*volatile functions[])(unsigned) = {twice, less, swapped};

int main(void)
{
    unsigned x = 1;

    for (unsigned i = 0; i < 900; i++) {
        x = choose((x >> 4 ^ i) % 10, x);
        x = functions[x % 3](x);
    }
    print_number(x);
    print("\n");
    return (int)(x & 0x7F);
}
