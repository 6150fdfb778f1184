/* SPDX-License-Identifier: BSD-2-Clause */
/* What is kept of one session. For ds/session*.c only. */
#ifndef DS_SESSION_STATE_H
#define DS_SESSION_STATE_H

#include "ds/pmi.h"
#include "ds/records.h"
#include "ds/session.h"
#include "hw/lock.h"

struct session {
    session_id id; /* 0: this entry is free */
    const struct ds_owner *owner;
    struct ds_context *context;
    struct bts bts;
    struct pmi pmi;
    void *from_pool; /* the buffer, when the pool gave it */
    session_overflow *overflow;
    session_notify *notify;
    void *overflow_context;
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

/*
 * Puts a mark into the ring of a session that wants any, with the time where its kind has one;
 * the trace is off. Behind marks that could not be put comes first how many they were.
 */
void session_mark(struct session *session, struct record mark);
/* Of a mode other than the last. */
void session_mark_mode(struct session *session, uint32_t mode);

/* The session that stores in that context, NULL for none. */
struct session *session_in(const struct ds_context *context);

/* The live session of that id, or NULL. */
struct session *session_find(session_id id);

/*
 * Calls in progress on this processor. A request or release that finds one is an NMI, or a
 * callback, in the middle of it: it is refused, since it could free what the call works on.
 */
void session_call_begins(void);
void session_call_ends(void);
bool session_call_in_progress(void);

/* Lets the hardware store for it, if it is loaded here and nothing holds it. */
enum ds_error session_go(struct session *session);

/*
 * Trace off, and counted as a suspend: the count goes up first, or an NMI that suspends and
 * resumes in between would start it again. Unhold takes the count back and starts nothing.
 */
void session_hold(struct session *session);
void session_unhold(struct session *session);

#endif
