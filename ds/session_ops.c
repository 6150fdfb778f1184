/* SPDX-License-Identifier: BSD-2-Clause */
/* What its owner can do with a session of either half: suspend, reset, look. No locks here. */
#include "ds/session.h"

#include "ds/broker.h"
#include "ds/session_state.h"
#include "hw/apic.h"
#include "hw/cpu.h"

/* --- the two halves, alike */

static bool running(const struct session *session)
{
    return session->half == DS_HALF_BTS ? bts_running(&session->bts)
                                        : pebs_running(&session->pebs);
}

static enum ds_error start(struct session *session)
{
    return session->half == DS_HALF_BTS ? bts_start(&session->bts) : pebs_start(&session->pebs);
}

static void stop(struct session *session)
{
    if (session->half == DS_HALF_BTS)
        bts_stop(&session->bts);
    else
        pebs_stop(&session->pebs);
}

static size_t count(const struct session *session)
{
    return session->half == DS_HALF_BTS ? bts_count(&session->bts) : pebs_count(&session->pebs);
}

static bool at_threshold(const struct session *session)
{
    const struct ds_area *area = session->bts.area;

    if (session->half == DS_HALF_PEBS)
        return pebs_at_threshold(&session->pebs);
    return *(const volatile uint64_t *)&area->bts_index >= area->bts_threshold;
}

static bool loaded_here(const struct session *session)
{
    return session->context->loaded && session->context->loaded_cpu == cpu_index();
}

/* The index has reached the threshold, and nobody takes the records by himself. */
static bool stuck(const struct session *session)
{
    return session->pmi.armed && !session_takes_records(session) && at_threshold(session);
}

enum ds_error session_go(struct session *session)
{
    enum ds_error error;

    if (session->suspended || !loaded_here(session) || running(session))
        return DS_OK;
    if (stuck(session))
        return DS_EBUSY;
    if (session->pmi.armed) {
        uint64_t lost = session->pmi.lost;

        /* An interrupt that came while another task ran was taken for nobody's. */
        if (at_threshold(session))
            pmi_poll(&session->pmi);
        if (session->pmi.lost != lost)
            session_mark_lost(session);
        apic_lvt_perf_write(session->pmi.lvt);
    }
    error = start(session);
    /* An overflow in the middle of the start has suspended it, and our write came after. */
    if (session->suspended)
        stop(session);
    /* An NMI's resume may have been faster. */
    return running(session) ? DS_OK : error;
}

void session_hold(struct session *session)
{
    __atomic_fetch_add(&session->suspended, 1, __ATOMIC_SEQ_CST);
    if (loaded_here(session))
        stop(session);
}

void session_unhold(struct session *session)
{
    __atomic_fetch_sub(&session->suspended, 1, __ATOMIC_SEQ_CST);
}

enum ds_error session_enter(session_id id, const struct ds_owner *caller, enum ds_half half,
                            struct session_call *call)
{
    struct session *session;
    struct ds_context *context;
    const struct ds_owner *owner;
    bool taken;

    *call = (struct session_call){0};
    session_call_begins();
    session = session_find(id);
    if (!session)
        return DS_ESRCH;
    owner = session->owner;
    context = session->context;
    if (!owner || !context) /* another processor is releasing it */
        return DS_ESRCH;
    if (owner->id != caller->id)
        return DS_EPERM;
    if (!context_hold(context, &taken))
        return context->loaded ? DS_EPERM : DS_EBUSY;
    call->held = taken ? context : NULL;
    call->session = session;
    /* Released by another processor in between? */
    if (session->id != id)
        return DS_ESRCH;
    return half == DS_HALVES || half == session->half ? DS_OK : DS_EINVAL;
}

enum ds_error session_leave(const struct session_call *call, enum ds_error error)
{
    if (call->held)
        context_drop(call->held);
    session_call_ends();
    return error;
}

static enum ds_error suspend(struct session *session)
{
    if (session->context->gone)
        return DS_ESRCH;
    if (session->suspended == UINT32_MAX)
        return DS_EINVAL;
    session_hold(session);
    return DS_OK;
}

enum ds_error session_suspend(session_id id, const struct ds_owner *caller)
{
    struct session_call call;
    enum ds_error error = session_enter(id, caller, DS_HALVES, &call);

    return session_leave(&call, error == DS_OK ? suspend(call.session) : error);
}

static enum ds_error resume(struct session *session)
{
    bool overflowed = session->overflowed;
    enum ds_error error;

    if (session->context->gone)
        return DS_ESRCH;
    if (!session->suspended)
        return DS_EINVAL;
    if (session->suspended == 1 && stuck(session))
        return DS_EBUSY;
    /* The processor cannot take a page fault for a store: what was seen must hold still. */
    if (session->suspended == 1 && !buffer_holds(session->context->area, &session->buffer))
        return DS_EFAULT;
    if (__atomic_sub_fetch(&session->suspended, 1, __ATOMIC_SEQ_CST))
        return DS_OK;
    session->overflowed = false;
    error = session_go(session);
    if (error != DS_OK) {
        __atomic_fetch_add(&session->suspended, 1, __ATOMIC_SEQ_CST);
        session->overflowed = overflowed;
    }
    return error;
}

enum ds_error session_resume(session_id id, const struct ds_owner *caller)
{
    struct session_call call;
    enum ds_error error = session_enter(id, caller, DS_HALVES, &call);

    return session_leave(&call, error == DS_OK ? resume(call.session) : error);
}

/* Samples leave nothing behind that a reader could take for a record. */
static enum ds_error reset(struct session *session, bool clear)
{
    if (session->half == DS_HALF_PEBS)
        return pebs_reset(&session->pebs);
    return clear ? bts_clear(&session->bts) : bts_reset(&session->bts);
}

enum ds_error session_reset(session_id id, const struct ds_owner *caller)
{
    struct session_call call;
    enum ds_error error = session_enter(id, caller, DS_HALVES, &call);

    return session_leave(&call, error == DS_OK ? reset(call.session, false) : error);
}

enum ds_error session_clear(session_id id, const struct ds_owner *caller)
{
    struct session_call call;
    enum ds_error error = session_enter(id, caller, DS_HALVES, &call);

    return session_leave(&call, error == DS_OK ? reset(call.session, true) : error);
}

enum ds_error session_size(session_id id, const struct ds_owner *caller, size_t *records)
{
    struct session_call call;
    enum ds_error error = session_enter(id, caller, DS_HALVES, &call);

    if (error == DS_OK)
        *records = count(call.session);
    return session_leave(&call, error);
}

enum ds_error session_status(session_id id, struct session_status *status)
{
    const struct session *session = session_find(id);
    const struct ds_context *context = session ? session->context : NULL;

    if (!context)
        return DS_ESRCH;
    *status = (struct session_status){
        .half = session->half,
        .owner = session->owner,
        .task = context->task,
        .cpu = context->cpu,
        .capacity =
            session->half == DS_HALF_BTS ? session->bts.capacity : session->pebs.capacity,
        .records = count(session),
        .threshold = session->threshold,
        .user = session->user,
        .kernel = session->kernel,
        .marks = session->marks,
        .running = loaded_here(session) && running(session),
        .full = session->half == DS_HALF_BTS ? bts_wrapped(&session->bts)
                                             : pebs_full(&session->pebs),
        .overflowed = session->overflowed,
        .suspended = session->suspended,
        .overflows = session->half == DS_HALF_BTS ? session->pmi.claimed + session->pmi.polled
                                                  : session->pmi.sampled.claimed,
        .lost = session->pmi.lost + session->pmi.sampled.lost,
    };
    return DS_OK;
}
