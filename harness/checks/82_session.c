/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a session refuses, and in which order.
 *
 * Claim: the errors come in the order that ds/session.h gives, the strictest reason first; a
 *   half that is owned is refused with its owner's name; a call that fails has changed no
 *   register, no account and no trace.
 * How: requests with everything wrong, of which one thing after the other is put right; each
 *   refusal is compared with DEBUGCTL, DS_AREA, the LVT entry and both purses before it.
 * Wrong if: the machine lends no interrupt or no BTS; the layer is told so for two of the
 *   steps, since a machine cannot be asked to lack what it has.
 */
#define CHECK_GROUP "82 ds.session"
#include "harness/fixture/sessions.h"
#include "hw/apic.h"
#include "hw/string.h"

#define RECORD sizeof(struct bts_record)
#define FIXED  (LVT_DELIVERY_FIXED | VECTOR_PMI)

static void ignore(void *context, session_id id, const struct bts_record *records, size_t count)
{
    (void)id;
    (void)records;
    *(size_t *)context += count;
}

/* On machines that lack something: nothing but the order is asked. */
CHECK("ds.session.order_lacking", SOFTWARE, "", NEED_BTS)
{
    struct sessions *s = sessions_open(run, FIXED);
    struct session_request request = {.owner = &s->debugger, .threshold = 9};
    size_t count;

    sessions_restart(s, false, false);
    sessions_expect(s, &request, DS_EOPNOTSUPP); /* a threshold */
    request.threshold = SESSION_NO_THRESHOLD;
    request.overflow = ignore;
    request.context = &count;
    sessions_expect(s, &request, DS_EOPNOTSUPP); /* a callback */
    request.overflow = NULL;
    sessions_expect(s, &request, DS_EOPNOTSUPP); /* no BTS, before the missing buffer */
    sessions_restart(s, true, false);
    sessions_expect(s, &request, DS_EINVAL);
    request.overflow = ignore;
    sessions_expect(s, &request, DS_EOPNOTSUPP);
}

CHECK("ds.session.order", SOFTWARE, "", NEED_BTS | NEED_DS_CPL)
{
    static struct ds_task tasks[SESSIONS_MOST + 1];
    static struct bts_record buffer[4];
    struct sessions *s = sessions_open(run, FIXED);
    struct session_request ring = sessions_request(s, 32), wrong = {.owner = &s->profiler};
    struct session_result result;
    session_id id = sessions_ask(s, &ring);

    memset(tasks, 0, sizeof(tasks));
    wrong.task = &tasks[0];
    wrong.threshold = 9;
    sessions_expect(s, &wrong, DS_EPERM);
    wrong.task = NULL;
    sessions_expect(s, &wrong, DS_EINVAL); /* no buffer */
    wrong.bytes = 2 * RECORD - 1;
    sessions_expect(s, &wrong, DS_EINVAL); /* smaller than two records */
    wrong.bytes = 9 * RECORD;
    sessions_expect(s, &wrong, DS_EINVAL); /* the threshold at the maximum */
    wrong.threshold = SESSION_NO_THRESHOLD;
    sessions_expect(s, &wrong, DS_EINVAL); /* neither user nor kernel */
    wrong.user = true;
    s->other_purse.limit_pages = 0;
    sessions_expect(s, &wrong, DS_ENOMEM); /* the payer's limit, before the owned half */
    s->other_purse.limit_pages = 64;
    result = sessions_expect(s, &wrong, DS_EBUSY);
    EXPECT(run, result.holder == &s->debugger, "EBUSY does not name the owner");
    sessions_error(run, session_release(id, &s->debugger), DS_OK, "release");
    wrong.bytes++;
    sessions_expect(s, &wrong, DS_EINVAL); /* bts_setup: no whole records */
    wrong.bytes = 9 * RECORD;
    wrong.buffer = (void *)(uintptr_t)(trace_guest(run)->data);
    sessions_expect(s, &wrong, DS_EFAULT); /* ring 3 could write there */
    wrong.buffer = NULL;
    sessions_ask(s, &wrong);
    session_owner_died(&s->profiler);
    /* The table: before what is wrong with the request itself, behind EPERM. */
    ring.buffer = buffer;
    ring.bytes = sizeof(buffer);
    for (unsigned i = 0; i < SESSIONS_MOST; i++) {
        ring.task = &tasks[i];
        sessions_ask(s, &ring);
    }
    ring.task = &tasks[SESSIONS_MOST];
    ring.bytes = 0;
    sessions_expect(s, &ring, DS_ENOMEM);
    ring.task = NULL;
    sessions_expect(s, &ring, DS_EPERM);
}

