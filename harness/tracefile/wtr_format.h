/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The branch trace file, trace.wtr: what the kernel appends and the host tool wtr reads.
 * Freestanding, little-endian, every structure without padding.
 *
 * A file is one header, then records back to back until the END record. A record begins with
 * its kind and its size, so a reader steps over kinds it does not know. Records are written
 * once and never changed: a writer only appends, and a file without END was cut short.
 *
 *  - Sizes are multiples of 8, so every record starts on a multiple of 8.
 *  - `check` covers the whole record, itself taken as 0 (see wtr_write.h). After damage a
 * reader looks for the next offset where size and check agree and goes on from there.
 *  - IMAGE and TASK come before the first branches that they explain.
 *  - Tasks are numbered from 1; task 0 is no task, or all of them. A task belongs to a process:
 *    tasks of one process share their images. The process of a task without TASK record is 1.
 *  - The records of one processor are in the order of their happening; between processors,
 *    ARRIVES, DEPARTS and TIME tell.
 *  - A new kind, or a field at the end of a fixed body, raises the minor version; anything that
 *    an old reader would misread raises the major one.
 */
#ifndef HARNESS_TRACEFILE_WTR_FORMAT_H
#define HARNESS_TRACEFILE_WTR_FORMAT_H

#include <stddef.h>
#include <stdint.h>

/* As PNG's: a transfer that touches line ends or the eighth bit is noticed at once. */
#define WTR_MAGIC "\x89WTR\r\n\x1a\n"
#define WTR_MAJOR 1
#define WTR_MINOR 2 /* 1: samples; 2: START, REFUSED, SIGNAL, and their exits */

#define WTR_RECORD_MAX (1u << 20)            /* bytes of the largest record, header included */
#define WTR_UNKNOWN    0xFFFFFFFFFFFFFFFFull /* a count or an address that nobody knows */

struct wtr_file_header {
    uint8_t magic[8];
    uint16_t major, minor;
    uint32_t bytes;    /* of this header: where the first record starts */
    uint64_t tsc_hz;   /* ticks a second of all times; 0 = unknown */
    char provider[16]; /* who recorded: "native", "model", ...; NUL-padded */
    char producer[32]; /* program and version; NUL-padded */
    uint32_t reserved; /* 0 */
    uint32_t check;
};

struct wtr_record {
    uint16_t kind;  /* enum wtr_kind */
    uint16_t cpu;   /* number of the processor */
    uint32_t bytes; /* this header and the body; a multiple of 8 */
    uint32_t task;  /* whom it is about; 0 = no task, or all */
    uint32_t check;
};

enum wtr_kind {
    WTR_BRANCHES = 1, /* struct wtr_branches, then count times struct wtr_branch */
    WTR_PACKED,       /* struct wtr_packed, then the packed branches, padded with 0 */
    WTR_ARRIVES,      /* struct wtr_time: the task begins to run on the processor */
    WTR_DEPARTS,      /* struct wtr_time: the task stops running there */
    WTR_LOST,         /* struct wtr_lost: branches are missing here */
    WTR_WRAP,         /* struct wtr_lost: the ring went round and older branches are gone */
    WTR_MODE,         /* struct wtr_mode: what runs from here on */
    WTR_MIGRATE,      /* struct wtr_migrate: the task changes its processor */
    WTR_EXCEPTION,    /* struct wtr_exception */
    WTR_IMAGE,        /* struct wtr_image, segments, build-id, path; task = process, 0 = all */
    WTR_TASK,         /* struct wtr_task, name; task = the one described */
    WTR_ARGUMENTS,    /* struct wtr_bytes, then NUL-ended words, the program's name first */
    WTR_OUTPUT,       /* struct wtr_bytes, then what the program wrote */
    WTR_EXIT,         /* struct wtr_exit */
    WTR_TIME,         /* struct wtr_time: it is now */
    WTR_END,          /* struct wtr_end: nothing follows */
    WTR_SAMPLES,      /* struct wtr_samples, then the samples */
    WTR_SAMPLING,     /* struct wtr_sampling: what became of the sampling; behind its samples */
    WTR_START,        /* struct wtr_start, then NUL-ended NAME=value words: the environment */
    WTR_REFUSED,      /* struct wtr_refused: a system call that was not served */
    WTR_SIGNAL,       /* struct wtr_signal: a handler is entered or left, by no branch */
    WTR_KINDS         /* one more than the last kind of this version */
};

