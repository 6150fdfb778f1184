/* SPDX-License-Identifier: BSD-2-Clause */
/* Sessions: the table, marks, requests. What one does with them is in ds/session_ops.c. */
#include "ds/session.h"

#include "ds/session_state.h"
#include "hw/apic.h"
#include "hw/cpu.h"
#include "hw/string.h"

struct session_machine session_machine;
struct session session_table[SESSIONS_MOST];
struct lock session_lock;
static session_id generation;
static volatile unsigned calls[CPU_MAX];

void session_init(const struct session_machine *from)
{
    session_machine = *from;
    memset(session_table, 0, sizeof(session_table));
    session_lock = (struct lock){0};
    for (unsigned cpu = 0; cpu < CPU_MAX; cpu++)
        calls[cpu] = 0;
    context_init(session_machine.pool);
}

/* An id is a count of requests above the number of its table entry. */
struct session *session_find(session_id id)
{
    struct session *session = &session_table[id % SESSIONS_MOST];

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
        if (!session_table[i].id)
            return &session_table[i];
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

static bool put(struct session *session, const struct record *mark)
{
    struct bts_record slot = record_to_mark(mark);

    return bts_put(&session->bts, &slot) == DS_OK;
}

void session_mark(struct session *session, struct record mark)
{
    struct record lost = {.kind = RECORD_LOST};

    if (!session || !session->marks)
        return;
    if (mark.kind == RECORD_ARRIVES || mark.kind == RECORD_DEPARTS)
        mark.clock = session_machine.clock ? session_machine.clock() : 0;
    lost.count = session->unmarked;
    if (lost.count && put(session, &lost))
        session->unmarked = 0;
    session->unmarked += !put(session, &mark);
}

void session_mark_mode(struct session *session, uint32_t mode)
{
    if (!session || session->mode == mode)
        return;
    session->mode = mode;
    session_mark(session, (struct record){.kind = RECORD_MODE, .detail = mode});
}

struct session *session_in(const struct ds_context *context)
{
    return context ? __atomic_load_n(&context->user[DS_HALF_BTS], __ATOMIC_ACQUIRE) : NULL;
}

static enum ds_error refuse(enum ds_error error, const char **why, const char *words)
{
    *why = words;
    return error;
}

/* In the order that session.h gives. */
static enum ds_error examine(const struct session_request *request, const char **why)
{
    if ((wants_interrupts(request) || request->overflow) && !session_machine.interrupts)
        return refuse(DS_EOPNOTSUPP, why, "there is no interrupt to be had");
    if (!context_allowed(request->task))
        return refuse(DS_EPERM, why, "task and processor sessions meet on one processor");
    if (!free_entry())
        return refuse(DS_ENOMEM, why, "too many sessions");
    if (!session_machine.has_bts)
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
    session->mode = RECORD_MODE_UNKNOWN;
    /* The LVT entry is the processor's; each session only unmasks it. */
    session->pmi = (struct pmi){
        .bts = &session->bts,
        .sink = request->overflow ? hand_to_callback : NULL,
        .context = session,
        .lvt = session_machine.lvt,
        .armed = wants_interrupts(request),
    };
    session->id = generation * SESSIONS_MOST + (session_id)(session - session_table);
    /* Whole before another processor's switch can see it. */
    __atomic_store_n(&context->user[DS_HALF_BTS], session, __ATOMIC_RELEASE);
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
        error =
            pool_take(session_machine.pool, request->owner->payer, request->bytes, &from_pool);
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
            context_settle(context);
            return DS_OK;
        }
        context_release(context, DS_HALF_BTS);
        *session = (struct session){0};
    } else {
        result->why = error == DS_EBUSY ? "the half has an owner" : "no page for the DS area";
    }
    if (from_pool)
        pool_give_back(session_machine.pool, from_pool);
    return error;
}

enum ds_error session_request(const struct session_request *request,
                              struct session_result *result)
{
    irqflags_t flags;
    enum ds_error error;

    *result = (struct session_result){.why = "another call is in progress"};
    if (session_call_in_progress() || !lock_take(&session_lock, &flags))
        return DS_EBUSY;
    result->why = "none";
    error = request_locked(request, result);
    lock_release(&session_lock, flags);
    return error;
}
