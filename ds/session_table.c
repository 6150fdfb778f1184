/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of the sessions, their machine, and the calls in progress on each processor. */
#include "ds/session_state.h"
#include "hw/cpu.h"
#include "hw/string.h"

struct session_machine session_machine;
struct session session_table[SESSIONS_MOST];
struct lock session_lock;
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

struct session *session_in(const struct ds_context *context, enum ds_half half)
{
    return context ? __atomic_load_n(&context->user[half], __ATOMIC_ACQUIRE) : NULL;
}
