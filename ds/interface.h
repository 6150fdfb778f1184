/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Branch traces for a tracer in ring 3: seven commands on another task, after the interface
 * that debuggers had from 2007 to 2009, with its faults mended. The kernel's tasks and the
 * tracer's memory are behind callbacks; what it costs is charged to the tracer.
 *
 * Every record is a struct record of INTERFACE_RECORD_BYTES, which STATUS tells, with its own
 * size inside. Only branches with both ends in ring 3 are shown: a crossing would give a kernel
 * address away. A ring that has been full has a RECORD_WRAP before its oldest record, which
 * counts as any other.
 */
#ifndef DS_INTERFACE_H
#define DS_INTERFACE_H

#include "ds/records.h"
#include "ds/session.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum interface_command {
    INTERFACE_SINGLEBLOCK = 33, /* the kernel's: to the target's next taken branch */
    INTERFACE_CONFIG = 40,      /* address, bytes: a struct interface_config */
    INTERFACE_STATUS,           /* the same, written: what is in force */
    INTERFACE_SIZE,             /* records that can be read, after a wrap both halves */
    INTERFACE_GET,              /* address, index: 0 = the newest, past the oldest its WRAP */
    INTERFACE_CLEAR,
    INTERFACE_DRAIN /* address, bytes of room: oldest first, as many as fit */
};

enum interface_flags {
    INTERFACE_TRACE = 1,  /* record branches */
    INTERFACE_SCHED = 2,  /* marks at switches */
    INTERFACE_SIGNAL = 4, /* at three quarters: stop, and tell the tracer by this signal */
    INTERFACE_ALLOC = 8,  /* another buffer, of this size; 0 = end the trace */
};

struct interface_config {
    uint32_t bytes; /* of the buffer */
    uint32_t flags;
    uint32_t signal; /* 1..63 with INTERFACE_SIGNAL, else 0 */
    uint32_t record_bytes;
};
_Static_assert(sizeof(struct interface_config) == 16, "as it always was");

#define INTERFACE_RECORD_BYTES sizeof(struct record)

/* The trace of one target; all zero when it has none. */
struct interface_trace {
    session_id session;
    struct interface_config config;
    const struct ds_owner *tracer;
    void *buffer;    /* of the pool */
    bool wrap_shown; /* drained, but nothing of the ring behind it */
    struct record_filter filter;
    void (*signal)(void *context, unsigned signal); /* the tracer's */
    void *context;
};

struct interface_call {
    struct interface_trace *trace;
    struct pool *pool;
    const struct ds_owner *tracer;
    struct ds_task *target;
    uint64_t low, high; /* ring 3's addresses of the target */
    const uint64_t *tables;
    enum interface_command command;
    uint64_t address, data;
    void (*signal)(void *context, unsigned signal);
    void *context;
    /* The tracer's memory. copy copies nothing, and says false, unless all of it may be. */
    bool (*may_write)(void *context, uint64_t address, size_t bytes);
    bool (*copy_in)(void *context, void *to, uint64_t address, size_t bytes);
    bool (*copy_out)(void *context, uint64_t address, const void *from, size_t bytes);
};

/*
 * The result, or -enum ds_error: DS_EINVAL no such command; DS_EPERM the tracer traces itself;
 * DS_ESRCH there is no trace (all but CONFIG); DS_EBUSY (CONFIG) or DS_EPERM it is another's
 * (STATUS is open to everybody); DS_EIO bytes too few; DS_EFAULT an address; then the command's
 * own: CONFIG gives DS_EINVAL for unknown flags, a signal that does not go with the flags, no
 * buffer to trace into; DS_EOPNOTSUPP, DS_ENOMEM and DS_EBUSY as session_request. GET:
 * DS_EINVAL past the oldest. A call that fails has changed nothing, a trace in progress goes
 * on.
 */
int64_t interface_call(const struct interface_call *call);

/* Ends the trace; also when target or tracer has died and the session is gone already. */
void interface_release(struct interface_trace *trace, struct pool *pool);

#endif
