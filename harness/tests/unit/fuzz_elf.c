/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzz entry of the program loader's judgement: whatever the bytes, a plan that is accepted
 * keeps its promises. With libFuzzer:
 *
 *     clang -g -fsanitize=fuzzer,address,undefined -I. -DWAYMARK_HOST \
 *         harness/tests/unit/fuzz_elf.c guest/elf.c
 *
 * Built as a unit test it brings its own main, which spoils a good file at random.
 */
#include "guest/elf.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#define MOST (16ull << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(int condition)
{
    if (!condition)
        abort();
}

static void check_plan(const struct elf_plan *plan, size_t size)
{
    unsigned entries = 0;

    demand(plan->count > 0 && plan->count <= ELF_SEGMENTS_MAX);
    demand(plan->bytes > 0 && plan->bytes <= MOST && plan->bytes % 4096 == 0);
    demand(plan->build_id_bytes <= ELF_BUILD_ID_MAX);
    for (unsigned i = 0; i < plan->count; i++) {
        const struct elf_segment *s = &plan->segments[i];

        demand(s->bytes > 0 && s->file_bytes <= s->bytes);
        demand(s->file_offset <= size && s->file_bytes <= size - s->file_offset);
        demand(s->start >= ELF_LOWEST && s->start + s->bytes > s->start);
        demand(s->start + s->bytes <= ELF_LOW_END ||
               (s->start >= ELF_HIGH && s->start + s->bytes <= ELF_HIGH_END));
        demand(i == 0 || s[-1].start + s[-1].bytes <= s->start);
        entries += (s->flags & ELF_EXECUTE) && plan->entry >= s->start &&
                   plan->entry < s->start + s->bytes;
    }
    demand(entries == 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *exact = malloc(size ? size : 1);
    struct elf_plan plan;
    enum elf_error error;

    memcpy(exact, data, size);
    error = elf_plan(exact, size, MOST, &plan);
    demand(error < ELF_ERRORS && elf_error_text(error)[0]);
    if (!error)
        check_plan(&plan, size);
    free(exact);
    return error == ELF_OK;
}

#ifdef FUZZ_MAIN
#include "harness/tests/fakes/unit.h"

static uint64_t state = 0x243F6A8885A308D3;

static uint32_t random_number(uint32_t below)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(state >> 33) % below;
}

static void make(uint8_t *file)
{
    Elf64_Ehdr h = {.e_ident = ELFMAG,
                    .e_type = ET_EXEC,
                    .e_machine = EM_X86_64,
                    .e_entry = 0x401010,
                    .e_phoff = sizeof h,
                    .e_phentsize = sizeof(Elf64_Phdr),
                    .e_phnum = 3};
    Elf64_Phdr p[3] = {{PT_LOAD, PF_R, 0, 0x400000, 0, 0x100, 0x100, 4096},
                       {PT_LOAD, PF_R | PF_X, 256, 0x401000, 0, 0x80, 0x80, 4096},
                       {PT_NOTE, PF_R, 232, 0x4000E8, 0, 24, 24, 4}};

    h.e_ident[EI_CLASS] = ELFCLASS64;
    h.e_ident[EI_DATA] = ELFDATA2LSB;
    memcpy(file, &h, sizeof h);
    memcpy(file + sizeof h, p, sizeof p);
}

/* One to three fields of up to eight bytes each, at random or at an edge. */
static void spoilt_files(void)
{
    static const uint64_t edges[] = {0,          1,       0xFFF,      0x1000,    ELF_LOW_END,
                                     UINT64_MAX, 1 << 30, ELF_LOWEST, 1ull << 63};
    unsigned accepted = 0, refused = 0;

    for (unsigned i = 0; i < 300000; i++) {
        uint8_t file[512] = {0};

        make(file);
        for (unsigned k = random_number(3) + 1; k > 0; k--) {
            unsigned at = random_number(240), bytes = 1u << random_number(4);
            uint64_t value = random_number(2) ? edges[random_number(9)]
                                              : (uint64_t)random_number(1u << 31) << 20 |
                                                    random_number(1u << 20);

            memcpy(file + at, &value, bytes);
        }
        if (LLVMFuzzerTestOneInput(file, random_number(8) ? sizeof file : random_number(512)))
            accepted++;
        else
            refused++;
    }
    /* Both happen often, or the spoiling shows nothing. */
    EXPECT(accepted > 10000);
    EXPECT(refused > 10000);
}

int main(void)
{
    RUN(spoilt_files);
    UNIT_END();
}
#endif
