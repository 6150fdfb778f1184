/* SPDX-License-Identifier: BSD-2-Clause */
/* How guest/program*.c share the work on a struct program. */
#ifndef GUEST_PROGRAM_PARTS_H
#define GUEST_PROGRAM_PARTS_H

#include "guest/program.h"

/* Linux's error numbers, which a program expects negated. */
#define PROGRAM_EBADF  9
#define PROGRAM_ENOMEM 12
#define PROGRAM_EACCES 13
#define PROGRAM_EFAULT 14
#define PROGRAM_EINVAL 22
#define PROGRAM_ENOSYS 38

#define VECTOR_XM 19 /* SIMD floating-point exception */

/*
 * guest/program_space.c: zeroed pages for whole of the range, flags as in page tables without
 * PAGE_PRESENT; pages that are there keep theirs. False: the pool is empty.
 */
bool program_map(struct program *p, uint64_t start, uint64_t bytes, unsigned flags);
/* Those pages that are there and the program's. */
void program_unmap(struct program *p, uint64_t start, uint64_t bytes);
/* False when a page of the range is not the program's. */
bool program_protect(struct program *p, uint64_t start, uint64_t bytes, unsigned flags);
/* Whether ring 3 may read all of the range. */
bool program_readable(const struct program *p, uint64_t start, uint64_t bytes);
/* True when the address is the stack's and a page is there now. */
bool program_grow_stack(struct program *p, uint64_t address);

/* PAGE_ flags for ELF_ ones, which are also those of mmap shifted; 0 = no access. */
unsigned program_page_flags(unsigned elf_flags);

/* guest/program_call.c: the system call in the frame; the result is in rax then. */
void program_call(struct program *p, struct trap_frame *frame);

#endif
