/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program of the user's own in ring 3: its address space, its stack as at a start under
 * Linux, its system calls and signals, and what its exceptions mean. Nothing here knows about
 * tracing.
 *
 * A run may be broken off at any entry to the kernel and be resumed later, with the machine
 * handed back to firmware in between: program_run returns PROGRAM_PAUSED after program_pause.
 *
 * System calls (SYSCALL, Linux's numbers for x86-64): what one thread needs to run to its end
 * on files in memory. What is not there gives an error number and is counted by name; so does
 * INT 0x80, by -ENOSYS. guest/program_call.c has the list.
 */
#ifndef GUEST_PROGRAM_H
#define GUEST_PROGRAM_H

#include "guest/elf.h"
#include "guest/files.h"
#include "guest/mappings.h"
#include "hw/fpu.h"
#include "hw/paging.h"
#include "hw/trap.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROGRAM_STACK_TOP   (USER_WINDOW + WINDOW_BYTES - PAGE_BYTES)
#define PROGRAM_STACK_BYTES (8ull << 20) /* at most; pages come when they are touched */
#define PROGRAM_MAPPINGS    USER_WINDOW  /* where mmap's addresses begin */
#define PROGRAM_MAPPED_END  (USER_WINDOW + (256ull << 30))
#define PROGRAM_WRITE_MOST  0x10000u /* bytes of one write; the rest is the program's to do */
#define PROGRAM_VECTORS     20
#define PROGRAM_SIGNALS     65 /* one more than the highest number */
#define PROGRAM_REFUSED     32 /* kinds of refusals that are counted apart */

enum program_end {
    PROGRAM_PAUSED = 1,
    PROGRAM_EXITED,    /* by exit; code is its argument's low byte */
    PROGRAM_FAULTED,   /* by an exception; frame, vector, error and address say which */
    PROGRAM_KILLED,    /* by program_kill */
    PROGRAM_SIGNALLED, /* by a signal that nothing handles; signal says which */
    PROGRAM_STUCK,     /* it waits for what cannot come; stuck_at says in which call */
    PROGRAM_CALLING    /* held at a system call, which has not begun: rip behind it */
};

/* What a program is given; all of it outlives the program. */
struct program_start {
    const char *words; /* NUL-ended words, one after the other, the program's name first */
    unsigned word_count;
    const char *environment; /* the same, each of the form NAME=value */
    unsigned environment_count;
    const char *path;   /* how the file is called */
    const char *folder; /* working folder; NULL: the root of its files */
    uint64_t seed;      /* of all that is random */
    uint64_t epoch;     /* nanoseconds since 1970 at the start */
    uint64_t tsc_hz;
    const uint8_t *file; /* the program */
    size_t file_bytes;
    const uint8_t *files; /* a tar archive, or NULL */
    size_t files_bytes;
    const uint8_t *input; /* standard input */
    size_t input_bytes;
};

struct program_action {
    uint64_t handler, flags, restorer, mask;
};

/* One thread's worth of signals; a bit of a mask is 1 << (number - 1). */
struct program_signals {
    struct program_action action[PROGRAM_SIGNALS];
    uint64_t mask, pending;
    int32_t code[PROGRAM_SIGNALS]; /* si_code of those that are pending */
    uint64_t alternate, alternate_bytes;
    uint64_t restored_mask; /* with `restore`: put back once a handler has been entered */
    bool restore;
};

struct program_refusal {
    uint32_t number, count; /* system call; how often */
};

struct program {
    struct address_space space;
    struct elf_plan plan;
    struct program_start start;
    struct mappings mappings;
    struct trap_frame frame; /* registers when it is not running */
    struct fpu_image fpu;
    uint64_t fs_base, gs_base;
    uint64_t heap, heap_end; /* brk: where it began, where it is */
    uint64_t arguments;      /* where the argument words lie */
    struct program_signals signals;
    struct files files;
    uint64_t random;         /* state of the generator */
    uint64_t began, skipped; /* by the time-stamp counter; nanoseconds slept, not waited */
    uint64_t clear_tid;
    uint32_t umask;
    enum program_end end; /* after the last run */
    int code;
    unsigned signal;
    const char *stuck_at;
    uint64_t address; /* page fault: the address touched; else 0 */
    uint64_t calls;   /* system calls so far */
    struct program_refusal refused[PROGRAM_REFUSED];
    unsigned refusals;
    bool avx; /* the fault is an instruction that needs AVX */
    volatile bool pause_wanted, kill_wanted;
    struct trap_slot outer[PROGRAM_VECTORS];
    /* Of the caller. All run in the trap handler. */
    void (*output)(struct program *p, unsigned stream, const uint8_t *bytes, size_t count);
    void (*in_kernel)(struct program *p, bool now); /* a system call begins, ends; or NULL */
    /* A handler of a signal is entered or, with number 0, left; or NULL. */
    void (*signalled)(struct program *p, unsigned number, uint64_t from, uint64_t to);
    bool (*held)(struct program *p, uint64_t number); /* stop before this call; or NULL */
    bool (*reserved)(uint64_t start, uint64_t bytes); /* the kernel needs part of this range */
    bool stops_at_faults; /* an exception ends the run, also where a handler waits for it */
    void *context;
};

/*
 * Builds the space and loads the file by its plan. Everything but the caller's fields is set.
 * NULL, or why it cannot be started; program_close is called all the same.
 */
const char *program_open(struct program *p, const struct elf_plan *plan,
                         const struct program_start *start);
void program_close(struct program *p);

/*
 * Runs it from where it stands, IF = 1, until it ends or pauses. Installs the handlers of its
 * exceptions and system calls, and loads its CR3, for that long. The handler of an interrupt
 * that wants a pause or an end calls program_leave last.
 */
enum program_end program_run(struct program *p);

/* In a handler of an interrupt out of the program: does not return if something is wanted. */
void program_leave(struct program *p, struct trap_frame *frame);

/*
 * The identity address of the byte, NULL where the program has no memory or lacks the ELF_
 * rights, 0 for none; a page that was never touched comes into being.
 */
uint8_t *program_byte(struct program *p, uint64_t address, unsigned rights);

/* What a refused call is called, and why it is refused (NULL: it is only not there). */
const char *program_call_name(unsigned number);
const char *program_call_reason(unsigned number);
/* SIGSEGV and the like. */
const char *program_signal_name(unsigned number);

#endif
