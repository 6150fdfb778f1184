/* SPDX-License-Identifier: BSD-2-Clause */
/* A loop of a million branches, or of as many as the first word says. */
#include "guest/runtime/runtime.h"

int main(int argc, char **argv)
{
    uint64_t rounds = 1000000, sum = 0;

    if (argc > 1)
        for (rounds = 0; *argv[1]; argv[1]++)
            rounds = rounds * 10 + (uint64_t)(*argv[1] - '0');
    for (uint64_t i = 0; i < rounds; i++) {
        sum += i ^ 5;
        __asm__ volatile("" : "+r"(sum)); /* or the compiler computes the sum itself */
    }
    print("sum ");
    print_number(sum);
    print("\n");
    return 0;
}
