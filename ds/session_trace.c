/* SPDX-License-Identifier: BSD-2-Clause */
/* Sessions of the BTS half: the request, and the records. */
#include "ds/session.h"

#include "ds/session_state.h"

/* --- the request */

static void hand_to_callback(void *context, const struct bts_record *records, size_t count)
{
    struct session *session = context;

    session->overflow(session->callback_context, session->id, records, count);
}

static enum ds_error set_up(struct session *session, struct ds_area *area, void *buffer,
                            const struct session_scope *scope, const char **why)
{
    const struct session_request *request = scope->request;
    const struct bts_config config = {
        .base = (uintptr_t)buffer,
        .bytes = request->bytes,
        .threshold_records = session_threshold(scope),
        .interrupt = request->threshold != SESSION_NO_THRESHOLD,
        .off_os = !request->kernel,
        .off_usr = !request->user,
        .tables = scope->tables,
        .table_count = scope->table_count,
    };
    enum ds_error error = bts_setup(&session->bts, area, &config, why);

    if (error != DS_OK)
        return error;
    session->overflow = request->overflow;
    session->notify = request->notify;
    session->callback_context = request->context;
    session->marks = request->marks;
    session->pmi = (struct pmi){
        .bts = &session->bts,
        .sink = request->overflow ? hand_to_callback : NULL,
        .context = session,
    };
    return DS_OK;
}

enum ds_error session_request(const struct session_request *request,
                              struct session_result *result)
{
    const struct session_scope scope = {
        .half = DS_HALF_BTS,
        .owner = request->owner,
        .task = request->task,
        .buffer = request->buffer,
        .tables = request->tables,
        .table_count = request->table_count,
        .bytes = request->bytes,
        .records = request->bytes / sizeof(struct bts_record),
        .origin = request->origin,
        .threshold = request->threshold,
        .interrupts = request->threshold != SESSION_NO_THRESHOLD || request->overflow,
        .user = request->user,
        .kernel = request->kernel,
        .suspended = request->suspended,
        .missing = session_machine.has_bts ? NULL : "the processor has no BTS",
        .set_up = set_up,
        .request = request,
    };

    return session_open(&scope, result);
}

enum ds_error session_get(session_id id, const struct ds_owner *caller, size_t i,
                          struct bts_record *record)
{
    struct session_call call;
    enum ds_error error = session_enter(id, caller, DS_HALF_BTS, &call);

    return session_leave(&call,
                         error == DS_OK ? bts_get(&call.session->bts, i, record) : error);
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
    struct session_call call;
    enum ds_error error = session_enter(id, caller, DS_HALF_BTS, &call);

    return session_leave(&call,
                         error == DS_OK ? drain(call.session, to, room, most, count) : error);
}
