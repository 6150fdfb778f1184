/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unpacking one LZ4 block: a sequence is a token (two lengths of four bits), more bytes of the
 * first length, literals, a 16-bit distance back, more bytes of the second length. The last
 * sequence ends with its literals.
 */
#include "boot/loader/lz4.h"

#include <stdbool.h>

#define MORE        15u /* a length of four bits that goes on in the next bytes */
#define MATCH_LEAST 4u

struct input {
    const uint8_t *at, *end;
};

/* False when the input ends inside the length. */
static bool read_length(struct input *in, unsigned four_bits, size_t *length)
{
    uint8_t more;

    *length = four_bits;
    if (four_bits < MORE)
        return true;
    do {
        if (in->at == in->end)
            return false;
        more = *in->at++;
        *length += more;
    } while (more == 255);
    return true;
}

size_t lz4_unpack(const uint8_t *from, size_t bytes, uint8_t *to, size_t room)
{
    struct input in = {from, from + bytes};
    size_t used = 0, length, distance;
    uint8_t token;

    while (in.at < in.end) {
        token = *in.at++;
        if (!read_length(&in, token >> 4, &length) || length > (size_t)(in.end - in.at) ||
            length > room - used)
            return 0;
        for (; length > 0; length--)
            to[used++] = *in.at++;
        if (in.at == in.end)
            return used;
        if (in.end - in.at < 2)
            return 0;
        distance = in.at[0] | (size_t)in.at[1] << 8;
        in.at += 2;
        if (!read_length(&in, token & 15, &length))
            return 0;
        length += MATCH_LEAST;
        if (distance == 0 || distance > used || length > room - used)
            return 0;
        /* Byte by byte: a distance shorter than the length repeats what is just being made. */
        for (; length > 0; length--, used++)
            to[used] = to[used - distance];
    }
    return 0;
}
