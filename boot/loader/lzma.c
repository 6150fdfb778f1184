/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unpacking one .lzma file: a range coder gives bits, each by an adaptive chance, and the bits
 * make literals, matches (length, new distance) and matches at one of the last four distances.
 * Short before fast: it runs once, on less than a megabyte.
 */
#include "boot/loader/lzma.h"

#include <stdbool.h>

enum {
    HEADER_BYTES = 13, /* properties, 4 bytes of window size, 8 bytes of length */
    CODER_BYTES = 5,
    MATCH_LEAST = 2,
    FIRST_ALIGNED_SLOT = 14, /* from here on distances have bits of an even chance */
};

#define END_MARK    0xFFFFFFFFu
#define EVEN_CHANCE 1024
#define RANGE_LEAST (1u << 24)

struct unpacker {
    const uint8_t *at, *end;
    uint32_t range, code;
    bool ran_out;
    uint8_t *to;
    size_t used, room;
    unsigned literal_bits, literal_mask, position_mask;
    unsigned state;       /* what the last few were: below 7, the last was a literal */
    uint32_t distance[4]; /* the newest first, each less one */
    struct lzma_chances *chances;
};

static void refill(struct unpacker *u)
{
    if (u->range >= RANGE_LEAST)
        return;
    u->range <<= 8;
    u->code <<= 8;
    /* Zeros behind the end: the loop that asks ends at `ran_out`. */
    if (u->at == u->end)
        u->ran_out = true;
    else
        u->code |= *u->at++;
}

static unsigned read_bit(struct unpacker *u, uint16_t *chance)
{
    uint32_t bound;

    refill(u);
    bound = (u->range >> 11) * *chance;
    if (u->code < bound) {
        u->range = bound;
        *chance += (2048 - *chance) >> 5;
        return 0;
    }
    u->range -= bound;
    u->code -= bound;
    *chance -= *chance >> 5;
    return 1;
}

static uint32_t read_even(struct unpacker *u, unsigned bits)
{
    uint32_t value = 0;

    for (; bits > 0; bits--) {
        refill(u);
        u->range >>= 1;
        value <<= 1;
        if (u->code >= u->range) {
            u->code -= u->range;
            value |= 1;
        }
    }
    return value;
}

/* The highest bit first; what came before chooses the chance. */
static unsigned read_tree(struct unpacker *u, uint16_t *chances, unsigned bits)
{
    unsigned node = 1;

    for (unsigned i = 0; i < bits; i++)
        node = node << 1 | read_bit(u, &chances[node]);
    return node - (1u << bits);
}

static unsigned read_tree_low_first(struct unpacker *u, uint16_t *chances, unsigned bits)
{
    unsigned node = 1, value = 0, bit;

    for (unsigned i = 0; i < bits; i++) {
        bit = read_bit(u, &chances[node]);
        node = node << 1 | bit;
        value |= bit << i;
    }
    return value;
}

static void read_literal(struct unpacker *u)
{
    unsigned before = u->used ? u->to[u->used - 1] : 0, symbol = 1, matched, bit;
    unsigned context = (((unsigned)u->used & u->literal_mask) << u->literal_bits) +
                       (before >> (8 - u->literal_bits));
    uint16_t *chances = u->chances->literal[context];

    /* Right after a match it is likely not the byte that would have gone on with it. */
    if (u->state >= 7) {
        matched = u->to[u->used - u->distance[0] - 1];
        do {
            bit = read_bit(u, &chances[(1 + (matched >> 7 & 1)) * 0x100 + symbol]);
            symbol = symbol << 1 | bit;
            if ((matched >> 7 & 1) != bit)
                break;
            matched <<= 1;
        } while (symbol < 0x100);
    }
    while (symbol < 0x100)
        symbol = symbol << 1 | read_bit(u, &chances[symbol]);
    u->to[u->used++] = (uint8_t)symbol;
    u->state = u->state < 4 ? 0 : u->state - (u->state < 10 ? 3 : 6);
}

/* Less MATCH_LEAST. */
static unsigned read_length(struct unpacker *u, struct lzma_lengths *chances, unsigned position)
{
    if (!read_bit(u, &chances->beyond_low))
        return read_tree(u, chances->low[position], 3);
    if (!read_bit(u, &chances->beyond_middle))
        return 8 + read_tree(u, chances->middle[position], 3);
    return 16 + read_tree(u, chances->high, 8);
}

