/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Three functions that share a program's time 70 to 20 to 10, called by two ways: something for
 * a profiler to find out. Its argument is how often.
 */
#include "guest/runtime/runtime.h"

#define UNITS 10 /* turns of a loop for each part in a hundred */

static volatile unsigned sink;

/* The same loop in each, so that their instructions are in proportion to its turns. */
#define WORK(parts)                                                                            \
    do {                                                                                       \
        unsigned value = sink;                                                                 \
        for (unsigned i = 0; i < (parts)*UNITS; i++)                                           \
            value = value * 3 + (value & i);                                                   \
        sink = value;                                                                          \
    } while (0)

__attribute__((noinline)) static void seventy(void)
{
    WORK(70);
}

__attribute__((noinline)) static void twenty(void)
{
    WORK(20);
}

__attribute__((noinline)) static void ten(void)
{
    WORK(10);
}

__attribute__((noinline)) static void often(void)
{
    seventy();
    ten();
    sink++; /* no tail call above */
}

__attribute__((noinline)) static void seldom(void)
{
    twenty();
    sink++;
}

static unsigned number(const char *text)
{
    unsigned value = 0;

    for (; *text >= '0' && *text <= '9'; text++)
        value = value * 10 + (unsigned)(*text - '0');
    return value;
}

int main(int argc, char **argv)
{
    unsigned rounds = argc > 1 ? number(argv[1]) : 100;

    for (unsigned i = 0; i < rounds; i++) {
        often();
        seldom();
    }
    print("done\n");
    return 0;
}