/* Calls on a session: ESRCH, EPERM, then the call's own error. */
CHECK("ds.session.calls", SOFTWARE, "", NEED_BTS | NEED_DS_CPL)
{
    struct sessions *s = sessions_open(run, FIXED);
    struct session_request request = sessions_request(s, 32);
    session_id id = sessions_ask(s, &request);
    struct bts_record record;
    size_t count;

    sessions_error(run, session_resume(id + SESSIONS_MOST, &s->debugger), DS_ESRCH, "no id");
    sessions_error(run, session_suspend(id, &s->profiler), DS_EPERM, "another's suspend");
    sessions_error(run, session_get(id, &s->profiler, 99, &record), DS_EPERM, "another's get");
    sessions_error(run, session_release(id, &s->profiler), DS_EPERM, "another's release");
    sessions_error(run, session_resume(id, &s->debugger), DS_EINVAL, "resume, not suspended");
    sessions_error(run, session_reset(id, &s->debugger), DS_EBUSY, "reset while it runs");
    sessions_error(run, session_clear(id, &s->debugger), DS_EBUSY, "clear while it runs");
    sessions_error(run, session_drain(id, &s->debugger, NULL, 0, 0, &count), DS_EFAULT,
                   "drain to nowhere");
    EXPECT(run, session_release(id, &s->debugger) == DS_OK, "release");
    sessions_error(run, session_suspend(id, &s->debugger), DS_ESRCH, "a released id");
    /* The next session in the same entry is another one. */
    EXPECT(run, sessions_ask(s, &request) != id, "an id comes back");
    sessions_error(run, session_suspend(id, &s->debugger), DS_ESRCH, "the old id");
}

/* Seen in old code: an index tested in bytes, or not at all. */
CHECK("ds.session.get_range", SOFTWARE, "", NEED_BTS | NEED_DS_CPL)
{
    const size_t n = 32;
    const size_t outside[] = {n, n + 1, 2 * n, RECORD * n - 1, RECORD * n, SIZE_MAX};
    struct sessions *s = sessions_open(run, FIXED);
    struct session_request request = sessions_request(s, n);
    session_id id = sessions_ask(s, &request);
    struct bts_record record = {7, 7, 7};
    size_t size = 0;

    sessions_branches(run, "bench.call", 20);
    session_suspend(id, &s->debugger);
    session_size(id, &s->debugger, &size);
    EXPECT_EQ(run, size, n, "the size of a ring that has wrapped");
    for (unsigned i = 0; i < sizeof(outside) / sizeof(outside[0]); i++)
        sessions_error(run, session_get(id, &s->debugger, outside[i], &record), DS_EINVAL,
                       "get past the oldest");
    EXPECT(run, record.from == 7 && record.to == 7, "a refused get wrote its record");
    sessions_error(run, session_get(id, &s->debugger, n - 1, &record), DS_OK, "the oldest");
}

/* Both filters: all the cost and no data. And sizes that some processors overrun. */
CHECK("ds.session.refused_setups", SOFTWARE, "", NEED_BTS | NEED_DS_CPL)
{
    static const size_t bytes[] = {1, RECORD, RECORD + 1, 2 * RECORD - 1, 2 * RECORD + 1, 521};
    struct sessions *s = sessions_open(run, FIXED);
    struct session_request request = sessions_request(s, 32);

    request.user = false;
    sessions_expect(s, &request, DS_EINVAL);
    request.user = true;
    for (unsigned i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
        request.bytes = bytes[i];
        sessions_expect(s, &request, DS_EINVAL);
    }
    request.bytes = 2 * RECORD;
    sessions_ask(s, &request);
}

/* One half each; the area lives as long as one of them, and the other's entries stay. */
CHECK("ds.session.halves", SOFTWARE, "", NEED_BTS | NEED_DS_CPL)
{
    struct sessions *s = sessions_open(run, FIXED);
    struct session_request request = sessions_request(s, 32);
    const struct ds_owner *holder = NULL;
    struct ds_context *pebs = NULL, *again = NULL;
    session_id id = sessions_ask(s, &request);
    uint64_t area = sessions_ds_area();

    EXPECT(run, area && !(area % POOL_PAGE_BYTES), "DS_AREA %lx", area);
    sessions_error(run, context_claim(NULL, DS_HALF_PEBS, &s->profiler, &pebs, &holder), DS_OK,
                   "the other half");
    sessions_error(run, context_claim(NULL, DS_HALF_PEBS, &s->debugger, &again, &holder),
                   DS_EBUSY, "the same half");
    EXPECT(run, holder == &s->profiler && !again, "the wrong owner is named");
    EXPECT(run, session_release(id, &s->debugger) == DS_OK, "release");
    EXPECT_EQ(run, sessions_debugctl(), 0, "DEBUGCTL after the release");
    EXPECT_EQ(run, sessions_ds_area(), area, "DS_AREA while a half is owned");
    EXPECT(run, pebs && !pebs->area->bts_base && !pebs->area->bts_index,
           "the freed buffer is still named");
    EXPECT(run, pebs->owner[DS_HALF_PEBS] == &s->profiler, "the other's half is gone");
    /* Whoever comes now joins; the last to go frees the area, and DS_AREA with it. */
    id = sessions_ask(s, &request);
    EXPECT_EQ(run, sessions_ds_area(), area, "DS_AREA for the second session");
    sessions_error(run, context_release(pebs, DS_HALF_PEBS), DS_OK, "release of PEBS");
    EXPECT(run, sessions_ds_area() == area && session_release(id, &s->debugger) == DS_OK,
           "the session lost its area");
    EXPECT_EQ(run, sessions_ds_area(), 0, "DS_AREA after the last release");
}
