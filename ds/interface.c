/* SPDX-License-Identifier: BSD-2-Clause */
/* The tracer's seven commands, but for the one that steps. */
#include "ds/interface.h"

#include "hw/string.h"

#define FLAGS        (INTERFACE_TRACE | INTERFACE_SCHED | INTERFACE_SIGNAL | INTERFACE_ALLOC)
#define SIGNALS_MOST 64u

static int64_t result(enum ds_error error)
{
    return -(int64_t)error;
}

static void overflowed(void *context, session_id session)
{
    const struct interface_trace *trace = context;

    (void)session;
    trace->signal(trace->context, trace->config.signal);
}

static struct session_request ask(const struct interface_call *call,
                                  const struct interface_config *config, void *buffer,
                                  struct interface_trace *trace)
{
    size_t capacity = config->bytes / sizeof(struct bts_record);

    return (struct session_request){
        .owner = call->tracer,
        .task = call->target,
        .buffer = buffer,
        .bytes = capacity * sizeof(struct bts_record),
        .threshold =
            config->flags & INTERFACE_SIGNAL ? capacity - capacity / 4 : SESSION_NO_THRESHOLD,
        .user = true,
        .marks = config->flags & INTERFACE_SCHED,
        .suspended = !(config->flags & INTERFACE_TRACE),
        .notify = config->flags & INTERFACE_SIGNAL ? overflowed : NULL,
        .context = trace,
        .tables = call->tables,
        .table_count = 1,
    };
}

void interface_release(struct interface_trace *trace, struct pool *pool)
{
    if (trace->session)
        session_release(trace->session, trace->tracer);
    if (trace->buffer)
        pool_give_back(pool, trace->buffer);
    *trace = (struct interface_trace){0};
}

/* What is wrong with it, whatever the machine has. */
static enum ds_error examine(const struct interface_call *call,
                             const struct interface_config *config)
{
    bool signals = config->flags & INTERFACE_SIGNAL;

    if (config->flags & ~(uint32_t)FLAGS || config->signal >= SIGNALS_MOST ||
        signals != (config->signal != 0))
        return DS_EINVAL;
    if (config->flags & INTERFACE_ALLOC)
        return config->bytes && config->bytes < 4 * sizeof(struct bts_record) ? DS_EINVAL
                                                                              : DS_OK;
    /* Without a new buffer there must be an old one, and its size stays. */
    return call->trace->session &&
                   (!config->bytes || config->bytes == call->trace->config.bytes)
               ? DS_OK
               : DS_EINVAL;
}

/*
 * The new buffer is in hand before the old session goes. Should the new one be refused all the
 * same, the old one comes back in its own buffer, as it was but for the records.
 */
static enum ds_error replace(const struct interface_call *call,
                             const struct interface_config *config)
{
    struct interface_trace *trace = call->trace, old = *trace;
    struct session_request request;
    struct session_result answer;
    void *buffer = old.buffer;
    enum ds_error error = DS_OK;

    if (config->flags & INTERFACE_ALLOC)
        error = pool_take(call->pool, call->tracer->payer, config->bytes, &buffer);
    if (error == DS_OK && old.session)
        error = session_release(old.session, call->tracer);
    if (error == DS_OK) {
        request = ask(call, config, buffer, trace);
        error = session_request(&request, &answer);
        if (error != DS_OK && old.session) {
            request = ask(call, &old.config, old.buffer, trace);
            session_request(&request, &answer);
            trace->session = answer.id;
        }
    }
    if (error != DS_OK) {
        if (buffer != old.buffer)
            pool_give_back(call->pool, buffer);
        return error;
    }
    if (old.buffer && buffer != old.buffer)
        pool_give_back(call->pool, old.buffer);
    *trace = (struct interface_trace){
        .session = answer.id,
        .config = *config,
        .tracer = call->tracer,
        .buffer = buffer,
        .filter = {true, call->low, call->high},
        .signal = call->signal,
        .context = call->context,
    };
    trace->config.bytes = config->bytes;
    trace->config.record_bytes = INTERFACE_RECORD_BYTES;
    return DS_OK;
}

static int64_t configure(const struct interface_call *call)
{
    struct interface_config config;
    enum ds_error error;

    if (call->data < sizeof(config))
        return result(DS_EIO);
    if (!call->copy_in(call->context, &config, call->address, sizeof(config)))
        return result(DS_EFAULT);
    error = examine(call, &config);
    if (error != DS_OK)
        return result(error);
    if (config.flags & INTERFACE_ALLOC && !config.bytes) {
        interface_release(call->trace, call->pool);
        return sizeof(config);
    }
    if (!config.bytes)
        config.bytes = call->trace->config.bytes;
    error = replace(call, &config);
    return error == DS_OK ? (int64_t)sizeof(config) : result(error);
}

static int64_t status(const struct interface_call *call)
{
    struct interface_config config = call->trace->config;

    if (call->data < sizeof(config))
        return result(DS_EIO);
    config.flags &= ~(uint32_t)INTERFACE_ALLOC;
    return call->copy_out(call->context, call->address, &config, sizeof(config))
               ? (int64_t)sizeof(config)
               : result(DS_EFAULT);
}

