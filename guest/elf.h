/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program file judged, and what of it goes where in memory. Pure logic over the bytes of the
 * file, for which no size and no content is too strange.
 * Source: System V ABI, "Object Files" and "Program Loading"; its AMD64 supplement.
 *
 * Taken: a static 64-bit program with at most 16 segments that are loaded. One that is
 * position-independent goes to ELF_HIGH, and its own start code relocates it.
 */
#ifndef GUEST_ELF_H
#define GUEST_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELF_SEGMENTS_MAX 16
#define ELF_BUILD_ID_MAX 64

/* Where segments may lie: not in the first 64 KiB, nor where the kernel has its own. */
#define ELF_LOWEST   0x10000ull
#define ELF_LOW_END  0xC0000000ull     /* above: registers of devices */
#define ELF_HIGH     0x10000000000ull  /* above any RAM that the kernel maps */
#define ELF_HIGH_END 0x3F0000000000ull /* above: stack and mappings of the program */

/* As in the file. */
#define ELF_EXECUTE 1u
#define ELF_WRITE   2u
#define ELF_READ    4u

enum elf_error {
    ELF_OK,
    ELF_NOT_ELF,
    ELF_NOT_64_BIT,
    ELF_BYTE_ORDER,
    ELF_MACHINE,
    ELF_NOT_A_PROGRAM,
    ELF_DYNAMIC,
    ELF_TRUNCATED,
    ELF_HEADERS,
    ELF_NO_SEGMENTS,
    ELF_MANY_SEGMENTS,
    ELF_SIZES,
    ELF_RANGE,
    ELF_TOO_BIG,
    ELF_OVERLAP,
    ELF_ENTRY,
    ELF_ERRORS /* how many there are */
};

struct elf_segment {
    uint64_t start, bytes;            /* in memory */
    uint64_t file_offset, file_bytes; /* what is not in the file is 0 */
    uint32_t flags;                   /* ELF_READ, ELF_WRITE, ELF_EXECUTE */
};

struct elf_plan {
    uint64_t bias; /* address in memory minus the one in the file; all others are in memory */
    uint64_t entry;
    unsigned count; /* of segments, in rising order of addresses */
    struct elf_segment segments[ELF_SEGMENTS_MAX];
    uint64_t headers;      /* address of the program headers in memory, 0 = not loaded */
    unsigned header_count; /* of them */
    uint64_t end;          /* behind the highest segment below ELF_LOW_END, else of all */
    uint64_t bytes;        /* of memory, in whole pages */
    bool stack_executes;   /* it keeps code on its stack */
    uint8_t build_id[ELF_BUILD_ID_MAX];
    unsigned build_id_bytes; /* 0 = it has none */
};

/*
 * Judges the file of `count` bytes. most_bytes is what memory there is. On an error the plan
 * is of no use.
 */
enum elf_error elf_plan(const uint8_t *file, size_t count, uint64_t most_bytes,
                        struct elf_plan *plan);

/* What is wrong, and the way out, as the end of a sentence that began with the file's name. */
const char *elf_error_text(enum elf_error error);

#endif
