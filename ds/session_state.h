/* SPDX-License-Identifier: BSD-2-Clause */
/* What is kept of one session. For ds/session*.c only. */
#ifndef DS_SESSION_STATE_H
#define DS_SESSION_STATE_H

#include "ds/buffer.h"
#include "ds/pmi.h"
#include "ds/records.h"
#include "ds/session.h"
#include "hw/lock.h"

struct session {
    session_id id; /* 0: this entry is free */
    const struct ds_owner *owner;
    struct ds_context *context;
    enum ds_half half; /* which of the next two is in use */
    struct bts bts;
    struct pebs pebs;
    struct pmi pmi;
    void *from_pool; /* the buffer, when the pool gave it */
    struct ds_buffer buffer;
    session_overflow *overflow;
    session_sampled *sampled;
    session_notify *notify;
    void *callback_context;
    size_t threshold;
    bool user, kernel, marks;
    volatile bool overflowed;
    volatile uint32_t suspended;
    uint64_t unmarked; /* marks that found no room since the last one that did */
    uint32_t mode;     /* the last that was marked */
};

extern struct session_machine session_machine;
extern struct session session_table[SESSIONS_MOST];
extern struct lock session_lock; /* request and release */

/* What the requests for the two halves have in common. */
struct session_scope {
    enum ds_half half;
    const struct ds_owner *owner;
    struct ds_task *task;
    void *buffer;
    size_t bytes, records;
    const uint64_t *tables; /* as in the requests */
    size_t table_count;
    enum session_origin origin;
    size_t threshold;
    bool interrupts; /* it needs them */
    bool user, kernel, suspended;
    const char *missing; /* what the processor lacks for this half; NULL: nothing */
    /* Sets the half's driver up on area and buffer, and what else of session is the half's. */
    enum ds_error (*set_up)(struct session *session, struct ds_area *area, void *buffer,
                            const struct session_scope *scope, const char **why);
    const void *request;
};

/* Examines, takes buffer and half, sets up, and starts. *result is set in any case. */
enum ds_error session_open(const struct session_scope *scope, struct session_result *result);

/* Records from the base; 0 for none. */
size_t session_threshold(const struct session_scope *scope);

/*
 * Puts a mark into the ring of a session that wants any, with the time where its kind has one;
 * the trace is off. Behind marks that could not be put comes first how many they were.
 */
void session_mark(struct session *session, struct record mark);
/* Of records that are gone, nobody knows how many. */
void session_mark_lost(struct session *session);
/* Of a mode other than the last. */
void session_mark_mode(struct session *session, uint32_t mode);

/* Whether somebody takes the records in the interrupt; else they wait in the buffer. */
static inline bool session_takes_records(const struct session *session)
{
    return session->overflow || session->sampled;
}

/* The session that stores in that half of the context, NULL for none. */
struct session *session_in(const struct ds_context *context, enum ds_half half);

/* The live session of that id, or NULL. */
struct session *session_find(session_id id);

/* A call on a session, from enter to leave. */
struct session_call {
    struct session *session;
    struct ds_context *held; /* to be dropped */
};

/*
 * Begins a call on a session of that half (DS_HALVES: of any), and works on its context. Every
 * enter has its leave, whether it succeeded or not; leave gives its argument back.
 */
enum ds_error session_enter(session_id id, const struct ds_owner *caller, enum ds_half half,
                            struct session_call *call);
enum ds_error session_leave(const struct session_call *call, enum ds_error error);

/*
 * Calls in progress on this processor. A request or release that finds one is an NMI, or a
 * callback, in the middle of it: it is refused, since it could free what the call works on.
 */
void session_call_begins(void);
void session_call_ends(void);
bool session_call_in_progress(void);

/* Lets the hardware store for it, if it is loaded here and nothing holds it. */
enum ds_error session_go(struct session *session);
/* The same; one whose buffer is at its threshold waits for a drain, and its owner is told. */
void session_go_or_wait(struct session *session);

/*
 * Storing off, and counted as a suspend: the count goes up first, or an NMI that suspends and
 * resumes in between would start it again. Unhold takes the count back and starts nothing.
 */
void session_hold(struct session *session);
void session_unhold(struct session *session);

#endif
