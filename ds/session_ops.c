/* SPDX-License-Identifier: BSD-2-Clause */
/* What can be done with a session: suspend, read, switch, and the interrupt. No locks here. */
#include "ds/session.h"

#include "ds/broker.h"
#include "ds/session_state.h"
#include "hw/apic.h"
#include "hw/cpu.h"

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
        /* An interrupt that came while another task ran was taken for nobody's. */
        pmi_poll(&session->pmi);
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

/* Every enter has its leave, whether it succeeded or not. */
static enum ds_error enter(session_id id, const struct ds_owner *caller,
                           struct session **session)
{
    session_call_begins();
    *session = session_find(id);
    if (!*session)
        return DS_ESRCH;
    if ((*session)->owner->id != caller->id)
        return DS_EPERM;
    return (*session)->context->loaded && !loaded_here(*session) ? DS_EPERM : DS_OK;
}

static enum ds_error leave(enum ds_error error)
{
    session_call_ends();
    return error;
}

static enum ds_error suspend(struct session *session)
{
    if (session->suspended == UINT32_MAX)
        return DS_EINVAL;
    session_hold(session);
    return DS_OK;
}

enum ds_error session_suspend(session_id id, const struct ds_owner *caller)
{
    struct session *session;
    enum ds_error error = enter(id, caller, &session);

    return leave(error == DS_OK ? suspend(session) : error);
}

static enum ds_error resume(struct session *session)
{
    bool overflowed = session->overflowed;
    enum ds_error error;

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
    struct session *session;
    enum ds_error error = enter(id, caller, &session);

    return leave(error == DS_OK ? resume(session) : error);
}

enum ds_error session_reset(session_id id, const struct ds_owner *caller)
{
    struct session *session;
    enum ds_error error = enter(id, caller, &session);

    return leave(error == DS_OK ? bts_reset(&session->bts) : error);
}

enum ds_error session_clear(session_id id, const struct ds_owner *caller)
{
    struct session *session;
    enum ds_error error = enter(id, caller, &session);

    return leave(error == DS_OK ? bts_clear(&session->bts) : error);
}

enum ds_error session_get(session_id id, const struct ds_owner *caller, size_t i,
                          struct bts_record *record)
{
    struct session *session;
    enum ds_error error = enter(id, caller, &session);

    return leave(error == DS_OK ? bts_get(&session->bts, i, record) : error);
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
    struct session *session;
    enum ds_error error = enter(id, caller, &session);

    return leave(error == DS_OK ? drain(session, to, room, most, count) : error);
}

enum ds_error session_size(session_id id, const struct ds_owner *caller, size_t *records)
{
    struct session *session;
    enum ds_error error = enter(id, caller, &session);

    if (error == DS_OK)
        *records = bts_count(&session->bts);
    return leave(error);
}

enum ds_error session_status(session_id id, struct session_status *status)
{
    const struct session *session = session_find(id);

    if (!session)
        return DS_ESRCH;
    *status = (struct session_status){
        .owner = session->owner,
        .task = session->context->task,
        .cpu = session->context->cpu,
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

static struct session *of(const struct ds_context *context)
{
    return context ? context->user[DS_HALF_BTS] : NULL;
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

/* What is stored for while this task runs: its own ring, or the processor's. */
static struct session *watcher(const struct ds_task *task)
{
    struct session *here = of(context_here());

    return here && !here->context->task ? here : task ? of(task->context) : NULL;
}

/* Both traces are off. */
static void mark_switch(const struct ds_task *from, const struct ds_task *to)
{
    unsigned cpu = cpu_index();

    if (from)
        session_mark(watcher(from), RECORD_DEPARTS, from->id);
    if (to && to->ran && to->cpu != cpu)
        session_mark(watcher(to), RECORD_MIGRATE, to->cpu | cpu << 16);
    if (to)
        session_mark(watcher(to), RECORD_ARRIVES, to->id);
}

enum ds_error session_switch(struct ds_task *from, struct ds_task *to)
{
    struct session *leaving;
    struct ds_context *next;
    enum ds_error error = DS_OK;

    session_call_begins();
    leaving = watcher(from);
    if (leaving)
        session_hold(leaving);
    mark_switch(from, to);
    context_set_task(to);
    next = context_here();
    if (!next || !next->loaded || next->loaded_cpu != cpu_index())
        error = context_load(next);
    if (leaving)
        session_unhold(leaving);
    if (error == DS_OK && of(next) && session_go(of(next)) == DS_EBUSY)
        overflowed(of(next));
    session_call_ends();
    return error;
}

static enum pmi_verdict claim(struct session *session)
{
    enum pmi_verdict verdict = pmi_handle(&session->pmi);

    if (verdict == PMI_CLAIMED && !session->overflow)
        overflowed(session);
    return verdict;
}

bool session_pmi(void)
{
    struct session *session = of(context_here());
    enum pmi_verdict verdict = PMI_FOREIGN;

    session_call_begins();
    if (session && session->id && loaded_here(session) && session->pmi.armed)
        verdict = claim(session);
    session_call_ends();
    return verdict != PMI_FOREIGN;
}
