/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A trace file in memory: checked, indexed, and walked record by record. Nothing in the file
 * is trusted; what is damaged is skipped and told.
 */
#ifndef HARNESS_WTR_CORE_TRACE_H
#define HARNESS_WTR_CORE_TRACE_H

#include "harness/tracefile/wtr_format.h"
#include "harness/wtr/core/util.h"

struct damage {
    uint64_t offset, bytes; /* what could not be read */
};

struct trace {
    const char *path;
    uint8_t *bytes;
    size_t size;
    struct wtr_file_header header;
    VECTOR(uint64_t)
    offsets; /* of the good records; a gap has the mark below and damage's index */
    VECTOR(struct damage) damages;
    uint64_t kinds[WTR_KINDS]; /* records of each kind; [0] counts unknown ones */
    uint64_t kind_bytes[WTR_KINDS];
    uint64_t branches; /* by the counts in the records */
    bool ended;        /* the END record is there ... */
    struct wtr_end end;
    uint64_t after_end; /* ... and so many bytes behind it */
};

/* A taken branch. */
struct branch {
    uint64_t from, to, flags;
    uint64_t index; /* 0 = first of the file */
    uint32_t task;
    uint16_t cpu;
};

/* Anything else; the members of the body's kind are valid. */
struct event {
    enum wtr_kind kind;
    uint16_t cpu;
    uint32_t task;
    uint64_t index; /* of the branch that follows */
    union {
        uint8_t fixed[48];
        struct wtr_time time; /* ARRIVES, DEPARTS, TIME */
        struct wtr_lost lost; /* LOST, WRAP */
        struct wtr_mode mode;
        struct wtr_migrate migrate;
        struct wtr_exception exception;
        struct wtr_image image;
        struct wtr_task about;
        struct wtr_bytes data; /* ARGUMENTS, OUTPUT */
        struct wtr_exit exit;
        struct wtr_samples samples;
        struct wtr_sampling sampling;
        struct wtr_start start;
        struct wtr_refused refused;
        struct wtr_signal signal;
    };
    const uint8_t *tail; /* IMAGE: segments; TASK: name with NUL; others: bytes */
    const uint8_t *build_id;
    const char *path; /* IMAGE: ends in NUL */
};

struct visitor {
    void (*branch)(void *context, const struct branch *branch);
    void (*event)(void *context, const struct event *event);
};

/*
 * Reads path. False with one complaint when it is no trace; then nothing has to be closed.
 * A damaged trace opens: see damages and ended.
 */
bool trace_open(struct trace *trace, const char *path);

/* The same from memory, which the trace then owns; path is for messages. */
bool trace_adopt(struct trace *trace, const char *path, uint8_t *bytes, size_t size);
void trace_close(struct trace *trace);

/* All records in order. A gap shows as a LOST event of an unknown count. */
void trace_walk(const struct trace *trace, const struct visitor *visitor, void *context);

/* Tells on standard error what of the file is missing; true when nothing is. */
bool trace_whole(const struct trace *trace);
/* The same of what the recorder lost; true when it lost something. */
bool trace_has_gaps(const struct trace *trace);

#endif
