/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One ELF file: its code, functions and source lines, by the addresses in the file. Read by
 * libelf and libdw; nothing in it is trusted.
 */
#ifndef HARNESS_WTR_CORE_PROGRAM_H
#define HARNESS_WTR_CORE_PROGRAM_H

#include "harness/oracle/decode.h"
#include "harness/wtr/core/util.h"

#include <elfutils/libdw.h>
#include <gelf.h>

#define BUILD_ID_MAX 64

struct segment {
    uint64_t start, end; /* in memory */
    uint64_t file_offset;
    uint32_t flags;       /* PF_X, PF_W, PF_R */
    const uint8_t *bytes; /* file_bytes of them; the rest up to end is zeros */
    uint64_t file_bytes;
    /* Code only, made by sweep.c: where instructions start, and which always go elsewhere. */
    uint64_t *starts, *stops;
    uint32_t *starts_before, *stops_before; /* one for every 64 bytes */
};

struct symbol {
    uint64_t start, end;
    const char *name;
    bool function; /* else a bare label, or a section without symbols */
    bool sized;
    uint8_t rank; /* of several at one address */
};

struct line {
    uint64_t address;
    uint32_t file, number; /* number 0 ends a sequence */
    bool statement;
};

struct program {
    char *path; /* absolute when it exists */
    uint8_t *bytes;
    size_t size;
    Elf *elf;
    Dwarf *dwarf;
    uint64_t entry;
    uint8_t build_id[BUILD_ID_MAX];
    size_t build_id_bytes;
    VECTOR(struct segment) segments;
    VECTOR(struct symbol) symbols; /* by address, not overlapping */
    VECTOR(struct line) lines;     /* by address */
    VECTOR(char *) files;          /* of lines */
};

/* NULL, or why not (static text, `...; way out`). Nothing has to be closed then. */
const char *program_open(struct program *program, const char *path);
const char *program_adopt(struct program *program, const char *path, uint8_t *bytes,
                          size_t size);
void program_close(struct program *program);

struct segment *program_segment(struct program *program, uint64_t address);
const struct symbol *program_symbol(const struct program *program, uint64_t address);
const struct line *program_line(const struct program *program, uint64_t address);

/* symbols.c, lines.c, sweep.c: the steps of opening. */
void symbols_read(struct program *program);
void lines_read(struct program *program);
void sweep(struct program *program);

/* The instruction at an address of code; false where there is none. */
bool segment_decode(const struct segment *segment, uint64_t address, struct decoded *out);

/* Does an instruction start here? How many do in [from, to)? Both lie in the segment. */
bool segment_starts(const struct segment *segment, uint64_t address);
uint64_t segment_instructions(const struct segment *segment, uint64_t from, uint64_t to);

/* True when no instruction in [from, to) surely goes elsewhere. */
bool segment_flows(const struct segment *segment, uint64_t from, uint64_t to);

#endif
