/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program of the user's own in ring 3: its address space, its stack as at a start under
 * Linux, its system calls, and what its exceptions mean. Nothing here knows about tracing.
 *
 * A run may be broken off at any entry to the kernel and be resumed later, with the machine
 * handed back to firmware in between: program_run returns PROGRAM_PAUSED after program_pause.
 *
 * System calls (SYSCALL, Linux's numbers for x86-64): read gives the end of the file, write to
 * 1 and 2, mmap of private anonymous memory, mprotect, munmap, brk, arch_prctl for FS, exit,
 * exit_group. Any other gives -ENOSYS, as does INT 0x80. guest/runtime/ uses no others.
 */
#ifndef GUEST_PROGRAM_H
#define GUEST_PROGRAM_H

#include "guest/elf.h"
#include "hw/fpu.h"
#include "hw/paging.h"
#include "hw/trap.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROGRAM_STACK_TOP   (USER_WINDOW + WINDOW_BYTES - PAGE_BYTES)
#define PROGRAM_STACK_BYTES (8ull << 20) /* at most; pages come when they are touched */
#define PROGRAM_MAPPINGS    USER_WINDOW  /* where mmap's addresses begin */
#define PROGRAM_WRITE_MOST  0x10000u /* bytes of one write; the rest is the program's to do */
#define PROGRAM_VECTORS     20

enum program_end {
    PROGRAM_PAUSED = 1,
    PROGRAM_EXITED,  /* by exit; code is its argument's low byte */
    PROGRAM_FAULTED, /* by an exception; frame, vector, error and address say which */
    PROGRAM_KILLED,  /* by program_kill */
    PROGRAM_CALLING  /* held at a system call, which has not begun: rip behind it */
};

struct program {
    struct address_space space;
    struct elf_plan plan;
    struct trap_frame frame; /* registers when it is not running */
    struct fpu_image fpu;
    uint64_t fs_base;
    uint64_t heap, heap_end; /* brk: where it began, where it is */
    uint64_t mapped_end;     /* mmap: next address */
    uint64_t arguments;      /* where the argument words lie */
    enum program_end end;    /* after the last run */
    int code;
    uint64_t address; /* page fault: the address touched; else 0 */
    uint64_t calls;   /* system calls so far */
    bool avx;         /* the fault is an instruction that needs AVX */
    volatile bool pause_wanted, kill_wanted;
    struct trap_slot outer[PROGRAM_VECTORS];
    /* Of the caller. Both run in the trap handler. */
    void (*output)(struct program *p, unsigned stream, const uint8_t *bytes, size_t count);
    void (*in_kernel)(struct program *p, bool now);   /* a system call begins, ends; or NULL */
    bool (*held)(struct program *p, uint64_t number); /* stop before this call; or NULL */
    bool (*reserved)(uint64_t start, uint64_t bytes); /* the kernel needs part of this range */
    void *context;
};

/*
 * Builds the space and loads the file by its plan. words are `count` NUL-ended words, one after
 * the other, the program's name first. Everything but the caller's fields is set. False: the
 * page pool is empty; program_close is called all the same.
 */
bool program_open(struct program *p, const struct elf_plan *plan, const uint8_t *file,
                  const char *words, unsigned count);
void program_close(struct program *p);

/*
 * Runs it from where it stands, IF = 1, until it ends or pauses. Installs the handlers of its
 * exceptions and system calls, and loads its CR3, for that long. The handler of an interrupt
 * that wants a pause or an end calls program_leave last.
 */
enum program_end program_run(struct program *p);

/* In a handler of an interrupt out of the program: does not return if something is wanted. */
void program_leave(struct program *p, struct trap_frame *frame);

#endif
