/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the requests for sessions of the two halves have in common; the rest of these is in
 * ds/session_trace.c and ds/session_sample.c, what one does with a session in
 * ds/session_ops.c, and their table in ds/session_table.c.
 */
#include "ds/session.h"

#include "ds/session_state.h"
#include "hw/cpu.h"
#include "hw/string.h"

static session_id generation;

static struct session *free_entry(void)
{
    for (size_t i = 0; i < SESSIONS_MOST; i++)
        if (!session_table[i].id)
            return &session_table[i];
    return NULL;
}

static enum ds_error refuse(enum ds_error error, const char **why, const char *words)
{
    *why = words;
    return error;
}

static enum ds_error examine(const struct session_scope *scope, const char **why)
{
    if (scope->interrupts && !session_machine.interrupts)
        return refuse(DS_EOPNOTSUPP, why, "there is no interrupt to be had");
    if (!context_allowed(scope->task))
        return refuse(DS_EPERM, why, "task and processor sessions meet on one processor");
    if (!free_entry())
        return refuse(DS_ENOMEM, why, "too many sessions");
    if (scope->missing)
        return refuse(DS_EOPNOTSUPP, why, scope->missing);
    if (!scope->bytes)
        return refuse(DS_EINVAL, why, "no buffer given");
    if (scope->records < 2)
        return refuse(DS_EINVAL, why, "the buffer is smaller than two records");
    /* Not at the maximum: a processor that wraps at once would never be seen to reach it. */
    if (scope->threshold != SESSION_NO_THRESHOLD &&
        (!scope->threshold || scope->threshold >= scope->records))
        return refuse(DS_EINVAL, why, "the threshold lies outside the buffer");
    if (!scope->user && !scope->kernel)
        return refuse(DS_EINVAL, why, "neither user nor kernel: nothing would be stored");
    return DS_OK;
}

size_t session_threshold(const struct session_scope *scope)
{
    if (scope->threshold == SESSION_NO_THRESHOLD)
        return 0;
    return scope->origin == SESSION_FROM_START ? scope->threshold
                                               : scope->records - scope->threshold;
}

static void fill(struct session *session, const struct session_scope *scope,
                 struct ds_context *context, void *from_pool)
{
    session->owner = scope->owner;
    session->context = context;
    session->half = scope->half;
    session->from_pool = from_pool;
    session->buffer = (struct ds_buffer){
        .base = (uintptr_t)(from_pool ? from_pool : scope->buffer),
        .bytes = scope->bytes,
        .tables = scope->tables,
        .table_count = scope->table_count,
    };
    session->threshold = scope->threshold == SESSION_NO_THRESHOLD ? SESSION_NO_THRESHOLD
                                                                  : session_threshold(scope);
    session->user = scope->user;
    session->kernel = scope->kernel;
    session->suspended = scope->suspended;
    session->mode = RECORD_MODE_UNKNOWN;
    /* The LVT entry is the processor's; each session only unmasks it. */
    session->pmi.lvt = session_machine.lvt;
    session->pmi.armed = scope->threshold != SESSION_NO_THRESHOLD;
    session->id = generation * SESSIONS_MOST + (session_id)(session - session_table);
    /* Whole before another processor's switch can see it. */
    __atomic_store_n(&context->user[scope->half], session, __ATOMIC_RELEASE);
}

/*
 * Where the traced thing is running. The other half may have been asked for on a processor that
 * could not load the area, and has waited for this.
 */
static enum ds_error start(struct session *session, const char **why)
{
    struct ds_context *context = session->context;
    bool loaded = context->loaded;
    struct session *other =
        session_in(context, session->half == DS_HALF_BTS ? DS_HALF_PEBS : DS_HALF_BTS);
    enum ds_error error = loaded ? DS_OK : context_load(context);

    if (error == DS_OK)
        error = session_go(session);
    if (error != DS_OK)
        *why = "the registers could not be written now";
    else if (!loaded && other)
        session_go_or_wait(other);
    return error;
}

/* Area and buffer are there: set up, and start if the traced thing is running here. */
static enum ds_error begin(struct session *session, const struct session_scope *scope,
                           struct ds_context *context, void *from_pool, const char **why)
{
    void *buffer = from_pool ? from_pool : scope->buffer;
    enum ds_error error = scope->set_up(session, context->area, buffer, scope, why);

    if (error != DS_OK)
        return error;
    fill(session, scope, context, from_pool);
    return context == context_here() ? start(session, why) : DS_OK;
}

static enum ds_error open_locked(const struct session_scope *scope,
                                 struct session_result *result)
{
    struct session *session = free_entry();
    struct ds_context *context;
    void *from_pool = NULL;
    enum ds_error error = examine(scope, &result->why);

    if (error == DS_OK && !scope->buffer) {
        error = pool_take(session_machine.pool, scope->owner->payer, scope->bytes, &from_pool);
        if (error != DS_OK)
            result->why = "the pool or the payer's limit is exhausted";
    }
    if (error != DS_OK)
        return error;
    error = context_claim(scope->task, scope->half, scope->owner, &context, &result->holder);
    if (error == DS_OK) {
        generation++;
        error = begin(session, scope, context, from_pool, &result->why);
        if (error == DS_OK) {
            result->id = session->id;
            context_settle(context);
            return DS_OK;
        }
        context_release(context, scope->half);
        *session = (struct session){0};
    } else {
        result->why = error == DS_EBUSY ? "the half has an owner" : "no page for the DS area";
    }
    if (from_pool)
        pool_give_back(session_machine.pool, from_pool);
    return error;
}

enum ds_error session_open(const struct session_scope *scope, struct session_result *result)
{
    irqflags_t flags;
    enum ds_error error;

    *result = (struct session_result){.why = "another call is in progress"};
    if (session_call_in_progress() || !lock_take(&session_lock, &flags))
        return DS_EBUSY;
    result->why = "none";
    error = open_locked(scope, result);
    lock_release(&session_lock, flags);
    return error;
}
