/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program to be traced that brings a C library with it: start-up, relocated functions,
 * several names for one address, sorting with a callback.
 */
#include <stdio.h>
#include <stdlib.h>

static int by_value(const void *left, const void *right)
{
    return *(const int *)left - *(const int *)right;
}

int main(void)
{
    int values[40];

    for (int i = 0; i < 40; i++)
        values[i] = i * 7919 % 1009;
    qsort(values, 40, sizeof values[0], by_value);
    printf("%d %d\n", values[0], values[39]);
    return 0;
}
