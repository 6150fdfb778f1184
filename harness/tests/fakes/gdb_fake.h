/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that is not one, for the packets' own tests: memory of 8 KiB at a fixed place, runs
 * that end as the test has said, and both directions of the line as byte arrays.
 */
#ifndef HARNESS_TESTS_FAKES_GDB_FAKE_H
#define HARNESS_TESTS_FAKES_GDB_FAKE_H

#include "harness/gdb/stub.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FAKE_BASE  0x401000ull
#define FAKE_BYTES 0x2000u
#define FAKE_LINE  0x200000u
#define FAKE_RING  64u

static struct fake {
    struct gdb gdb;
    uint8_t memory[FAKE_BYTES];
    const uint8_t *in; /* what the debugger sends */
    size_t in_bytes, in_at;
    char out[FAKE_LINE]; /* what it gets */
    size_t out_bytes;
    struct btrace_branch ring[FAKE_RING];
    uint32_t symbols[FAKE_RING + 1];
    char words[64]; /* of the last restart */
    unsigned word_count;
    /* The next runs: where each stops, and how. */
    struct gdb_stop stops[8];
    uint64_t stop_at[8];
    unsigned runs;
    bool stepped[8], int3_seen;
    bool brief; /* runs end before they look at the line */
    const char *no_trace;
} fake;

static size_t fake_clip(uint64_t address, size_t count)
{
    uint64_t offset = address - FAKE_BASE;

    if (offset >= FAKE_BYTES)
        return 0;
    return count < FAKE_BYTES - offset ? count : (size_t)(FAKE_BYTES - offset);
}

static size_t fake_read(void *context, uint64_t address, void *to, size_t count)
{
    size_t good = fake_clip(address, count);

    (void)context;
    if (good)
        memcpy(to, fake.memory + (address - FAKE_BASE), good);
    return good;
}

static bool fake_write(void *context, uint64_t address, const void *from, size_t count)
{
    (void)context;
    if (fake_clip(address, count) != count)
        return false;
    if (count)
        memcpy(fake.memory + (address - FAKE_BASE), from, count);
    return true;
}

static struct gdb_stop fake_resume(void *context, struct gdb *gdb, bool step)
{
    unsigned run = fake.runs++ % 8;

    (void)context;
    fake.stepped[run] = step;
    fake.int3_seen = fake.memory[0x10] == 0xCC;
    if (!fake.brief && gdb_poll(gdb))
        return (struct gdb_stop){GDB_INTERRUPTED, 0, 0};
    if (gdb->trace.on)
        btrace_add(&gdb->trace, gdb->registers.core[GDB_RIP], fake.stop_at[run]);
    gdb->registers.core[GDB_RIP] = fake.stop_at[run];
    return fake.stops[run];
}

static const char *fake_record(void *context, struct btrace_log *log, uint64_t bytes,
                               uint64_t pc)
{
    (void)context;
    if (!fake.no_trace)
        btrace_begin(log, fake.ring, fake.symbols, FAKE_RING, bytes, pc);
    return fake.no_trace;
}

static void fake_record_end(void *context)
{
    (void)context;
}

static bool fake_block_step(void *context, bool on)
{
    (void)context;
    (void)on;
    return true;
}

static bool fake_watch(void *context, unsigned number, uint64_t address, unsigned access,
                       unsigned bytes)
{
    (void)context;
    (void)address;
    (void)access;
    (void)bytes;
    return number < 4;
}

/* Its 8 KiB: a page of code, a page of data. */
static bool fake_mapping(void *context, uint64_t from, struct gdb_mapping *to)
{
    uint64_t page = from < FAKE_BASE ? FAKE_BASE : from & ~0xFFFull;

    (void)context;
    *to = (struct gdb_mapping){page, page + 0x1000, page > FAKE_BASE, page == FAKE_BASE};
    return page < FAKE_BASE + FAKE_BYTES;
}

static const char *fake_restart(void *context, const char *words, unsigned count,
                                struct gdb_registers *registers)
{
    (void)context;
    fake.word_count = count;
    memset(fake.words, 0, sizeof(fake.words));
    for (size_t at = 0; count > 0; count--, at += strlen(words + at) + 1)
        if (at + strlen(words + at) < sizeof(fake.words))
            strcpy(fake.words + at, words + at);
    registers->core[GDB_RIP] = FAKE_BASE;
    return NULL;
}

