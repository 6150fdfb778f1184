/* SPDX-License-Identifier: BSD-2-Clause */
/* How guest/program*.c share the work on a struct program. */
#ifndef GUEST_PROGRAM_PARTS_H
#define GUEST_PROGRAM_PARTS_H

#include "guest/errors.h"
#include "guest/program.h"

/* A system call's result for an error number. */
#define ERROR(number) ((uint64_t) - (int64_t)(number))
#define PATH_BYTES    1024u

#define VECTOR_XM 19 /* SIMD floating-point exception */

#define PROGRAM_NUMBER 100  /* of process and thread */
#define PROGRAM_USER   1000 /* and its group */

#define CANONICAL_END 0x800000000000ull

/* Signals, by Linux's numbers. */
enum {
    SIGNAL_TRAP = 5,
    SIGNAL_ABRT = 6,
    SIGNAL_BUS = 7,
    SIGNAL_FPE = 8,
    SIGNAL_KILL = 9,
    SIGNAL_SEGV = 11,
    SIGNAL_PIPE = 13,
    SIGNAL_ILL = 4,
    SIGNAL_CHLD = 17,
    SIGNAL_CONT = 18,
    SIGNAL_STOP = 19,
    SIGNAL_URG = 23,
    SIGNAL_WINCH = 28
};

/* Calls: the arguments are in the frame; the result is what they return. */
typedef uint64_t program_call_fn(struct program *p, struct trap_frame *f);

struct program_call {
    uint16_t number;
    program_call_fn *serve;
};
/* One table a file, each ended by a row without a function. */
extern const struct program_call program_memory_calls[], program_file_calls[],
    program_name_calls[], program_number_calls[], program_signal_calls[], program_self_calls[],
    program_stat_calls[], program_time_calls[], program_wait_calls[];

/* guest/program_space.c. What the file asks for; false: it does not fit. */
bool program_load(struct program *p);
/* The program's pages: what is outside its mappings goes back. */
void program_unmap(struct program *p, uint64_t start, uint64_t bytes);
/* The mapping is set already: pages that are there get its rights. */
void program_protect(struct program *p, uint64_t start, uint64_t bytes, unsigned rights);
/* Pages at `from`, content and all, are found at `to`. False: the page pool is empty. */
bool program_move(struct program *p, uint64_t to, uint64_t from, uint64_t bytes);
/* True when a page that was not there is there now, so that the access can be tried again. */
bool program_bring(struct program *p, uint64_t address, unsigned rights);

/* To and from the program's memory. False: it has none there, or may not do that. */
bool program_read(struct program *p, void *to, uint64_t from, size_t bytes);
bool program_write(struct program *p, uint64_t to, const void *from, size_t bytes);
/* 0 or an error number. */
int program_text(struct program *p, char *to, uint64_t from, size_t bytes);

/* guest/program_stack.c: the first stack, and the registers to begin with. NULL or why not. */
const char *program_first_stack(struct program *p);

/* guest/program_memory.c: where a range of mmap's kind may lie. */
bool program_may_lie(const struct program *p, uint64_t start, uint64_t bytes);

/* guest/program_call.c: the system call in the frame; the result is in rax then. */
void program_call(struct program *p, struct trap_frame *frame);
/* guest/program_refuse.c */
/* Counts it, and gives its error. */
uint64_t program_refuse(struct program *p, unsigned number);
/* Ends the run: it waits for what cannot come. */
_Noreturn void program_stuck(struct program *p, struct trap_frame *frame, const char *call);

/* guest/program_signal.c. False: nothing handles it, the exception ends the program. */
bool program_fault_signal(struct program *p, struct trap_frame *frame);
/* Lets pending signals happen; may not return. */
void program_signals_happen(struct program *p, struct trap_frame *frame);

/* guest/program_time.c */
uint64_t program_now(const struct program *p); /* nanoseconds since it began */
/* Nobody waits: the clock goes forward. */
void program_skip(struct program *p, uint64_t nanoseconds);
/* The same, until that time of the day or (false) since the program began. */
void program_skip_until(struct program *p, bool of_day, uint64_t nanoseconds);
void program_random(struct program *p, void *to, size_t bytes);

/* guest/program_name.c: the file of a path, from the folder of the number `at` (AT_FDCWD). */
int program_find(struct program *p, uint64_t at, uint64_t path, struct file_node **node);
/* guest/program_number.c: the open file of a number, or NULL. */
struct open_file *program_open_file(struct program *p, uint64_t number);
/* The lowest free number from `low` on, or a negated error. */
uint64_t program_add_number(struct program *p, struct open_file *open, unsigned low);
/* Its nodes of /dev and /proc, its archive and its first three numbers. NULL or why not. */
const char *program_first_files(struct program *p);

#endif
