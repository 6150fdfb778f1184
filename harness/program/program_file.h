/* SPDX-License-Identifier: BSD-2-Clause */
/* The records at the beginning and at the end of a program's trace. */
#ifndef HARNESS_PROGRAM_PROGRAM_FILE_H
#define HARNESS_PROGRAM_PROGRAM_FILE_H

#include "guest/program.h"
#include "harness/options/options.h"
#include "harness/program/program_record.h"

/*
 * File header, IMAGE, TASK, ARGUMENTS, START; the recorder's memory is empty and large enough.
 */
void program_file_begin(struct recorder *r, const struct elf_plan *plan,
                        const struct options *o, uint64_t epoch, bool traced);

/* LOST for what was dropped, EXCEPTION, REFUSED, EXIT, END. */
void program_file_end(struct recorder *r, const struct program *p);

#endif