/* The i-th of those that are shown, 0 = the newest; how many there are at most, for SIZE. */
static enum ds_error find(const struct interface_call *call, uint64_t i, struct record *record,
                          uint64_t *shown)
{
    const struct interface_trace *trace = call->trace;

    *shown = 0;
    for (size_t at = 0;; at++) {
        struct bts_record slot;
        enum ds_error error = session_get(trace->session, call->tracer, at, &slot);

        if (error != DS_OK)
            return error;
        if (!records_translate(&slot, 1, &trace->filter, record, sizeof(*record)).records)
            continue;
        if ((*shown)++ == i)
            return DS_OK;
    }
}

/* Older records than the oldest may have been overwritten, and nobody was told yet. */
static bool wrap_owed(const struct interface_trace *trace)
{
    struct session_status now;

    return !trace->wrap_shown && session_status(trace->session, &now) == DS_OK && now.full;
}

static struct record wrap_record(void)
{
    return (struct record){.kind = RECORD_WRAP, .bytes = (uint16_t)record_bytes(RECORD_WRAP)};
}

static int64_t size(const struct interface_call *call)
{
    struct record record;
    uint64_t shown;
    enum ds_error error = find(call, UINT64_MAX, &record, &shown);

    return error == DS_EINVAL ? (int64_t)shown + wrap_owed(call->trace) : result(error);
}

static int64_t get(const struct interface_call *call)
{
    struct record record = {0};
    uint64_t shown;
    enum ds_error error;

    if (!call->may_write(call->context, call->address, sizeof(record)))
        return result(DS_EFAULT);
    error = find(call, call->data, &record, &shown);
    if (error == DS_EINVAL && shown == call->data && wrap_owed(call->trace)) {
        record = wrap_record();
        error = DS_OK;
    }
    if (error != DS_OK)
        return result(error);
    call->copy_out(call->context, call->address, &record, sizeof(record));
    return sizeof(record);
}

static void show(const struct interface_call *call, uint64_t *used, const struct record *record)
{
    call->copy_out(call->context, call->address + *used * INTERFACE_RECORD_BYTES, record,
                   sizeof(*record));
    ++*used;
}

/* One slot after the other: what does not fit stays in the ring. */
static enum ds_error show_slots(const struct interface_call *call, uint64_t room,
                                uint64_t *used)
{
    struct interface_trace *trace = call->trace;

    while (*used < room) {
        struct record record = {0};
        struct bts_record slot;
        size_t taken = 0;
        enum ds_error error = session_drain(trace->session, call->tracer, &slot, 1, 1, &taken);

        if (error != DS_OK || !taken)
            return error;
        trace->wrap_shown = false; /* what is left has not wrapped */
        if (records_translate(&slot, 1, &trace->filter, &record, sizeof(record)).records)
            show(call, used, &record);
    }
    return DS_OK;
}

static int64_t drain(const struct interface_call *call)
{
    struct interface_trace *trace = call->trace;
    uint64_t room = call->data / INTERFACE_RECORD_BYTES, used = 0;
    uint64_t most = trace->config.bytes / sizeof(struct bts_record) + 1;
    struct record wrap = wrap_record();
    struct session_status now;
    enum ds_error error;

    if (!room)
        return result(DS_EIO);
    room = room < most ? room : most;
    if (!call->may_write(call->context, call->address, room * INTERFACE_RECORD_BYTES))
        return result(DS_EFAULT);
    if (wrap_owed(trace)) {
        trace->wrap_shown = true;
        show(call, &used, &wrap);
    }
    error = show_slots(call, room, &used);
    if (error != DS_OK)
        return result(error);
    /* It stopped when it was full, and has room again. */
    if (session_status(trace->session, &now) == DS_OK && now.overflowed)
        session_resume(trace->session, call->tracer);
    return (int64_t)used;
}

static int64_t clear(const struct interface_call *call)
{
    struct session_status now;
    enum ds_error error = session_clear(call->trace->session, call->tracer);

    if (error == DS_OK)
        call->trace->wrap_shown = false;
    if (error == DS_OK && session_status(call->trace->session, &now) == DS_OK && now.overflowed)
        session_resume(call->trace->session, call->tracer);
    return result(error);
}

int64_t interface_call(const struct interface_call *call)
{
    const struct interface_trace *trace = call->trace;
    bool another = trace->session && trace->tracer->id != call->tracer->id;

    if (call->command < INTERFACE_CONFIG || call->command > INTERFACE_DRAIN)
        return result(DS_EINVAL);
    if (!call->target)
        return result(DS_EPERM);
    if (!trace->session && call->command != INTERFACE_CONFIG)
        return result(DS_ESRCH);
    if (another && call->command == INTERFACE_CONFIG)
        return result(DS_EBUSY);
    if (another && call->command != INTERFACE_STATUS)
        return result(DS_EPERM);
    switch (call->command) {
    case INTERFACE_CONFIG:
        return configure(call);
    case INTERFACE_STATUS:
        return status(call);
    case INTERFACE_SIZE:
        return size(call);
    case INTERFACE_GET:
        return get(call);
    case INTERFACE_CLEAR:
        return clear(call);
    default:
        return drain(call);
    }
}
