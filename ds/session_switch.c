/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What happens to sessions: the switch of tasks, exceptions, and the interrupt. No locks here.
 */
#include "ds/session.h"

#include "ds/broker.h"
#include "ds/session_state.h"
#include "hw/cpu.h"

/* The records wait for a drain, and the session for a resume. */
static void overflowed(struct session *session)
{
    session->overflowed = true;
    /* A suspended session that meets its last interrupt late is suspended already. */
    if (!session->suspended)
        __atomic_fetch_add(&session->suspended, 1, __ATOMIC_SEQ_CST);
    if (session->notify)
        session->notify(session->callback_context, session->id);
}

void session_go_or_wait(struct session *session)
{
    if (session_go(session) == DS_EBUSY)
        overflowed(session);
}

/* Both traces are off. */
static void mark_arrival(struct session *session, struct ds_task *to)
{
    unsigned cpu = cpu_index();

    if (to->ran && to->cpu != cpu)
        session_mark(session,
                     (struct record){.kind = RECORD_MIGRATE, .detail = to->cpu | cpu << 16});
    session_mark(session, (struct record){.kind = RECORD_ARRIVES, .detail = to->id});
    if (to->mode)
        session_mark_mode(session, to->mode);
}

/* What a task of its own session did elsewhere that nobody could store. */
static void mark_missed(struct session *session, struct ds_context *context, struct ds_task *to)
{
    bool own = context && context == to->context;

    if (own && to->missed)
        session_mark_lost(session);
    to->missed = to->context && !own;
}

/*
 * Loads next where that is not so already; old is let go when nothing here needs it any more.
 */
static enum ds_error exchange(struct ds_context *next, struct session *const leaving[DS_HALVES])
{
    struct ds_context *before = NULL;
    enum ds_error error = DS_OK;

    if (next != context_loaded() || (next && broker_ds_area() != next->area))
        error = context_swap(next, &before);
    /* Only now: an NMI's resume in between would have loaded the old area again. */
    for (enum ds_half half = 0; half < DS_HALVES; half++)
        if (leaving[half])
            session_unhold(leaving[half]);
    if (before)
        context_drop(before);
    return error;
}

/*
 * Starts what may start in a context that is loaded. Branches last: the start of the samples
 * would be among them.
 */
static void start_both(const struct ds_context *context)
{
    for (enum ds_half half = DS_HALVES; half-- > 0;) {
        struct session *session = session_in(context, half);

        if (session)
            session_go_or_wait(session);
    }
}

/* Marks go among branches alone. */
enum ds_error session_switch(struct ds_task *from, struct ds_task *to)
{
    struct ds_context *old, *next;
    struct session *leaving[DS_HALVES];
    bool old_taken, next_taken;
    enum ds_error error;

    session_call_begins();
    old = context_take(from, &old_taken);
    next = context_take(to, &next_taken);
    for (enum ds_half half = 0; half < DS_HALVES; half++) {
        leaving[half] = session_in(old, half);
        if (leaving[half])
            session_hold(leaving[half]);
    }
    if (from)
        session_mark(leaving[DS_HALF_BTS],
                     (struct record){.kind = RECORD_DEPARTS, .detail = from->id});
    if (to) {
        mark_missed(session_in(next, DS_HALF_BTS), next, to);
        mark_arrival(session_in(next, DS_HALF_BTS), to);
    }
    context_set_task(to);
    error = exchange(next, leaving);
    if (error == DS_OK)
        start_both(next);
    if (old_taken)
        context_settle(old);
    if (next_taken)
        context_settle(next);
    session_call_ends();
    return error;
}

/* The trace is off after a hold. What was put may have reached the threshold. */
static void go_on(struct session *session)
{
    session_unhold(session);
    session_go_or_wait(session);
}

void session_exception(unsigned vector, uint64_t address, uint64_t error)
{
    struct session *session;

    session_call_begins();
    session = session_in(context_loaded(), DS_HALF_BTS);
    if (session && session->marks) {
        session_hold(session);
        session_mark(session, (struct record){.kind = RECORD_EXCEPTION,
                                              .detail = vector,
                                              .exception = {address, error}});
        go_on(session);
    }
    session_call_ends();
}

/*
 * The session of that half that takes interrupts now: not while its records wait for a drain.
 */
static struct session *listener(enum ds_half half)
{
    struct session *session = session_in(context_loaded(), half);

    return session && session->pmi.armed && !session->overflowed ? session : NULL;
}

/* With marks the trace waits for the one that may have to come first in the emptied ring. */
static enum pmi_verdict claim(struct session *branches, struct session *samples)
{
    struct session *both[DS_HALVES] = {branches, samples};
    bool marks = branches && branches->overflow && branches->marks;
    uint64_t lost = marks ? branches->pmi.lost : 0;
    enum pmi_verdict verdict, each[DS_HALVES];

    if (marks)
        session_hold(branches);
    verdict =
        pmi_handle_both(branches ? &branches->pmi : NULL, samples ? &samples->pmi : NULL, each);
    if (marks && branches->pmi.lost != lost)
        session_mark_lost(branches);
    if (marks)
        go_on(branches);
    for (enum ds_half half = 0; half < DS_HALVES; half++)
        if (each[half] == PMI_CLAIMED && !session_takes_records(both[half]))
            overflowed(both[half]);
    return verdict;
}

bool session_pmi(void)
{
    struct session *branches, *samples;
    enum pmi_verdict verdict = PMI_FOREIGN;

    session_call_begins();
    branches = listener(DS_HALF_BTS);
    samples = listener(DS_HALF_PEBS);
    if (branches || samples)
        verdict = claim(branches, samples);
    session_call_ends();
    return verdict != PMI_FOREIGN;
}
