/* SPDX-License-Identifier: BSD-2-Clause */
/* Sessions: request and release. What one does with a session is in ds/session_ops.c. */
#include "ds/session.h"

#include "ds/session_state.h"
#include "hw/apic.h"
#include "hw/cpu.h"
#include "hw/string.h"

static struct session_machine machine;
static struct session sessions[SESSIONS_MOST];
static session_id generation;
static struct ds_lock lock; /* request and release */
static volatile unsigned calls[CPU_MAX];

void session_init(const struct session_machine *from)
{
    machine = *from;
    memset(sessions, 0, sizeof(sessions));
    lock = (struct ds_lock){0};
    for (unsigned cpu = 0; cpu < CPU_MAX; cpu++)
        calls[cpu] = 0;
    context_init(machine.pool);
}

/* An id is a count of requests above the number of its table entry. */
struct session *session_find(session_id id)
{
    struct session *session = &sessions[id % SESSIONS_MOST];

    return id && session->id == id ? session : NULL;
}

void session_call_begins(void)
{
    calls[cpu_index()]++;
}

void session_call_ends(void)
{
    calls[cpu_index()]--;
}

bool session_call_in_progress(void)
{
    return calls[cpu_index()] != 0;
}

static struct session *free_entry(void)
{
    for (size_t i = 0; i < SESSIONS_MOST; i++)
        if (!sessions[i].id)
            return &sessions[i];
    return NULL;
}

static bool wants_interrupts(const struct session_request *request)
{
    return request->threshold != SESSION_NO_THRESHOLD;
}

/* Not at the maximum: a processor that wraps at once would never be seen to reach it. */
static bool threshold_fits(const struct session_request *request)
{
    size_t capacity = request->bytes / sizeof(struct bts_record);

    if (!wants_interrupts(request))
        return true;
    return request->threshold > 0 && request->threshold < capacity;
}

void session_mark(struct session *session, enum record_kind kind, uint32_t detail)
{
    struct record record = {.kind = (uint16_t)kind, .detail = detail};
    struct bts_record slot;

    if (!session || !session->marks)
        return;
    record.clock = machine.clock ? machine.clock() : 0;
    slot = record_to_mark(&record);
    bts_put(&session->bts, &slot);
}

static enum ds_error refuse(enum ds_error error, const char **why, const char *words)
{
    *why = words;
    return error;
}

/* In the order that session.h gives. */
static enum ds_error examine(const struct session_request *request, const char **why)
{
    if ((wants_interrupts(request) || request->overflow) && !machine.interrupts)
        return refuse(DS_EOPNOTSUPP, why, "there is no interrupt to be had");
    if (!context_allowed(request->task))
        return refuse(DS_EPERM, why, "task and processor sessions meet on one processor");
    if (!free_entry())
        return refuse(DS_ENOMEM, why, "too many sessions");
    if (!machine.has_bts)
        return refuse(DS_EOPNOTSUPP, why, "the processor has no BTS");
    if (!request->bytes)
        return refuse(DS_EINVAL, why, "no buffer given");
    if (request->bytes < 2 * sizeof(struct bts_record))
        return refuse(DS_EINVAL, why, "the buffer is smaller than two records");
    if (!threshold_fits(request))
        return refuse(DS_EINVAL, why, "the threshold lies outside the buffer");
    if (!request->user && !request->kernel)
        return refuse(DS_EINVAL, why, "neither user nor kernel: nothing would be stored");
    return DS_OK;
}

static struct bts_config configure(const struct session_request *request, const void *buffer)
{
    size_t capacity = request->bytes / sizeof(struct bts_record);
    struct bts_config config = {
        .base = (uintptr_t)buffer,
        .bytes = request->bytes,
        .interrupt = wants_interrupts(request),
        .off_os = !request->kernel,
        .off_usr = !request->user,
        .tables = request->tables,
        .table_count = request->table_count,
    };

    if (config.interrupt)
        config.threshold_records = request->origin == SESSION_FROM_START
                                       ? request->threshold
                                       : capacity - request->threshold;
    return config;
}

static void hand_to_callback(void *context, const struct bts_record *records, size_t count)
{
    struct session *session = context;

    session->overflow(session->overflow_context, session->id, records, count);
}

static void fill(struct session *session, const struct session_request *request,
                 struct ds_context *context, void *from_pool)
{
    uint64_t offset = session->bts.area->bts_threshold - session->bts.base;

