/* SPDX-License-Identifier: BSD-2-Clause */
/* Marks between the records of a session's ring: what is gone, and how it was recorded. */
#include "ds/session_state.h"

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

void session_mark_lost(struct session *session)
{
    session_mark(session, (struct record){.kind = RECORD_LOST, .count = RECORD_UNKNOWN});
}

void session_mark_mode(struct session *session, uint32_t mode)
{
    if (!session || session->mode == mode)
        return;
    session->mode = mode;
    session_mark(session, (struct record){.kind = RECORD_MODE, .detail = mode});
}
