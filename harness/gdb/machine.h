/* SPDX-License-Identifier: BSD-2-Clause */
/* The program in ring 3 as GDB's server sees it: its registers, memory, runs and trace. */
#ifndef HARNESS_GDB_MACHINE_H
#define HARNESS_GDB_MACHINE_H

#include "ds/bts.h"
#include "guest/program.h"
#include "harness/gdb/stub.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gdb_machine {
    struct program program; /* open */
    struct gdb *gdb;
    uint8_t *memory; /* identity-mapped, page-aligned: for the Debug Store and the log */
    size_t memory_bytes;
    const char *no_trace;             /* why nothing can be recorded, NULL when it can */
    bool off_os;                      /* the processor can leave CPL 0 out */
    uint64_t kernel_low, kernel_high; /* where the kernel's code lies */
    uint64_t deadline;                /* by the time-stamp counter; 0 = none */
    /* its own */
    struct bts bts;
    bool tracing, block, stepping, called;
    bool calling, returned; /* a call that was shown before it began; its end is shown, too */
    uint32_t number;
    uint64_t held_rip;
    uint64_t watched[4], dr7;
};

/* Its runs, memory and trace; the context is the struct gdb_machine. */
extern const struct gdb_target gdb_machine_target;

/* --- between the files of this folder; the context is the struct gdb_machine */

size_t gdb_machine_read(void *context, uint64_t address, void *to, size_t count);
bool gdb_machine_write(void *context, uint64_t address, const void *from, size_t count);
bool gdb_machine_mapping(void *context, uint64_t from, struct gdb_mapping *to);
const char *gdb_machine_record(void *context, struct btrace_log *log, uint64_t bytes,
                               uint64_t pc);
void gdb_machine_record_end(void *context);
/* What the processor has stored since the last time goes into the log. */
void gdb_machine_empty(struct gdb_machine *m);

/* The registers as the program has them. */
void gdb_machine_registers(const struct gdb_machine *m, struct gdb_registers *r);

#endif
