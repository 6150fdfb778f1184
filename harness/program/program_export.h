/* SPDX-License-Identifier: BSD-2-Clause */
/* What a program wrote, as a tar archive. */
#ifndef HARNESS_PROGRAM_PROGRAM_EXPORT_H
#define HARNESS_PROGRAM_PROGRAM_EXPORT_H

#include "guest/program.h"

/*
 * The files that were made or changed and are still there, and folders that were made, by
 * `append`. How many; negative: append said no. Nothing is written when there are none.
 */
int program_export(struct program *p, bool (*begin)(const char *name),
                   bool (*append)(const void *bytes, size_t count));

#endif
