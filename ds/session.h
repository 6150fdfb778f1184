/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sessions: one owner tracing one processor or one task through the BTS half, or sampling it
 * through the PEBS half, on a buffer of its own or of the pool. The two halves of one area may
 * have two owners, who need not know of each other. A call that fails has changed nothing.
 *
 * suspend, resume, reset, clear, size, get, drain, samples, set_reset and status take no lock:
 * they may be called with interrupts off, in a fault handler and in an NMI. request and release
 * are refused (DS_EBUSY) inside any other call on the same processor: from an NMI that landed
 * in it, or from the overflow callback.
 *
 * Errors of every call on a session, in this order: DS_ESRCH no such session; DS_EPERM the
 * caller is not its owner, or the session is loaded on another processor; DS_EBUSY another
 * processor works on it and does not end (CONTEXT_TRIES); DS_EINVAL a call for the other half;
 * then the call's own.
 */
#ifndef DS_SESSION_H
#define DS_SESSION_H

#include "ds/bts.h"
#include "ds/context.h"
#include "ds/error.h"
#include "ds/pebs.h"
#include "ds/pool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 0 is no session; a released id never comes back to life in another's session. */
typedef uint64_t session_id;

#define SESSIONS_MOST 128u

enum session_origin { SESSION_FROM_START, SESSION_FROM_END };

/* No threshold: a circular buffer that never interrupts. */
#define SESSION_NO_THRESHOLD SIZE_MAX

/* Gets the records, oldest first, in the interrupt handler with the trace off. */
typedef void session_overflow(void *context, session_id session,
                              const struct bts_record *records, size_t count);

/* Told that an overflow without a callback has suspended the session; in the handler. */
typedef void session_notify(void *context, session_id session);

struct session_request {
    const struct ds_owner *owner;
    /*
     * NULL: the processor that makes the request. A task that runs on another one is traced
     * from its next switch on.
     */
    struct ds_task *task;
    void *buffer; /* NULL: from the pool, charged to the owner's payer */
    size_t bytes;
    enum session_origin origin;
    size_t threshold; /* records from the origin, inside the buffer, or SESSION_NO_THRESHOLD */
    bool user, kernel;
    bool marks;     /* wants software marks (ds/records.h) in the ring */
    bool suspended; /* do not start yet: one resume is owed */
    /* NULL with a threshold: the overflow suspends the session and sets a flag. */
    session_overflow *overflow;
    session_notify *notify; /* of that; may be NULL */
    void *context;
    const uint64_t *tables; /* further CR3 values in force while tracing, until the release */
    size_t table_count;
};

struct session_result {
    session_id id;
    const char *why;               /* the rule that was broken */
    const struct ds_owner *holder; /* with DS_EBUSY: who owns the half */
};

/* How the machine is, once for all processors. */
struct session_machine {
    struct pool *pool;
    bool has_bts;            /* the gate's word */
    const struct pmc *pmc;   /* the counters, and whether they can sample; NULL: none */
    bool interrupts;         /* the LVT performance entry is ours to program */
    uint32_t lvt;            /* its value, unmasked */
    uint64_t (*clock)(void); /* for marks; NULL: they say 0 */
};
/* Forgets every session. Nothing may be loaded on any processor. */
void session_init(const struct session_machine *machine);

/*
 * Errors in this order: DS_EOPNOTSUPP a callback or threshold without interrupts; DS_EPERM a
 * task session meets a processor session; DS_ENOMEM no table entry; DS_EOPNOTSUPP no BTS;
 * DS_EINVAL no buffer, then smaller than two records, then the threshold, then neither user nor
 * kernel; DS_ENOMEM the pool or the payer's limit; DS_EBUSY the half is owned; then what
 * bts_setup refuses. *result is set in any case.
 */
enum ds_error session_request(const struct session_request *request,
                              struct session_result *result);

/* Gets the samples, one by one, in the interrupt handler with the sampling off. */
typedef void session_sampled(void *context, session_id session,
                             const struct pebs_sample *sample);

struct session_sampling {
    const struct ds_owner *owner;
    struct ds_task *task; /* NULL: the processor that makes the request */
    void *buffer;         /* NULL: from the pool, charged to the owner's payer */
    size_t records;       /* of the buffer; what one takes is the format's to say */
    enum session_origin origin;
    size_t threshold; /* as of a trace; without one the buffer fills and sampling ends */
    const struct pebs_counter *counters;
    size_t counter_count;
    bool user, kernel;
    uint64_t groups; /* of adaptive records: PEBS_GROUP_..., or none */
    bool suspended;  /* do not start yet: one resume is owed */
    /* NULL with a threshold: the overflow suspends the session and sets a flag. */
    session_sampled *sampled;
    session_notify *notify; /* of that; may be NULL */
    void *context;
    const uint64_t *tables; /* further CR3 values in force while sampling, until the release */
    size_t table_count;
};

