/* SPDX-License-Identifier: BSD-2-Clause */
/* The loader's unpacker against the lz4 program, and against damaged blocks. */
#include "boot/loader/lz4.h"
#include "harness/tests/unit.h"

#include <unistd.h>

#define ROOM (1u << 20)

static uint8_t plain[ROOM], packed[ROOM + 4096], out[ROOM];

static uint32_t random_state = 20201;
static uint32_t next_random(void)
{
    return random_state = random_state * 1664525 + 1013904223;
}

/* Packs plain[0..bytes) with the program; returns the length of the block in packed[]. */
static size_t pack(size_t bytes)
{
    char in_name[] = "/tmp/lz4-test-XXXXXX", command[128];
    int in = mkstemp(in_name);
    size_t got = 0;
    FILE *pipe;

    if (in < 0 || write(in, plain, bytes) != (ssize_t)bytes)
        return 0;
    close(in);
    snprintf(command, sizeof(command), "lz4 -q -l -12 -c %s", in_name);
    pipe = popen(command, "r");
    if (pipe) {
        got = fread(packed, 1, sizeof(packed), pipe);
        pclose(pipe);
    }
    unlink(in_name);
    /* 8 bytes of container come first. */
    memmove(packed, packed + 8, got < 8 ? 0 : got - 8);
    return got < 8 ? 0 : got - 8;
}

/* Words from a small set and noise, so that there are matches of every distance. */
static void fill(size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        plain[i] = next_random() >> 28 ? "branch trace store"[(i * 7 + (i >> 9)) % 18]
                                       : (uint8_t)(next_random() >> 24);
}

static void agrees_with_the_program(void)
{
    static const size_t sizes[] = {1, 5, 12, 13, 14, 300, 4096, 70000, 400000};

    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        size_t bytes;

        fill(sizes[i]);
        bytes = pack(sizes[i]);
        ASSERT(bytes > 0);
        memset(out, 0xAA, sizeof(out));
        EXPECT_EQ(lz4_unpack(packed, bytes, out, sizes[i]), sizes[i]);
        EXPECT(memcmp(out, plain, sizes[i]) == 0);
        EXPECT_EQ(lz4_unpack(packed, bytes, out, sizes[i] - 1), 0);
    }
    /* One long run: a distance of one, and lengths of many bytes. */
    memset(plain, 'x', 100000);
    EXPECT_EQ(lz4_unpack(packed, pack(100000), out, sizeof(out)), 100000);
    EXPECT(memcmp(out, plain, 100000) == 0);
}

/* Whatever the bytes are, it ends inside both buffers: AddressSanitizer watches. */
static void damaged(void)
{
    size_t bytes, refused = 0;

    fill(3000);
    bytes = pack(3000);
    ASSERT(bytes > 100);
    for (unsigned round = 0; round < 20000; round++) {
        size_t length = 1 + next_random() % bytes;
        uint8_t *block = malloc(length), *to = malloc(3000);

        memcpy(block, packed, length);
        for (unsigned flips = next_random() >> 30; flips > 0; flips--)
            block[next_random() % length] = (uint8_t)(next_random() >> 24);
        refused += lz4_unpack(block, length, to, 3000) != 3000;
        free(block);
        free(to);
    }
    EXPECT(refused > 10000);
    EXPECT_EQ(lz4_unpack(packed, 0, out, sizeof(out)), 0);
}

int main(void)
{
    RUN(agrees_with_the_program);
    RUN(damaged);
    UNIT_END();
}
