/* SPDX-License-Identifier: BSD-2-Clause */
/* The loader's unpacker against the xz program, and against damaged files. */
#include "boot/loader/calls.h"
#include "boot/loader/lzma.h"
#include "harness/tests/fakes/unit.h"

#include <unistd.h>

#define ROOM (1u << 20)

static struct lzma_chances chances;
static uint8_t plain[ROOM], packed[ROOM + 4096], out[ROOM];

static uint32_t random_state = 20201;
static uint32_t next_random(void)
{
    return random_state = random_state * 1664525 + 1013904223;
}

/* Packs plain[0..bytes) with the program; returns the length of the file in packed[]. */
static size_t pack(size_t bytes, const char *options)
{
    char in_name[] = "/tmp/lzma-test-XXXXXX", command[160];
    int in = mkstemp(in_name);
    size_t got = 0;
    FILE *pipe;

    if (in < 0 || write(in, plain, bytes) != (ssize_t)bytes)
        return 0;
    close(in);
    snprintf(command, sizeof(command), "xz --format=lzma --lzma1=%s -c %s", options, in_name);
    pipe = popen(command, "r");
    if (pipe) {
        got = fread(packed, 1, sizeof(packed), pipe);
        pclose(pipe);
    }
    unlink(in_name);
    return got;
}

static size_t unpack(const uint8_t *from, size_t bytes, uint8_t *to, size_t room)
{
    return lzma_unpack(from, bytes, to, room, &chances);
}

/* Words from a small set and noise, so that there are matches of every distance. */
static void fill(size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        plain[i] = next_random() >> 28 ? "branch trace store"[(i * 7 + (i >> 9)) % 18]
                                       : (uint8_t)(next_random() >> 24);
}

/* The program's files for each layout of chances, and one byte of room too little. */
static void agrees(size_t bytes)
{
    static const char *const layouts[] = {"preset=9e", "lc=0,lp=0,pb=0", "lc=4,lp=0,pb=4",
                                          "lc=0,lp=4,pb=1", "lc=2,lp=2,pb=0"};

    for (unsigned i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
        size_t length = pack(bytes, layouts[i]);

        ASSERT(length > 0);
        memset(out, 0xAA, sizeof(out));
        EXPECT_EQ(unpack(packed, length, out, bytes), bytes);
        EXPECT(memcmp(out, plain, bytes) == 0);
        EXPECT_EQ(unpack(packed, length, out, bytes - 1), 0);
        EXPECT_EQ(unpack(packed, length - 1, out, bytes), 0);
    }
}

static void agrees_with_the_program(void)
{
    static const size_t sizes[] = {1, 5, 14, 300, 4096, 70000, 400000};
    FILE *self = fopen("/proc/self/exe", "rb");
    size_t bytes;

    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        fill(sizes[i]);
        agrees(sizes[i]);
    }
    /* One long run: a distance of one, and the longest lengths. */
    memset(plain, 'x', 100000);
    agrees(100000);
    /* What it is for: code. */
    ASSERT(self);
    bytes = fread(plain, 1, sizeof(plain), self);
    fclose(self);
    ASSERT(bytes > 10000);
    agrees(bytes);
}

/* What firmware would read as a file but the format does not have. */
static void wrong_headers(void)
{
    size_t length;

    fill(300);
    length = pack(300, "preset=9e");
    ASSERT(length > 20);
    for (unsigned at = 0; at < 14; at++) {
        uint8_t kept = packed[at];

        if (at >= 1 && at <= 4)
            continue; /* the window's size is of no interest: all output is at hand */
        packed[at] = at == 0 ? 225 : 1;
        EXPECT_EQ(unpack(packed, length, out, 300), 0);
        packed[at] = kept;
    }
    EXPECT_EQ(unpack(packed, 17, out, 300), 0);
    EXPECT_EQ(unpack(packed, length, out, 300), 300);
}

/* Whatever the bytes are, it ends inside both buffers: AddressSanitizer watches. */
static void damaged(void)
{
    size_t bytes, refused = 0;

    fill(3000);
    bytes = pack(3000, "preset=9e");
    ASSERT(bytes > 100);
    for (unsigned round = 0; round < 20000; round++) {
        size_t length = 1 + next_random() % bytes;
        uint8_t *file = malloc(length), *to = malloc(3000);

        memcpy(file, packed, length);
        for (unsigned flips = next_random() >> 30; flips > 0; flips--)
            file[next_random() % length] = (uint8_t)(next_random() >> 24);
        refused += unpack(file, length, to, 3000) != 3000;
        free(file);
        free(to);
    }
    EXPECT(refused > 10000);
    EXPECT_EQ(unpack(packed, 0, out, sizeof(out)), 0);
}

/* Bytes in which much looks like a call: every one comes back, and nothing behind the end. */
static void calls_come_back(void)
{
    static const uint8_t likely[] = {0xE8, 0xE9, 0x00, 0xFF, 0x7F, 0x80, 0x01, 0xEA};
    unsigned changed = 0;

    for (unsigned round = 0; round < 200; round++) {
        size_t count = next_random() % 5000;

        for (size_t i = 0; i < 6000; i++)
            plain[i] = out[i] = likely[next_random() >> 16 & 7];
        calls_turn(out, count, 1);
        changed += memcmp(out, plain, count) != 0;
        EXPECT(memcmp(out + count, plain + count, 6000 - count) == 0);
        calls_turn(out, count, -1);
        EXPECT(memcmp(out, plain, 6000) == 0);
    }
    EXPECT(changed > 190);
}

int main(void)
{
    RUN(agrees_with_the_program);
    RUN(wrong_headers);
    RUN(damaged);
    RUN(calls_come_back);
    UNIT_END();
}
