/* SPDX-License-Identifier: BSD-2-Clause */
/* A sieve in memory of its own that is larger than a page, and no data with values. */
#include "guest/runtime/runtime.h"

static unsigned char crossed[4001];
static unsigned found[1020], count;

static __attribute__((noinline)) void cross(unsigned prime)
{
    found[count++] = prime;
    for (unsigned i = 2 * prime; i < sizeof(crossed); i += prime)
        crossed[i] = 1;
}

int main(void)
{
    for (unsigned i = 2; i < sizeof(crossed); i++)
        if (!crossed[i])
            cross(i);
    print_number(found[count - 1]);
    print("\n");
    return 0;
}
