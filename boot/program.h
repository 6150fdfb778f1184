/* SPDX-License-Identifier: BSD-2-Clause */
/* A program of the user's own: from the boot volume, and its trace back onto it. */
#ifndef BOOT_PROGRAM_H
#define BOOT_PROGRAM_H

#include "harness/options/options.h"

/*
 * Reads and judges the file that program= names, and takes memory for its trace. NULL when it
 * can be run, else a line that says why not. After platform_memory.
 */
const char *program_prepare(const struct options *options);

/* Traces it, or has it debugged when gdb= is given; the files of this run are open. */
void program_go(const struct options *options);

#endif