/*
 * As session_request, with "no PEBS" for "no BTS" and then a record format that is not known;
 * in the end what pebs_setup refuses, counter resets among it.
 */
enum ds_error session_sample(const struct session_sampling *request,
                             struct session_result *result);

/*
 * From any processor: the one that has it loaded is asked by an interrupt. DS_EBUSY it does not
 * answer within cross_call_ticks, or (SESSION_RELEASE_TRIES) is always in another call.
 */
enum ds_error session_release(session_id id, const struct ds_owner *caller);
#define SESSION_RELEASE_TRIES 1000u
/* Asks nobody: DS_EPERM when another processor has it loaded. */
enum ds_error session_release_here(session_id id, const struct ds_owner *caller);
/*
 * Everything that an owner that has died held, or that was traced in a task that has ended.
 * Returns how many sessions could not be released: as session_release, or (SESSIONS_MOST)
 * another call is in progress.
 */
size_t session_owner_died(const struct ds_owner *owner);
size_t session_task_ended(struct ds_task *task);

/*
 * This processor is about to be handed back, by it: what it traces stops, DS_AREA becomes 0.
 * Its session can be read and released from every other one; suspend and resume: DS_ESRCH.
 */
void session_processor_leaves(void);

/*
 * Nest: the trace is on when every suspend was answered. Resume gives DS_EINVAL without a
 * suspend, DS_EBUSY while an overflow without a callback has not been drained or reset, and
 * DS_EFAULT when a page of area or buffer is not any more as the request found it.
 */
enum ds_error session_suspend(session_id id, const struct ds_owner *caller);
enum ds_error session_resume(session_id id, const struct ds_owner *caller);

/* These want the session suspended (or its task not running): DS_EBUSY otherwise. */
enum ds_error session_reset(session_id id, const struct ds_owner *caller);
enum ds_error session_clear(session_id id, const struct ds_owner *caller);
/* Record i, 0 = the newest; DS_EINVAL past the oldest. */
enum ds_error session_get(session_id id, const struct ds_owner *caller, size_t i,
                          struct bts_record *record);
/*
 * Takes the oldest records, at most most of them. DS_EIO, with none taken, when room is too
 * small for that; DS_EFAULT when to is NULL.
 */
enum ds_error session_drain(session_id id, const struct ds_owner *caller, struct bts_record *to,
                            size_t room, size_t most, size_t *count);

/* The same for samples: the oldest, at most most of them. */
enum ds_error session_samples(session_id id, const struct ds_owner *caller,
                              struct pebs_sample *to, size_t room, size_t most, size_t *count);
/* A counter's reset value, as pebs_set_reset: it counts from the next record on. */
enum ds_error session_set_reset(session_id id, const struct ds_owner *caller, unsigned counter,
                                uint64_t reset, const char **why);

/* Records that can be read now (not the position of the index). */
enum ds_error session_size(session_id id, const struct ds_owner *caller, size_t *records);

struct session_status {
    enum ds_half half;
    const struct ds_owner *owner;
    struct ds_task *task;
    unsigned cpu; /* of a processor session */
    size_t capacity, records;
    size_t threshold; /* records from the base; SESSION_NO_THRESHOLD = none */
    bool user, kernel, marks;
    bool running;    /* stores branches or samples now, on this processor */
    bool full;       /* older records may have been overwritten */
    bool overflowed; /* the threshold suspended it; cleared by resume */
    uint32_t suspended;
    uint64_t overflows; /* threshold interrupts */
    uint64_t lost;      /* of these, with a full buffer */
};
/* Open to everybody: a debugger may ask who holds what it wants. */
enum ds_error session_status(session_id id, struct session_status *status);

/*
 * The scheduler, with interrupts off: trace off, DEPARTS into the old ring, ARRIVES into the
 * new one, DS_AREA, DEBUGCTL last. Either may be NULL. A task that comes to a processor with a
 * session of its own runs there untraced; that session gets both marks. Others in the new ring
 * say that the task comes from another processor (MIGRATE), that it ran where its own session
 * could not see it (LOST, unknown), in which mode it goes on where that is new (MODE).
 */
enum ds_error session_switch(struct ds_task *from, struct ds_task *to);

/* In the handler of an exception: marks it in the ring that is stored to here, if any. */
void session_exception(unsigned vector, uint64_t address, uint64_t error);

/*
 * The PMI handler's body: true when it was a session's. A ring with marks that was full says so
 * in its first one (LOST, unknown).
 */
bool session_pmi(void);

#endif
