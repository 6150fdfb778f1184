/* SPDX-License-Identifier: BSD-2-Clause */
/* What can be done with a session: suspend, read, switch, and the interrupt. No locks here. */
#include "ds/session.h"

#include "ds/broker.h"
#include "ds/session_state.h"
#include "hw/apic.h"
#include "hw/cpu.h"

static const struct record lost_unknown = {.kind = RECORD_LOST, .count = RECORD_UNKNOWN};

static bool loaded_here(const struct session *session)
{
    return session->context->loaded && session->context->loaded_cpu == cpu_index();
}

/* The index has reached the threshold, and nobody takes the records by himself. */
static bool stuck(const struct session *session)
{
    const struct ds_area *area = session->bts.area;

    return session->pmi.armed && !session->overflow &&
           *(const volatile uint64_t *)&area->bts_index >= area->bts_threshold;
}

enum ds_error session_go(struct session *session)
{
    enum ds_error error;

    if (session->suspended || !loaded_here(session) || bts_running(&session->bts))
        return DS_OK;
    if (stuck(session))
        return DS_EBUSY;
    if (session->pmi.armed) {
        uint64_t lost = session->pmi.lost;

        /* An interrupt that came while another task ran was taken for nobody's. */
        pmi_poll(&session->pmi);
        if (session->pmi.lost != lost)
            session_mark(session, lost_unknown);
        apic_lvt_perf_write(session->pmi.lvt);
    }
    error = bts_start(&session->bts);
    /* An overflow in the middle of the start has suspended it, and our write came after. */
    if (session->suspended)
        bts_stop(&session->bts);
    /* An NMI's resume may have been faster. */
    return bts_running(&session->bts) ? DS_OK : error;
}

void session_hold(struct session *session)
{
    __atomic_fetch_add(&session->suspended, 1, __ATOMIC_SEQ_CST);
    if (loaded_here(session))
        bts_stop(&session->bts);
}

void session_unhold(struct session *session)
{
    __atomic_fetch_sub(&session->suspended, 1, __ATOMIC_SEQ_CST);
}

/* A call on a session, from enter to leave. */
struct call {
    struct session *session;
    struct ds_context *held; /* to be dropped */
};

/* Every enter has its leave, whether it succeeded or not. */
static enum ds_error enter(session_id id, const struct ds_owner *caller, struct call *call)
{
    struct session *session;
    struct ds_context *context;
    const struct ds_owner *owner;
    bool taken;

    *call = (struct call){0};
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
    return session->id == id ? DS_OK : DS_ESRCH;
}

static enum ds_error leave(const struct call *call, enum ds_error error)
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
    struct call call;
    enum ds_error error = enter(id, caller, &call);

    return leave(&call, error == DS_OK ? suspend(call.session) : error);
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
    struct call call;
    enum ds_error error = enter(id, caller, &call);

    return leave(&call, error == DS_OK ? resume(call.session) : error);
}

enum ds_error session_reset(session_id id, const struct ds_owner *caller)
{
    struct call call;
    enum ds_error error = enter(id, caller, &call);

    return leave(&call, error == DS_OK ? bts_reset(&call.session->bts) : error);
}

enum ds_error session_clear(session_id id, const struct ds_owner *caller)
{
    struct call call;
    enum ds_error error = enter(id, caller, &call);

    return leave(&call, error == DS_OK ? bts_clear(&call.session->bts) : error);
}

enum ds_error session_get(session_id id, const struct ds_owner *caller, size_t i,
                          struct bts_record *record)
{
    struct call call;
    enum ds_error error = enter(id, caller, &call);

    return leave(&call, error == DS_OK ? bts_get(&call.session->bts, i, record) : error);
}

static enum ds_error drain(struct session *session, struct bts_record *to, size_t room,
                           size_t most, size_t *count)
{
    size_t held;

    if (!to)
        return DS_EFAULT;
    if (bts_running(&session->bts))
        return DS_EBUSY;
    held = bts_count(&session->bts);
    if (room < (most < held ? most : held))
        return DS_EIO;
    return bts_drain_some(&session->bts, most, bts_copy_sink, &to, count);
}

enum ds_error session_drain(session_id id, const struct ds_owner *caller, struct bts_record *to,
                            size_t room, size_t most, size_t *count)
{
    struct call call;
    enum ds_error error = enter(id, caller, &call);

    return leave(&call, error == DS_OK ? drain(call.session, to, room, most, count) : error);
}

