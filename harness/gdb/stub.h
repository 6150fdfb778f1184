/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * GDB's remote protocol over one program that is debugged: what is known between packets. All
 * of it is pure logic; the line and the program are brought by the caller.
 */
#ifndef HARNESS_GDB_STUB_H
#define HARNESS_GDB_STUB_H

#include "harness/gdb/btrace.h"
#include "harness/gdb/packet.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GDB_BREAKPOINTS 64u

/* In GDB's own order. rax rbx rcx rdx rsi rdi rbp rsp r8..r15, then these. */
enum {
    GDB_RSP = 7,
    GDB_RIP = 16,
    GDB_RFLAGS,
    GDB_CS,
    GDB_SS,
    GDB_DS,
    GDB_ES,
    GDB_FS,
    GDB_GS,
    GDB_CORE_REGISTERS
};

struct gdb_registers {
    uint64_t core[GDB_CORE_REGISTERS];
    uint64_t fs_base, gs_base;
    uint8_t fx[512]; /* as FXSAVE lays it out */
};

/* GDB's numbers of signals, which are its own. */
enum {
    GDB_SIGINT = 2,
    GDB_SIGILL = 4,
    GDB_SIGTRAP = 5,
    GDB_SIGFPE = 8,
    GDB_SIGBUS = 10,
    GDB_SIGSEGV = 11,
    GDB_SIGTERM = 15
};

enum gdb_stop_kind {
    GDB_STEPPED,
    GDB_BREAKPOINT, /* RIP behind the INT3 */
    GDB_WATCHED,    /* by a debug register */
    GDB_INTERRUPTED,
    GDB_SIGNALLED, /* by an exception: code is the signal */
    GDB_CALLING,   /* before a system call that gdb_catches wants; number says which */
    GDB_CALLED,    /* behind it */
    GDB_EXITING,   /* about to exit, RIP at the system call: code is its exit code */
    GDB_LOST       /* its time is up, or it cannot be run */
};

struct gdb_stop {
    enum gdb_stop_kind kind;
    uint8_t code;
    uint32_t number; /* of a system call */
};

/* Pages of the program that lie together and are used alike. */
struct gdb_mapping {
    uint64_t start, end;
    bool write, execute;
};

#define GDB_CATCHES 16u
#define GDB_WORDS   4096u /* bytes of the words that a program is run with */

struct gdb;

/* The program. It stands still in all of these but resume. */
struct gdb_target {
    /* How many of the bytes could be read; false when not all could be written. */
    size_t (*read)(void *context, uint64_t address, void *to, size_t count);
    bool (*write)(void *context, uint64_t address, const void *from, size_t count);
    /*
     * Runs it from registers on, until it stops; registers and trace are then up to date.
     * Calls gdb_poll now and then, and stops when that says so.
     */
    struct gdb_stop (*resume)(void *context, struct gdb *gdb, bool step);
    /* Recording: NULL and the log begun, or why not. bytes: the size asked for. */
    const char *(*record)(void *context, struct btrace_log *log, uint64_t bytes, uint64_t pc);
    void (*record_end)(void *context);
    /* Single steps go from branch to branch; false: the processor has no such thing. */
    bool (*block_step)(void *context, bool on);
    /* Debug register 0..3: execute 0, write 1, access 3 over 1, 2, 4 or 8 bytes; 0 = off. */
    bool (*watch)(void *context, unsigned number, uint64_t address, unsigned access,
                  unsigned bytes);
    /* Behind or at an address, the next pages that ring 3 reaches; false: there are none. */
    bool (*mapping)(void *context, uint64_t from, struct gdb_mapping *to);
    /*
     * Begins the program anew, with count words, the first its name; 0: with those that it had.
     * NULL, or why not. *registers then say where it stands.
     */
    const char *(*restart)(void *context, const char *words, unsigned count,
                           struct gdb_registers *registers);
    const uint8_t *file; /* the program, and its name */
    size_t file_bytes;
    const char *path;
    void *context;
};

struct gdb_breakpoint {
    uint64_t address;
    bool used, inserted;
    uint8_t was;
};

struct gdb {
    struct packet_line line;
    struct gdb_target target;
    /* The next byte of the line, -1 when there is none now. */
    int (*get)(void *context);
    void *get_context;

