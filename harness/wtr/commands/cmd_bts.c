/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `wtr bts`: the branches as the processor's buffer holds them, 24 bytes each: from, to, flags,
 * little-endian. What a decoder of BTS data takes. Gaps leave nothing.
 * Source: SDM Vol. 3, "BTS and DS Save Area", the 64-bit branch trace record.
 */
#include "harness/wtr/core/wtr.h"

#include <unistd.h>

static void put_branch(void *context, const struct branch *branch)
{
    struct session *session = context;
    uint32_t task = session->options->task;
    const uint64_t record[3] = {branch->from, branch->to, branch->flags};

    if (!task || branch->task == task)
        text_bytes(&session->text, record, sizeof record);
}

static void skip_event(void *context, const struct event *event)
{
    (void)context;
    (void)event;
}

bool command_bts(struct session *session)
{
    static const struct visitor visitor = {.branch = put_branch, .event = skip_event};

    if (!session->options->out && isatty(1)) {
        complain("binary records are not for a terminal; use -o trace.bts");
        return false;
    }
    trace_walk(&session->trace, &visitor, session);
    return true;
}
