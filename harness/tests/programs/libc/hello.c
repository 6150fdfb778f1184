/* SPDX-License-Identifier: BSD-2-Clause */
/* The smallest program of a C library. */
#include <stdio.h>

int main(void)
{
    printf("hello %d\n", 42);
    return 0;
}