static uint32_t read_distance(struct unpacker *u, unsigned length)
{
    unsigned slot = read_tree(u, u->chances->slot[length < 3 ? length : 3], 6);
    unsigned bits = (slot >> 1) - 1;
    uint32_t distance;

    if (slot < 4)
        return slot;
    distance = (2u | (slot & 1)) << bits;
    if (slot < FIRST_ALIGNED_SLOT)
        return distance + read_tree_low_first(u, &u->chances->special[distance - slot], bits);
    distance += read_even(u, bits - 4) << 4;
    return distance + read_tree_low_first(u, u->chances->align, 4);
}

/* One of the last four distances becomes the newest. True for the match of a single byte. */
static bool read_repeat(struct unpacker *u, unsigned position)
{
    struct lzma_chances *chances = u->chances;
    uint32_t chosen;
    unsigned which;

    if (!read_bit(u, &chances->is_older[u->state]))
        return !read_bit(u, &chances->is_long[u->state][position]);
    which = 1;
    if (read_bit(u, &chances->is_third[u->state]))
        which = 2 + read_bit(u, &chances->is_fourth[u->state]);
    chosen = u->distance[which];
    for (; which > 0; which--)
        u->distance[which] = u->distance[which - 1];
    u->distance[0] = chosen;
    return false;
}

/* Sets the distance and returns the length; 0 at the end mark. */
static unsigned read_match(struct unpacker *u, unsigned position)
{
    unsigned length;

    if (read_bit(u, &u->chances->is_repeat[u->state])) {
        if (read_repeat(u, position)) {
            u->state = u->state < 7 ? 9 : 11;
            return 1;
        }
        length = read_length(u, &u->chances->repeat, position);
        u->state = u->state < 7 ? 8 : 11;
        return MATCH_LEAST + length;
    }
    for (unsigned i = 3; i > 0; i--)
        u->distance[i] = u->distance[i - 1];
    length = read_length(u, &u->chances->match, position);
    u->distance[0] = read_distance(u, length);
    u->state = u->state < 7 ? 7 : 10;
    return u->distance[0] == END_MARK ? 0 : MATCH_LEAST + length;
}

/* False when what was read cannot be in a file, or would not fit. */
static bool read_one(struct unpacker *u, bool *ended)
{
    unsigned position = (unsigned)u->used & u->position_mask, length;

    if (!read_bit(u, &u->chances->is_match[u->state][position])) {
        if (u->used == u->room)
            return false;
        read_literal(u);
        return true;
    }
    length = read_match(u, position);
    if (length == 0) {
        *ended = true;
        return true;
    }
    if (u->distance[0] >= u->used || length > u->room - u->used)
        return false;
    /* Byte by byte: a distance shorter than the length repeats what is just being made. */
    for (; length > 0; length--, u->used++)
        u->to[u->used] = u->to[u->used - u->distance[0] - 1];
    return true;
}

/* False when the file says what this unpacker or the format does not have. */
static bool read_header(struct unpacker *u)
{
    unsigned properties;

    if (u->end - u->at < HEADER_BYTES + CODER_BYTES)
        return false;
    properties = u->at[0];
    if (properties >= 9 * 5 * 5)
        return false;
    u->literal_bits = properties % 9;
    u->literal_mask = (1u << properties / 9 % 5) - 1;
    u->position_mask = (1u << properties / 45) - 1;
    if (u->literal_bits + properties / 9 % 5 > 4)
        return false;
    /* The length must be "unknown": the end mark stands for it. */
    for (unsigned i = 5; i < HEADER_BYTES; i++)
        if (u->at[i] != 0xFF)
            return false;
    u->at += HEADER_BYTES;
    if (*u->at++ != 0)
        return false;
    for (unsigned i = 1; i < CODER_BYTES; i++)
        u->code = u->code << 8 | *u->at++;
    return true;
}

size_t lzma_unpack(const uint8_t *from, size_t bytes, uint8_t *to, size_t room,
                   struct lzma_chances *chances)
{
    struct unpacker u = {.at = from,
                         .end = from + bytes,
                         .range = 0xFFFFFFFFu,
                         .to = to,
                         .room = room,
                         .chances = chances};
    uint16_t *chance = (uint16_t *)chances;
    bool ended = false;

    if (!read_header(&u))
        return 0;
    for (size_t i = 0; i < sizeof(*chances) / sizeof(*chance); i++)
        chance[i] = EVEN_CHANCE;
    while (!ended)
        if (!read_one(&u, &ended) || u.ran_out)
            return 0;
    /* A sound file leaves nothing behind, neither of bytes nor in the coder. */
    refill(&u);
    return u.code == 0 && u.at == u.end && !u.ran_out ? u.used : 0;
}
