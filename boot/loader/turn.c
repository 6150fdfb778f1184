/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs on the host while the image is built: turns the distances of calls into addresses, from
 * standard input to standard output, before that is packed.
 */
#include "boot/loader/calls.h"

#include <stdio.h>
#include <stdlib.h>

#define MOST (64u << 20)

int main(void)
{
    uint8_t *bytes = malloc(MOST);
    size_t count = bytes ? fread(bytes, 1, MOST, stdin) : 0;

    if (count == 0 || count == MOST) {
        fprintf(stderr, "turn: nothing to turn, or more than %u bytes\n", MOST);
        return 1;
    }
    calls_turn(bytes, count, 1);
    return fwrite(bytes, 1, count, stdout) != count || fflush(stdout) != 0;
}
