/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Workloads: position-independent routines in the guest region, entered like a function and
 * left by RET, with their expected edges. Declared in NASM by guest/edges.inc's WORKLOAD macro,
 * which puts a struct workload into the section .workloads.
 *
 * Conventions inside a workload
 *   in   rdi = first data page; the run's argument lies in its first quadword
 *   out  rax = result
 *   r15  where a handler resumes after #UD, #DE, #GP, #BP, and a #PF on the page that is never
 *        present (loaded by the workload)
 *   free every register but rsp; a ring-0 caller saves what it needs
 *   data pages: writable; not present until a #PF maps it; read-only until a #PF opens it;
 *        never present (guest/abi.h has the offsets)
 * One pointer in rdi is all there is, so that in ring 0 a bracket's call of fn(arg) is the
 * workload's own caller, with nothing between them that would leave records.
 */
#ifndef GUEST_WORKLOAD_H
#define GUEST_WORKLOAD_H

#include "guest/edge.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum workload_flags {
    WORKLOAD_RING0 = 1 << 0,      /* may run in ring 0 */
    WORKLOAD_RING3 = 1 << 1,      /* may run in ring 3 */
    WORKLOAD_STEPPABLE = 1 << 2,  /* the step oracle can follow it (ring 3, no interrupts) */
    WORKLOAD_FAULTS = 1 << 3,     /* takes exceptions on purpose */
    WORKLOAD_INTERRUPTS = 1 << 4, /* takes interrupts: IF = 1 at entry in ring 3 */
    WORKLOAD_LOW = 1 << 5,        /* needs the image below 4 GiB: its pointers have 32 bits */
    WORKLOAD_TRACED = 1 << 6,     /* only under a trace: QEMU alone stops for good at INT1 */
    WORKLOAD_COMPAT = 1 << 7,     /* compatibility mode; leaves by an INT 0x80 of its own */
    /* By legacy_run: called far, and the trace begins and ends inside. */
    WORKLOAD_PROTECTED = 1 << 8,
    WORKLOAD_REAL = 1 << 9
};

#define WORKLOAD_LEGACY (WORKLOAD_PROTECTED | WORKLOAD_REAL)

struct workload {
    const char *name; /* "jcc.taken": unique, [a-z0-9._-] */
    int32_t entry;    /* offset of the entry from the start of the guest region */
    uint32_t flags;
    const struct edge *edges; /* in the order of execution */
    uint32_t edge_count;      /* 0: only the step oracle knows them */
    uint32_t reserved;
};
_Static_assert(sizeof(struct workload) == 32, "shared with guest/edges.inc");

extern const struct workload __workloads_start[], __workloads_end[];
extern const uint8_t __guest_start[], __guest_end[];

/* NULL when there is none of that name. */
const struct workload *workload_find(const char *name);
size_t workload_count(void);
/* Whether it can run where the image was loaded, in this ring (0 or 3). */
bool workload_possible(const struct workload *w, unsigned ring);
const struct workload *workload_at(size_t index);

#endif
