/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Releasing sessions: by their owners, for the dead, from any processor, and before a processor
 * is handed back.
 */
#include "ds/session_state.h"
#include "hw/apic.h"
#include "hw/cpu.h"
#include "hw/cross_call.h"
#include "hw/string.h"

/* The session of the other half on the same area, or NULL. */
static const struct session *beside(const struct session *session)
{
    return session->context->user[session->half == DS_HALF_BTS ? DS_HALF_PEBS : DS_HALF_BTS];
}

/* The other half keeps the area: this one must not name a buffer that is gone. */
static void forget_buffer(struct ds_area *area, enum ds_half half)
{
    if (half == DS_HALF_BTS) {
        area->bts_base = area->bts_index = area->bts_maximum = area->bts_threshold = 0;
    } else {
        area->pebs_base = area->pebs_index = area->pebs_maximum = area->pebs_threshold = 0;
        memset(area->pebs_reset, 0, sizeof(area->pebs_reset));
    }
}

/* The context is held, and not loaded on another processor. */
static enum ds_error give_up(struct session *session)
{
    struct ds_context *context = session->context;
    struct ds_area *area = context->area;
    const struct session *other = beside(session);
    enum ds_half half = session->half;
    void *from_pool = session->from_pool;
    bool mask = session->pmi.armed && context->loaded && !(other && other->pmi.armed);
    enum ds_error error;

    session_hold(session);
    error = context_release(context, half);
    if (error != DS_OK) {
        session_unhold(session);
        session_go(session);
        return error;
    }
    if (context->area == area)
        forget_buffer(area, half);
    if (mask)
        apic_lvt_perf_write(session_machine.lvt | LVT_MASKED);
    *session = (struct session){0};
    return from_pool ? pool_give_back(session_machine.pool, from_pool) : DS_OK;
}

/* *where is the processor that has it loaded when that is why it cannot be released here. */
static enum ds_error release_locked(struct session *session, unsigned *where)
{
    struct ds_context *context = session->context;
    enum ds_error error;
    bool taken;

    if (!context_hold(context, &taken)) {
        if (!context->loaded)
            return DS_EBUSY;
        *where = context->loaded_cpu;
        return DS_EPERM;
    }
    error = give_up(session);
    /* Held on, unless it went with its last half. */
    if (taken && context->holder == cpu_index() + 1 && !context->loaded)
        context_drop(context);
    return error;
}

static enum ds_error release(session_id id, uint64_t owner, unsigned *where)
{
    irqflags_t flags;
    struct session *session;
    enum ds_error error;

    *where = CPU_MAX;
    if (session_call_in_progress() || !lock_take(&session_lock, &flags))
        return DS_EBUSY;
    session = session_find(id);
    if (!session)
        error = DS_ESRCH;
    else if (session->owner->id != owner)
        error = DS_EPERM;
    else
        error = release_locked(session, where);
    lock_release(&session_lock, flags);
    return error;
}

enum ds_error session_release_here(session_id id, const struct ds_owner *caller)
{
    unsigned where;

    return release(id, caller->id, &where);
}

/* On the processor that had it loaded when it was asked. */
static uint64_t release_there(uint64_t id, uint64_t owner)
{
    unsigned where;
    enum ds_error error = release(id, owner, &where);

    return where == CPU_MAX ? error : DS_EBUSY;
}

/*
 * Where it is loaded may change between two looks, and there may be a call in progress there.
 */
enum ds_error session_release(session_id id, const struct ds_owner *caller)
{
    for (unsigned tries = 0; tries < SESSION_RELEASE_TRIES; tries++) {
        unsigned where;
        uint64_t answer = release(id, caller->id, &where);

        if (where == CPU_MAX)
            return (enum ds_error)answer;
        if (!cross_call(where, release_there, id, caller->id, &answer))
            return DS_EBUSY;
        if (answer != DS_EBUSY)
            return (enum ds_error)answer;
        __builtin_ia32_pause();
    }
    return DS_EBUSY;
}

/* The entry's session if it is that owner's, or traces that task. */
static session_id match(size_t entry, const struct ds_owner *owner, const struct ds_task *task,
                        struct ds_owner *found)
{
    const struct session *session = &session_table[entry];
    session_id id = 0;
    irqflags_t flags;

    if (!lock_take(&session_lock, &flags))
        return 0;
    if (session->id && ((owner && session->owner->id == owner->id) ||
                        (task && session->context->task == task))) {
        id = session->id;
        *found = *session->owner;
    }
    lock_release(&session_lock, flags);
    return id;
}

static size_t release_all(const struct ds_owner *owner, const struct ds_task *task)
{
    size_t left = 0;

    if (session_call_in_progress())
        return SESSIONS_MOST;
    for (size_t i = 0; i < SESSIONS_MOST; i++) {
        struct ds_owner found;
        session_id id = session_table[i].id ? match(i, owner, task, &found) : 0;

        left += id && session_release(id, &found) != DS_OK;
    }
    return left;
}

size_t session_owner_died(const struct ds_owner *owner)
{
    return release_all(owner, NULL);
}

size_t session_task_ended(struct ds_task *task)
{
    return release_all(NULL, task);
}

void session_processor_leaves(void)
{
    irqflags_t flags = irq_save();
    struct ds_context *context = context_loaded();
    struct session *sessions_here[DS_HALVES];

    for (enum ds_half half = 0; half < DS_HALVES; half++) {
        struct session *session = session_in(context, half);

        sessions_here[half] = session;
        if (session)
            session_hold(session);
        if (session && session->pmi.armed)
            apic_lvt_perf_write(session_machine.lvt | LVT_MASKED);
    }
    context_leave();
    for (enum ds_half half = 0; half < DS_HALVES; half++)
        if (sessions_here[half])
            session_unhold(sessions_here[half]);
    irq_restore(flags);
}
