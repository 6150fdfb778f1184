/* SPDX-License-Identifier: BSD-2-Clause */
/* What the log says of a program that has ended. */
#ifndef HARNESS_PROGRAM_PROGRAM_PRINT_H
#define HARNESS_PROGRAM_PROGRAM_PRINT_H

#include "guest/program.h"
#include "harness/options/options.h"

/* How it ended, and what it asked for in vain. */
void program_print_end(const struct program *p, const struct options *options);

#endif
