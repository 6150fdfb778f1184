/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * program=NAME: a program of the user's own is traced to its end instead of running checks, and
 * its trace is written as trace.wtr (harness/tracefile/wtr_format.h).
 */
#ifndef HARNESS_PROGRAM_PROGRAM_H
#define HARNESS_PROGRAM_PROGRAM_H

#include "guest/program.h"
#include "harness/suite/harness.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What boot/ brings. Memory is identity-mapped and page-aligned. */
struct program_services {
    const uint8_t *file; /* the program */
    size_t file_bytes;
    const uint8_t *files; /* a tar archive with what it may open, or NULL */
    size_t files_bytes;
    const uint8_t *input; /* its standard input, or NULL */
    size_t input_bytes;
    uint64_t epoch;  /* nanoseconds since 1970; 0 = nobody knows */
    uint8_t *memory; /* for the Debug Store, and for the trace until it is in the file */
    size_t memory_bytes;
    uint64_t page_bytes; /* in the page pool, for the program */
    /* Whether the kernel itself uses some of the physical range. */
    bool (*reserved)(uint64_t start, uint64_t bytes);
    /* Firmware mode: bytes that the file may still grow by, and making it grow. */
    uint64_t (*room)(void);
    bool (*append)(const void *bytes, size_t count);
    /* Another file, which grows from here on. */
    bool (*begin_file)(const char *name);
};

/* What the program is given, by its options and what boot/ brought. */
struct program_start harness_program_start(const struct program_services *services,
                                           const struct options *options);

/* NULL when the program can be run, else a line that says why not and the way out. */
const char *harness_program_check(const struct program_services *services,
                                  const struct options *options);
/* After harness_begin. */
void harness_program(void);

#endif