static int fake_get(void *context)
{
    (void)context;
    return fake.in_at < fake.in_bytes ? fake.in[fake.in_at++] : -1;
}

static void fake_line(void *context, const char *bytes, size_t count)
{
    (void)context;
    /* Kept whole or not at all: a test that fills it looks at its beginning. */
    if (count > FAKE_LINE - fake.out_bytes)
        fake.out_bytes = 0;
    memcpy(fake.out + fake.out_bytes, bytes, count);
    fake.out_bytes += count;
}

static inline void fake_start(void)
{
    static const struct gdb_target target = {.read = fake_read,
                                             .write = fake_write,
                                             .resume = fake_resume,
                                             .record = fake_record,
                                             .record_end = fake_record_end,
                                             .block_step = fake_block_step,
                                             .watch = fake_watch,
                                             .mapping = fake_mapping,
                                             .restart = fake_restart,
                                             .file = (const uint8_t *)"\177ELF}#",
                                             .file_bytes = 6,
                                             .path = "/bin/prog"};
    struct gdb_registers registers = {.core = {[GDB_RIP] = FAKE_BASE, [GDB_RFLAGS] = 0x202}};

    memset(&fake, 0, sizeof(fake));
    for (unsigned i = 0; i < 8; i++) {
        fake.stop_at[i] = FAKE_BASE + 0x100 * (i + 1);
        fake.stops[i] = (struct gdb_stop){GDB_STEPPED, 0, 0};
    }
    gdb_init(&fake.gdb, &target, &registers, fake_get, fake_line, NULL);
}

/* The debugger sends these bytes; everything that comes back stands in fake.out. */
static inline void fake_send(const void *bytes, size_t count)
{
    fake.in = bytes;
    fake.in_bytes = count;
    fake.in_at = 0;
    fake.out_bytes = 0;
    while ((fake.in_at < fake.in_bytes || fake.gdb.waiting) && !fake.gdb.ended)
        gdb_serve(&fake.gdb);
}

/* A payload, framed. */
static inline void fake_packet(const char *payload)
{
    char framed[3 * PACKET_BYTES];
    size_t count = strlen(payload);
    uint8_t sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += (uint8_t)payload[i];
    framed[0] = '$';
    memcpy(framed + 1, payload, count);
    snprintf(framed + 1 + count, 4, "#%02x", sum);
    fake_send(framed, count + 4);
}

/*
 * The next packet from *at of fake.out on, decoded by rules of its own; its payload's length,
 * or -1 when there is none or it is malformed.
 */
static inline long fake_decode(size_t *at, char *payload, size_t room)
{
    size_t used = 0, i = *at;
    unsigned sum = 0, claimed;

    while (i < fake.out_bytes && (fake.out[i] == '+' || fake.out[i] == '-'))
        i++;
    if (i == fake.out_bytes || fake.out[i++] != '$')
        return -1;
    for (; i < fake.out_bytes && fake.out[i] != '#'; i++) {
        char c = fake.out[i];
        size_t copies = 1;

        sum += (uint8_t)c;
        if (c == '$')
            return -1;
        if (c == '}') {
            c = (char)(fake.out[++i] ^ 0x20);
            sum += (uint8_t)fake.out[i];
        } else if (c == '*') {
            if (used == 0 || fake.out[i + 1] < ' ' || fake.out[i + 1] > '~')
                return -1;
            c = payload[used - 1];
            copies = (size_t)fake.out[++i] - 29;
            sum += (uint8_t)fake.out[i];
        }
        if (copies > room - used)
            return -1;
        memset(payload + used, c, copies);
        used += copies;
    }
    if (i + 2 >= fake.out_bytes || sscanf(fake.out + i + 1, "%2x", &claimed) != 1 ||
        claimed != (sum & 0xFF))
        return -1;
    *at = i + 3;
    return (long)used;
}

/* What a packet is answered with, as text. */
static inline const char *fake_answer(const char *payload)
{
    static char text[PACKET_BYTES + 1];
    size_t at = 0;
    long count;

    fake_packet(payload);
    count = fake_decode(&at, text, PACKET_BYTES);
    if (count < 0)
        return "(none)";
    text[count] = 0;
    return text;
}

#endif
