/* SPDX-License-Identifier: BSD-2-Clause */
/* gdb=PORT: the program is debugged by GDB over a serial port instead of traced to its end. */
#ifndef HARNESS_GDB_SESSION_H
#define HARNESS_GDB_SESSION_H

#include "harness/program/program.h"

/* The port. Legal while the machine is taken over. */
struct gdb_line {
    int (*get)(void *unused); /* the next byte, -1 when there is none now */
    void (*write)(void *unused, const char *bytes, size_t count);
};

/*
 * Serves until the program has ended or the debugger ends it. After harness_begin, with a
 * program that harness_program_check has found good.
 */
void harness_gdb(const struct program_services *services, const struct options *options,
                 const struct gdb_line *line);

#endif
