/* SPDX-License-Identifier: BSD-2-Clause */
/* Sessions of the PEBS half: the request, and the samples. */
#include "ds/session.h"

#include "ds/session_state.h"

static void hand_to_callback(void *context, const struct pebs_sample *sample)
{
    struct session *session = context;

    session->sampled(session->callback_context, session->id, sample);
}

static enum ds_error set_up(struct session *session, struct ds_area *area, void *buffer,
                            const struct session_scope *scope, const char **why)
{
    const struct session_sampling *request = scope->request;
    const struct pebs_config config = {
        .pmc = session_machine.pmc,
        .base = (uintptr_t)buffer,
        .bytes = scope->bytes,
        .threshold_records = session_threshold(scope),
        .user = request->user,
        .kernel = request->kernel,
        .counters = request->counters,
        .counter_count = request->counter_count,
        .groups = request->groups,
        .tables = scope->tables,
        .table_count = scope->table_count,
    };
    enum ds_error error = pebs_setup(&session->pebs, area, &config, why);

    if (error != DS_OK)
        return error;
    session->sampled = request->sampled;
    session->notify = request->notify;
    session->callback_context = request->context;
    session->pmi = (struct pmi){
        .pebs = &session->pebs,
        .samples = request->sampled ? hand_to_callback : NULL,
        .samples_context = session,
    };
    return DS_OK;
}

/* Bytes of one record, and what is missing where it is not known. */
static size_t sample_bytes(uint64_t groups, const char **missing)
{
    const struct pmc *pmc = session_machine.pmc;
    const struct pebs_format *format;

    *missing = "the processor has no PEBS";
    if (!pmc || !pmc->has_pebs)
        return 0;
    *missing = "the PEBS record format is not known";
    format = pebs_format_find(&ds_layout_64, pmc->pebs_format);
    if (!format)
        return 0;
    *missing = NULL;
    /* Groups that are not known are refused later, with their own reason. */
    return pebs_format_bytes(format, groups & PEBS_GROUPS);
}

enum ds_error session_sample(const struct session_sampling *request,
                             struct session_result *result)
{
    const char *missing;
    size_t bytes = sample_bytes(request->groups, &missing);
    struct session_scope scope = {
        .half = DS_HALF_PEBS,
        .owner = request->owner,
        .task = request->task,
        .buffer = request->buffer,
        .tables = request->tables,
        .table_count = request->table_count,
        .records = request->records,
        .origin = request->origin,
        .threshold = request->threshold,
        .interrupts = request->threshold != SESSION_NO_THRESHOLD || request->sampled,
        .user = request->user,
        .kernel = request->kernel,
        .suspended = request->suspended,
        .missing = missing,
        .set_up = set_up,
        .request = request,
    };

    /* A product that is no size is more than any pool has. */
    if (__builtin_mul_overflow(request->records, bytes, &scope.bytes))
        scope.bytes = SIZE_MAX;
    return session_open(&scope, result);
}

struct copy {
    struct pebs_sample *to;
};

static void copy_sample(void *context, const struct pebs_sample *sample)
{
    struct copy *copy = context;

    *copy->to++ = *sample;
}

static enum ds_error take(struct session *session, struct pebs_sample *to, size_t room,
                          size_t most, size_t *count)
{
    struct copy copy = {to};
    size_t held = pebs_count(&session->pebs);

    if (!to)
        return DS_EFAULT;
    if (pebs_running(&session->pebs))
        return DS_EBUSY;
    if (room < (most < held ? most : held))
        return DS_EIO;
    return pebs_drain(&session->pebs, most, copy_sample, &copy, count);
}

enum ds_error session_samples(session_id id, const struct ds_owner *caller,
                              struct pebs_sample *to, size_t room, size_t most, size_t *count)
{
    struct session_call call;
    enum ds_error error = session_enter(id, caller, DS_HALF_PEBS, &call);

    return session_leave(&call,
                         error == DS_OK ? take(call.session, to, room, most, count) : error);
}

enum ds_error session_set_reset(session_id id, const struct ds_owner *caller, unsigned counter,
                                uint64_t reset, const char **why)
{
    struct session_call call;
    enum ds_error error = session_enter(id, caller, DS_HALF_PEBS, &call);

    if (why)
        *why = "no such session, or not the caller's";
    return session_leave(&call, error == DS_OK
                                    ? pebs_set_reset(&call.session->pebs, counter, reset, why)
                                    : error);
}