/* As the 64-bit BTS record; flags bit 4: the processor predicted it. */
struct wtr_branch {
    uint64_t from, to, flags;
};

struct wtr_branches {
    uint32_t count;
    uint32_t reserved; /* 0 */
};

/*
 * Each branch is two or three numbers of 7 bits a byte, the lowest first, bit 7 set in all
 * bytes but the last: from minus the previous `to` (at first: minus base), to minus from, and
 * with WTR_PACKED_FLAGS the flags; without, flags are 0. Differences wrap at 64 bits, and carry
 * their sign in bit 0: 0, -1, 1, -2, ... are 0, 1, 2, 3, ...
 */
struct wtr_packed {
    uint32_t count;
    uint32_t payload; /* bytes in use after this structure */
    uint64_t base;
    uint32_t form; /* WTR_PACKED_* bits; a reader refuses those it does not know */
    uint32_t reserved;
};
#define WTR_PACKED_FLAGS 1u

struct wtr_time {
    uint64_t tsc;
};

enum wtr_reason {
    WTR_REASON_UNKNOWN,
    WTR_REASON_OVERFLOW, /* the buffer was full before it was drained */
    WTR_REASON_NO_ROOM,  /* memory or volume was full */
    WTR_REASON_STOPPED,  /* recording was off for a while */
    WTR_REASON_DAMAGE    /* made up by a reader where the file is damaged */
};

struct wtr_lost {
    uint64_t count; /* branches, or WTR_UNKNOWN */
    uint32_t reason;
    uint32_t reserved;
};

struct wtr_mode {
    uint32_t cpl;
    uint32_t interrupts; /* 1 = enabled */
};

struct wtr_migrate {
    uint32_t from_cpu, to_cpu;
    uint64_t tsc;
};

struct wtr_exception {
    uint32_t vector;
    uint32_t error;   /* error code, 0 when there is none */
    uint64_t rip;     /* where it happened */
    uint64_t address; /* page fault: the address touched; else 0 */
};

/*
 * A file mapped for a process. After this structure: segment_count segments, build_id_bytes of
 * build-id, path_bytes of path (with its NUL); build-id and path are each padded with 0 to a
 * multiple of 8.
 */
struct wtr_image {
    uint64_t bias;  /* run address = address in the ELF file + bias, wrapping */
    uint64_t entry; /* first instruction, as run; WTR_UNKNOWN = not a program */
    uint16_t segment_count;
    uint16_t build_id_bytes; /* 0 = it has none */
    uint32_t path_bytes;
};

struct wtr_segment {
    uint64_t start, bytes; /* as run, in memory */
    uint64_t file_offset;
    uint32_t flags; /* ELF p_flags: 1 execute, 2 write, 4 read */
    uint32_t reserved;
};

struct wtr_task {
    uint32_t parent; /* 0 = none */
    uint32_t process;
    uint64_t start;      /* its first instruction, or WTR_UNKNOWN */
    uint32_t name_bytes; /* with the NUL; the name is padded with 0 to a multiple of 8 */
    uint32_t reserved;
};

struct wtr_bytes {
    uint32_t bytes;  /* in use; the rest is padding */
    uint32_t stream; /* OUTPUT: 1 = standard output, 2 = standard error; else 0 */
};

enum wtr_exit_how {
    WTR_EXIT_CODE,      /* code = status given to exit */
    WTR_EXIT_EXCEPTION, /* code = vector */
    WTR_EXIT_KILLED,    /* from outside; code = 0 */
    WTR_EXIT_SIGNAL,    /* code = number of the signal that it sent itself */
    WTR_EXIT_STUCK      /* it waited for what could not come; code = 0 */
};

struct wtr_exit {
    uint32_t how; /* enum wtr_exit_how */
    int32_t code;
    uint64_t rip; /* last instruction that it began, or WTR_UNKNOWN */
};

/*
 * What a run depends on beside program and words; the same again gives the same branches, where
 * the program does not ask for the time.
 */