    session->owner = request->owner;
    session->context = context;
    session->from_pool = from_pool;
    session->overflow = request->overflow;
    session->notify = request->notify;
    session->overflow_context = request->context;
    session->threshold =
        wants_interrupts(request) ? offset / sizeof(struct bts_record) : SESSION_NO_THRESHOLD;
    session->user = request->user;
    session->kernel = request->kernel;
    session->marks = request->marks;
    session->suspended = request->suspended;
    /* The LVT entry is the processor's; each session only unmasks it. */
    session->pmi = (struct pmi){
        .bts = &session->bts,
        .sink = request->overflow ? hand_to_callback : NULL,
        .context = session,
        .lvt = machine.lvt,
        .armed = wants_interrupts(request),
    };
    session->id = generation * SESSIONS_MOST + (session_id)(session - sessions);
    context->user[DS_HALF_BTS] = session;
}

/* Area and buffer are there: set up, and start if the traced thing is running here. */
static enum ds_error begin(struct session *session, const struct session_request *request,
                           struct ds_context *context, void *from_pool, const char **why)
{
    struct bts_config config = configure(request, from_pool ? from_pool : request->buffer);
    enum ds_error error = bts_setup(&session->bts, context->area, &config, why);

    if (error != DS_OK)
        return error;
    fill(session, request, context, from_pool);
    if (context == context_here()) {
        error = context->loaded ? DS_OK : context_load(context);
        if (error == DS_OK)
            error = session_go(session);
        if (error != DS_OK)
            *why = "the registers could not be written now";
    }
    return error;
}

static enum ds_error request_locked(const struct session_request *request,
                                    struct session_result *result)
{
    struct session *session = free_entry();
    struct ds_context *context;
    void *from_pool = NULL;
    enum ds_error error = examine(request, &result->why);

    if (error == DS_OK && !request->buffer) {
        error = pool_take(machine.pool, request->owner->payer, request->bytes, &from_pool);
        if (error != DS_OK)
            result->why = "the pool or the payer's limit is exhausted";
    }
    if (error != DS_OK)
        return error;
    error =
        context_claim(request->task, DS_HALF_BTS, request->owner, &context, &result->holder);
    if (error == DS_OK) {
        generation++;
        error = begin(session, request, context, from_pool, &result->why);
        if (error == DS_OK) {
            result->id = session->id;
            return DS_OK;
        }
        context_release(context, DS_HALF_BTS);
        *session = (struct session){0};
    } else {
        result->why = error == DS_EBUSY ? "the half has an owner" : "no page for the DS area";
    }
    if (from_pool)
        pool_give_back(machine.pool, from_pool);
    return error;
}

enum ds_error session_request(const struct session_request *request,
                              struct session_result *result)
{
    irqflags_t flags;
    enum ds_error error;

    *result = (struct session_result){.why = "another call is in progress"};
    if (session_call_in_progress() || !ds_lock_take(&lock, &flags))
        return DS_EBUSY;
    result->why = "none";
    error = request_locked(request, result);
    ds_lock_release(&lock, flags);
    return error;
}

static enum ds_error release_locked(struct session *session)
{
    struct ds_context *context = session->context;
    struct ds_area *area = context->area;
    void *from_pool = session->from_pool;
    bool armed = session->pmi.armed && context->loaded;
    enum ds_error error;

    if (context->loaded && context->loaded_cpu != cpu_index())
        return DS_EPERM;
    session_hold(session);
    error = context_release(context, DS_HALF_BTS);
    if (error != DS_OK) {
        session_unhold(session);
        session_go(session);
        return error;
    }
    /* The PEBS half keeps the area: it must not name a buffer that is gone. */
    if (context->area == area)
        area->bts_base = area->bts_index = area->bts_maximum = area->bts_threshold = 0;
    if (armed)
        apic_lvt_perf_write(machine.lvt | LVT_MASKED);
    *session = (struct session){0};
    return from_pool ? pool_give_back(machine.pool, from_pool) : DS_OK;
}

enum ds_error session_release(session_id id, const struct ds_owner *caller)
{
    irqflags_t flags;
    struct session *session;
    enum ds_error error;

    if (session_call_in_progress() || !ds_lock_take(&lock, &flags))
        return DS_EBUSY;
    session = session_find(id);
    if (!session)
        error = DS_ESRCH;
    else if (session->owner->id != caller->id)
        error = DS_EPERM;
    else
        error = release_locked(session);
    ds_lock_release(&lock, flags);
    return error;
}

static size_t release_all(const struct ds_owner *owner, const struct ds_task *task)
{
    irqflags_t flags;
    size_t left = 0;

    if (session_call_in_progress() || !ds_lock_take(&lock, &flags))
        return SESSIONS_MOST;
    for (size_t i = 0; i < SESSIONS_MOST; i++) {
        struct session *session = &sessions[i];

        if (session->id && ((owner && session->owner->id == owner->id) ||
                            (task && session->context->task == task)))
            left += release_locked(session) != DS_OK;
    }
    ds_lock_release(&lock, flags);
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