    struct gdb_registers registers;
    uint64_t start_rsp; /* at the program's start: its words and vectors lie there */
    struct gdb_breakpoint breakpoints[GDB_BREAKPOINTS];
    struct btrace_log trace;
    uint64_t record_bytes; /* what Qbtrace-conf asked for */
    struct gdb_stop stop;  /* why the program stands */
    uint64_t stopped_at;
    bool attached; /* somebody listens */
    bool waiting;  /* a packet came while the program ran: it is in line.received */
    bool running;
    bool swbreak;   /* the debugger knows that stop reason */
    bool ended;     /* nothing more to serve */
    bool reasons;   /* it takes a SIGTRAP without a reason for the breakpoint that lies there */
    bool processes; /* threads are named with their process: multiprocess+ */
    bool extended;  /* the debugger stays when the program has gone, and may run it again */
    bool gone;      /* it has */
    bool ran;       /* by vRun, so it is the debugger's */
    bool catching, catching_all;
    uint32_t catches[GDB_CATCHES];
    unsigned catch_count;
    struct gdb_watch {
        unsigned users; /* several watchpoints may need the same piece */
        uint64_t address;
        uint8_t access, bytes;
    } watches[4];
};

/* The program stands at registers; get and line_write are the line. */
void gdb_init(struct gdb *gdb, const struct gdb_target *target,
              const struct gdb_registers *registers, int (*get)(void *context),
              void (*line_write)(void *context, const char *bytes, size_t count),
              void *line_context);

/* Handles what is on the line, at most one packet. Does not wait, but resumes the program. */
void gdb_serve(struct gdb *gdb);

/* While the program runs: true when the line wants it to stop. Safe in an interrupt handler. */
bool gdb_poll(struct gdb *gdb);

/* Whether the debugger wants a stop at this system call. */
bool gdb_catches(const struct gdb *gdb, uint32_t number);

/* While the program runs: what it wrote, for the debugger's console. */
void gdb_output(struct gdb *gdb, const uint8_t *bytes, size_t count);

/* --- between the files of this folder */

/* A reply: text into line.sent, then sent. NULL or "" is `not known here`. */
void gdb_reply(struct gdb *gdb, const char *text);
/* What lies in line.sent up to end. */
void gdb_reply_to(struct gdb *gdb, const char *end);
/* The next thing on the line that means something. */
enum packet_event gdb_next_event(struct gdb *gdb);
void gdb_reply_stop(struct gdb *gdb);

/* Each handles the packets of its kind and replies; false: not one of its own. */
bool gdb_query(struct gdb *gdb, const char *packet);
bool gdb_registers_packet(struct gdb *gdb, const char *packet);
bool gdb_breakpoint_packet(struct gdb *gdb, const char *packet);
/* qXfer: documents about the program, its trace and this stub. */
bool gdb_transfer_packet(struct gdb *gdb, const char *packet);
/* vFile: the program's file and what Linux says of its memory. */
bool gdb_file_packet(struct gdb *gdb, const char *packet);
/* What a debugger that is not GDB asks first. */
bool gdb_host_packet(struct gdb *gdb, const char *packet);
/* v packets, c, s, C, S, R, D, k. */
bool gdb_resume_packet(struct gdb *gdb, const char *packet);

/* The description of the registers; its text. */
const char *gdb_target_text(void);
/* Bytes of the auxiliary vector from the program's start on; how many. */
size_t gdb_auxv(struct gdb *gdb, uint64_t offset, void *to, size_t room);
/* An entry of it; false: it is not there. */
bool gdb_auxv_entry(struct gdb *gdb, uint64_t type, uint64_t *value);
/* Of the lines of /proc/PID/maps, up to room bytes from offset on. */
size_t gdb_maps(struct gdb *gdb, uint64_t offset, char *to, size_t room);

/* `p1.1` or `1`, as this debugger wants it. */
char *gdb_put_thread(const struct gdb *gdb, char *to);
/* Of what a debugger calls a thread: true for any and for the only one. */
bool gdb_is_ours(const char *thread);

/* The debugger moves RIP; false: not where a program can be. */
bool gdb_jump(struct gdb *gdb, uint64_t address);
void gdb_breakpoints_insert(struct gdb *gdb);
void gdb_breakpoints_remove(struct gdb *gdb);
/* Whether one of them lies there. */
bool gdb_breakpoint_at(const struct gdb *gdb, uint64_t address);
void gdb_breakpoints_forget(struct gdb *gdb);
void gdb_record_end(struct gdb *gdb);
/* The program stands at its start, anew. */
void gdb_started(struct gdb *gdb);
/* Runs without anybody who listens, until the end or until somebody comes. */
void gdb_run_alone(struct gdb *gdb);

#endif