struct wtr_start {
    uint64_t seed;  /* of all random numbers that the program got */
    uint64_t epoch; /* nanoseconds since 1970 when it started; 0 = unknown */
    uint32_t bytes; /* of the environment, in use; the rest is padding */
    uint32_t reserved;
};

struct wtr_refused {
    uint32_t number; /* of the system call */
    uint32_t count;
};

struct wtr_signal {
    uint64_t from;   /* the last instruction before: one that faulted, or the system call */
    uint64_t to;     /* the handler; or, with number 0, where it was left for */
    uint32_t number; /* of the signal */
    uint32_t reserved;
};

enum wtr_counted { WTR_COUNTED_INSTRUCTIONS, WTR_COUNTED_BRANCHES };

/*
 * Samples of one period. Each is a struct wtr_sample, with WTR_SAMPLES_REGISTERS a struct
 * wtr_registers, and chain times 8 bytes: return addresses, the innermost first. The chain is
 * what the frame pointers led to at the interrupt that the sample asked for; a program that
 * keeps none has a chain that is cut short or empty.
 */
struct wtr_samples {
    uint32_t count;
    uint32_t payload; /* bytes in use after this structure */
    uint64_t period;  /* events that each stands for */
    uint32_t event;   /* enum wtr_counted */
    uint32_t form;    /* WTR_SAMPLES_* bits; a reader refuses those it does not know */
};
#define WTR_SAMPLES_REGISTERS 1u

struct wtr_sample {
    uint64_t ip; /* of the instruction that was sampled */
    uint64_t tsc;
    uint32_t chain;
    uint32_t reserved;
};

/* After that instruction. */
struct wtr_registers {
    uint64_t ip, flags;
    uint64_t gprs[16]; /* in the order of their encodings: rax, rcx, rdx, rbx, rsp, ... */
    uint64_t stack[2]; /* the two words at rsp, as far as they were there to read */
};

/* A period that the recorder could not keep up with is doubled, as often as it takes. */
struct wtr_sampling {
    uint64_t asked, period; /* what was asked for, and what it was in the end */
    uint64_t samples;       /* in the file */
    uint64_t skipped;       /* further ones that the period asked for would have brought */
    uint64_t dropped;       /* taken, but for want of room not in the file */
    uint32_t event;         /* enum wtr_counted */
    uint32_t doubled;       /* how often */
};

struct wtr_end {
    uint64_t records;  /* before this one */
    uint64_t branches; /* in them */
};

_Static_assert(sizeof(struct wtr_file_header) == 80, "file header");
_Static_assert(offsetof(struct wtr_file_header, check) == 76, "file header's check");
_Static_assert(sizeof(struct wtr_record) == 16, "record header");
_Static_assert(offsetof(struct wtr_record, check) == 12, "record's check");
_Static_assert(sizeof(struct wtr_branch) == 24, "branch");
_Static_assert(sizeof(struct wtr_branches) == 8, "branches");
_Static_assert(sizeof(struct wtr_packed) == 24, "packed");
_Static_assert(sizeof(struct wtr_time) == 8, "time");
_Static_assert(sizeof(struct wtr_lost) == 16, "lost");
_Static_assert(sizeof(struct wtr_mode) == 8, "mode");
_Static_assert(sizeof(struct wtr_migrate) == 16, "migrate");
_Static_assert(sizeof(struct wtr_exception) == 24, "exception");
_Static_assert(sizeof(struct wtr_image) == 24, "image");
_Static_assert(sizeof(struct wtr_segment) == 32, "segment");
_Static_assert(sizeof(struct wtr_task) == 24, "task");
_Static_assert(sizeof(struct wtr_bytes) == 8, "bytes");
_Static_assert(sizeof(struct wtr_exit) == 16, "exit");
_Static_assert(sizeof(struct wtr_end) == 16, "end");
_Static_assert(sizeof(struct wtr_samples) == 24, "samples");
_Static_assert(sizeof(struct wtr_sample) == 24, "sample");
_Static_assert(sizeof(struct wtr_registers) == 160, "registers");
_Static_assert(sizeof(struct wtr_sampling) == 48, "sampling");
_Static_assert(sizeof(struct wtr_start) == 24, "start");
_Static_assert(sizeof(struct wtr_refused) == 8, "refused");
_Static_assert(sizeof(struct wtr_signal) == 24, "signal");

#endif
