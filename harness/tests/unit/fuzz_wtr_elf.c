/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzz entry of what wtr reads from ELF files: segments, symbols, lines, code. With libFuzzer:
 *
 *     clang -g -O1 -fsanitize=fuzzer,address,undefined -I. -DWAYMARK_HOST -o fuzz \
 *         harness/tests/unit/fuzz_wtr_elf.c harness/wtr/{program,symbols,lines,sweep,util}.c \
 *         harness/oracle/decode.c -ldw -lelf
 *
 * Built as a unit test it spoils the program that is built beside it.
 */
#include "harness/wtr/core/program.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t sink;

/* Everything a command asks for, at and around every symbol. */
static void ask(struct program *program)
{
    struct decoded d;

    for (size_t i = 0; i < program->symbols.count; i++) {
        const struct symbol *symbol = &program->symbols.items[i];
        struct segment *segment = program_segment(program, symbol->start);
        const struct line *line = program_line(program, symbol->start);

        if (!segment || symbol->end < symbol->start || symbol->end > segment->end ||
            program_symbol(program, symbol->start) != symbol)
            abort();
        sink += segment_decode(segment, symbol->end - 1, &d);
        sink += segment_instructions(segment, symbol->start, symbol->end);
        sink += segment_flows(segment, symbol->start, symbol->end);
        sink += segment_starts(segment, symbol->end);
        sink += line ? strlen(program->files.items[line->file]) : 0;
        sink += strlen(symbol->name);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct program program;
    uint8_t *bytes;

    if (size > 1 << 20)
        return 0;
    complaints_muted = true;
    bytes = malloc(size ? size : 1);
    memcpy(bytes, data, size);
    if (!program_adopt(&program, "fuzz", bytes, size)) {
        ask(&program);
        program_close(&program);
    }
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

/* Most harm is done in the headers, at the front and at the end. */
static size_t spoil(uint8_t *bytes, size_t size)
{
    for (uint32_t i = any(4); i > 0; i--)
        bytes[any(size < 1024 ? (uint32_t)size : 1024)] = (uint8_t)any(256);
    for (uint32_t i = any(4); i > 0; i--)
        bytes[size - 1 - any(size < 4096 ? (uint32_t)size : 4096)] = (uint8_t)any(256);
    for (uint32_t i = any(20); i > 0; i--)
        bytes[any((uint32_t)size)] ^= (uint8_t)(1 << any(8));
    return any(8) ? size : any((uint32_t)size);
}

int main(int argc, char **argv)
{
    char path[4096];
    const char *why;
    size_t size;
    uint8_t *whole, *spoilt;

    sample_program(argc ? argv[0] : "", path, sizeof path);
    whole = file_read(path, &size, &why);
    if (!EXPECT(whole))
        return 1;
    spoilt = malloc(size);
    for (unsigned i = 0; i < ROUNDS; i++) {
        memcpy(spoilt, whole, size);
        unit_count(LLVMFuzzerTestOneInput(spoilt, spoil(spoilt, size)) == 0);
    }
    free(spoilt);
    free(whole);
    UNIT_END();
}
#endif
