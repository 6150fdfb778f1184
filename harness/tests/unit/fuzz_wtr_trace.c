/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzz entry of everything in wtr that reads a trace: the file, its records, and every command
 * on top. Of the input's first byte bit 0 asks for checks to be put right first, so that damage
 * gets past them into the bodies. Every image gets the program that the environment's WTR_ELF
 * names, whatever the trace says. With libFuzzer:
 *
 *     python3 harness/tests/system/wtr_seeds.py SEEDS
 *     clang -g -O1 -fsanitize=fuzzer,address,undefined -I. -DWAYMARK_HOST -o fuzz \
 *         harness/tests/unit/fuzz_wtr_trace.c $(ls harness/wtr/[!m]*.c | grep -v space_files) \
 *         harness/oracle/decode.c -ldw -lelf
 *     WTR_ELF=traced/mix ./fuzz SEEDS
 *
 * Built as a unit test it brings its own main, which spoils traces of its own making.
 */
#include "harness/tracefile/wtr_write.h"
#include "harness/wtr/commands/cmd_profile.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct program program;

/* Instead of space_files.c. */
bool space_open_files(struct space *space)
{
    if (!program.bytes && getenv("WTR_ELF"))
        program_open(&program, getenv("WTR_ELF"));
    for (size_t i = 0; program.bytes && i < space->images.count; i++)
        space->images.items[i].program = &program;
    return true;
}

bool space_complete(const struct space *space)
{
    return space->images.count != 0;
}

static void put_right(uint8_t *bytes, size_t size)
{
    size_t at = sizeof(struct wtr_file_header);

    if (size < at)
        return;
    memcpy(bytes, WTR_MAGIC, 8);
    memset(bytes + 76, 0, 4);
    bytes[8] = WTR_MAJOR;
    bytes[9] = 0;
    memcpy(bytes + 12, &(uint32_t){at}, 4);
    memcpy(bytes + 76, &(uint32_t){wtr_check(bytes, at)}, 4);
    while (size - at >= sizeof(struct wtr_record)) {
        struct wtr_record record;

        memcpy(&record, bytes + at, sizeof record);
        record.bytes &= ~7u;
        if (record.bytes < sizeof record || record.bytes > size - at)
            record.bytes = (uint32_t)(size - at) & ~7u;
        record.check = 0;
        memcpy(bytes + at, &record, sizeof record);
        record.check = wtr_check(bytes + at, record.bytes);
        memcpy(bytes + at, &record, sizeof record);
        at += record.bytes;
    }
}

static bool fold_samples(struct session *session)
{
    profile_fold(session, true);
    return true;
}

static bool (*const all_commands[])(struct session *) = {
    command_profile, fold_samples, perf_profile,     command_info, command_list,
    command_tree,    command_fold, command_coverage, command_lcov, command_html,
    command_perf,    perf_samples, command_output,   command_check};

static void run_all(struct session *session)
{
    for (size_t i = 0; i < sizeof all_commands / sizeof *all_commands; i++)
        all_commands[i](session);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *nowhere;
    static struct session session;
    struct options options = {.path = "fuzz", .out = "fuzz", .depth = 20, .every = 8};
    uint8_t *bytes;
    bool partial;

    if (!size || size > 1 << 20)
        return 0;
    complaints_muted = true;
    nowhere = nowhere ? nowhere : fopen("/dev/null", "wb");
    bytes = malloc(size);
    memcpy(bytes, data + 1, size - 1);
    if (data[0] & 1)
        put_right(bytes, size - 1);
    options.raw = data[0] & 2;
    options.all = data[0] & 4;
    options.task = data[0] & 8 ? 2 : 0;
    session = (struct session){.options = &options, .text = {.stream = nowhere}};
    if (!trace_adopt(&session.trace, "fuzz", bytes, size - 1))
        return 0;
    partial = !trace_whole(&session.trace);
    session.partial = partial;
    if (space_open(&session.space, &session.trace, options.elf)) {
        run_all(&session);
        space_close(&session.space);
    }
    trace_close(&session.trace);
    return 0;
}

#ifdef FUZZ_MAIN
#include "harness/tests/fakes/unit.h"
#include "harness/tests/fakes/wtr_sample.h"

#define ROUNDS 3000

static uint64_t state = 0x243F6A8885A308D3;

static uint32_t any(uint32_t below)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(state >> 33) % below;
}

/* A few bytes changed, a piece cut out or doubled. */
static size_t spoil(uint8_t *bytes, size_t size)
{
    for (uint32_t i = any(6); i > 0; i--)
        bytes[any((uint32_t)size)] = (uint8_t)any(256);
    if (any(3) == 0)
        bytes[any((uint32_t)size)] ^= (uint8_t)(1 << any(8));
    if (any(4) == 0) {
        uint32_t at = any((uint32_t)size), length = any((uint32_t)size - at);

        memmove(bytes + at, bytes + at + length, size - at - length);
        size -= length;
    }
    return size;
}

int main(int argc, char **argv)
{
    static uint8_t sample[1 << 14], spoilt[1 << 14];
    size_t size = sample_trace(sample + 1, sizeof sample - 1) + 1, left;
    char path[4096];

    sample_program(argc ? argv[0] : "", path, sizeof path);
    setenv("WTR_ELF", path, 0);

    for (unsigned i = 0; i < ROUNDS; i++) {
        memcpy(spoilt, sample, size);
        left = spoil(spoilt, size);
        spoilt[0] = (uint8_t)(any(256) | (i % 4 ? 1 : 0));
        unit_count(LLVMFuzzerTestOneInput(spoilt, left) == 0);
    }
    EXPECT(program.bytes);
    program_close(&program);
    UNIT_END();
}
#endif