enum ds_error session_size(session_id id, const struct ds_owner *caller, size_t *records)
{
    struct call call;
    enum ds_error error = enter(id, caller, &call);

    if (error == DS_OK)
        *records = bts_count(&call.session->bts);
    return leave(&call, error);
}

enum ds_error session_status(session_id id, struct session_status *status)
{
    const struct session *session = session_find(id);
    const struct ds_context *context = session ? session->context : NULL;

    if (!context)
        return DS_ESRCH;
    *status = (struct session_status){
        .owner = session->owner,
        .task = context->task,
        .cpu = context->cpu,
        .capacity = session->bts.capacity,
        .records = bts_count(&session->bts),
        .threshold = session->threshold,
        .user = session->user,
        .kernel = session->kernel,
        .marks = session->marks,
        .running = loaded_here(session) && bts_running(&session->bts),
        .full = bts_wrapped(&session->bts),
        .overflowed = session->overflowed,
        .suspended = session->suspended,
        .overflows = session->pmi.claimed + session->pmi.polled,
        .lost = session->pmi.lost,
    };
    return DS_OK;
}

/* The records wait for a drain, and the trace for a resume. */
static void overflowed(struct session *session)
{
    session->overflowed = true;
    /* A suspended session that meets its last interrupt late is suspended already. */
    if (!session->suspended)
        __atomic_fetch_add(&session->suspended, 1, __ATOMIC_SEQ_CST);
    if (session->notify)
        session->notify(session->overflow_context, session->id);
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
        session_mark(session, lost_unknown);
    to->missed = to->context && !own;
}

/* Loads next where that is not so already; old is let go when nothing here needs it any more.
 */
static enum ds_error exchange(struct ds_context *next, struct session *leaving)
{
    struct ds_context *before = NULL;
    enum ds_error error = DS_OK;

    if (next != context_loaded() || (next && broker_ds_area() != next->area))
        error = context_swap(next, &before);
    /* Only now: an NMI's resume in between would have loaded the old area again. */
    if (leaving)
        session_unhold(leaving);
    if (before)
        context_drop(before);
    return error;
}

enum ds_error session_switch(struct ds_task *from, struct ds_task *to)
{
    struct ds_context *old, *next;
    struct session *leaving;
    bool old_taken, next_taken;
    enum ds_error error;

    session_call_begins();
    old = context_take(from, &old_taken);
    next = context_take(to, &next_taken);
    leaving = session_in(old);
    if (leaving)
        session_hold(leaving);
    if (from)
        session_mark(leaving, (struct record){.kind = RECORD_DEPARTS, .detail = from->id});
    if (to) {
        mark_missed(session_in(next), next, to);
        mark_arrival(session_in(next), to);
    }
    context_set_task(to);
    error = exchange(next, leaving);
    if (error == DS_OK && session_in(next) && session_go(session_in(next)) == DS_EBUSY)
        overflowed(session_in(next));
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
    if (session_go(session) == DS_EBUSY)
        overflowed(session);
}

void session_exception(unsigned vector, uint64_t address, uint64_t error)
{
    struct session *session;

    session_call_begins();
    session = session_in(context_loaded());
    if (session && session->marks) {
        session_hold(session);
        session_mark(session, (struct record){.kind = RECORD_EXCEPTION,
                                              .detail = vector,
                                              .exception = {address, error}});
        go_on(session);
    }
    session_call_ends();
}

/* With marks the trace waits for the one that may have to come first in the emptied ring. */
static enum pmi_verdict claim_marked(struct session *session)
{
    uint64_t lost = session->pmi.lost;
    enum pmi_verdict verdict;

    session_hold(session);
    verdict = pmi_handle(&session->pmi);
    if (session->pmi.lost != lost)
        session_mark(session, lost_unknown);
    go_on(session);
    return verdict;
}

static enum pmi_verdict claim(struct session *session)
{
    enum pmi_verdict verdict;

    if (session->overflow && session->marks)
        return claim_marked(session);
    verdict = pmi_handle(&session->pmi);
    if (verdict == PMI_CLAIMED && !session->overflow)
        overflowed(session);
    return verdict;
}

bool session_pmi(void)
{
    struct session *session;
    enum pmi_verdict verdict = PMI_FOREIGN;

    session_call_begins();
    session = session_in(context_loaded());
    if (session && session->pmi.armed)
        verdict = claim(session);
    session_call_ends();
    return verdict != PMI_FOREIGN;
}
