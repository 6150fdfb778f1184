/* SPDX-License-Identifier: BSD-2-Clause */
/* Using a session: suspend, resume, read, overflow, and an NMI in the middle of it. */
#include "ds/session_state.h"
#include "harness/tests/fakes/session_fixture.h"

static void test_nesting(void)
{
    session_id id;

    start();
    request.suspended = true;
    id = ask();
    EXPECT_EQ(fake.debugctl, 0);
    EXPECT_EQ(session_suspend(id, &debugger), DS_OK);
    EXPECT_EQ(session_resume(id, &debugger), DS_OK);
    EXPECT_EQ(fake.debugctl, 0);
    EXPECT_EQ(session_resume(id, &debugger), DS_OK);
    EXPECT_EQ(fake.debugctl, TR_BTS);
    EXPECT_EQ(session_resume(id, &debugger), DS_EINVAL);
    EXPECT_EQ(session_suspend(id, &profiler), DS_EPERM);
    EXPECT_EQ(session_resume(id, &profiler), DS_EPERM);
    EXPECT_EQ(session_suspend(0, &debugger), DS_ESRCH);
    EXPECT_EQ(fake.debugctl, TR_BTS);
    /* The top does not move. */
    fake_branches(1, 3);
    EXPECT_EQ(session_suspend(id, &debugger), DS_OK);
    fake_branches(4, 9);
    EXPECT_EQ(size_of(id), 3);
    fake.interrupts = false;
    EXPECT_EQ(session_resume(id, &debugger), DS_OK);
    EXPECT(!fake.interrupts);
    fake.interrupts = true;
    EXPECT_EQ(session_release(id, &debugger), DS_OK);
    expect_nothing_left();
}

static session_id nmi_id;
static unsigned countdown;

static void suspend_in_nmi(enum fake_point point)
{
    struct bts_record record;
    size_t records = 0;

    (void)point;
    if (--countdown)
        return;
    fake.hook = NULL;
    EXPECT_EQ(session_suspend(nmi_id, &debugger), DS_OK);
    EXPECT_EQ(fake.debugctl & TR, 0);
    EXPECT_EQ(session_size(nmi_id, &debugger, &records), DS_OK);
    if (records)
        EXPECT_EQ(session_get(nmi_id, &debugger, 0, &record), DS_OK);
    EXPECT_EQ(session_resume(nmi_id, &debugger), DS_OK);
}

/* An NMI that suspends, reads and resumes, at every register access of a suspend and resume. */
static void test_nmi_inside(void)
{
    for (unsigned at = 1; at < 40; at++) {
        start();
        nmi_id = ask();
        fake_branches(1, 3);
        countdown = at;
        fake.hook = suspend_in_nmi;
        EXPECT_EQ(session_suspend(nmi_id, &debugger), DS_OK);
        EXPECT_EQ(fake.debugctl & TR, 0);
        EXPECT_EQ(session_resume(nmi_id, &debugger), DS_OK);
        fake.hook = NULL;
        EXPECT_EQ(fake.debugctl, TR_BTS);
        EXPECT_EQ(status_of(nmi_id).suspended, 0);
        EXPECT_EQ(session_release(nmi_id, &debugger), DS_OK);
        expect_nothing_left();
    }
}

static void only_suspend_in_nmi(enum fake_point point)
{
    (void)point;
    if (--countdown)
        return;
    fake.hook = NULL;
    EXPECT_EQ(session_suspend(nmi_id, &debugger), DS_OK);
}

/* Suspended for good in the middle of a resume: the resume must not have the last word. */
static void test_nmi_suspends_for_good(void)
{
    for (unsigned at = 1; at < 12; at++) {
        bool fired;

        start();
        request.suspended = true;
        nmi_id = ask();
        countdown = at;
        fake.hook = only_suspend_in_nmi;
        EXPECT_EQ(session_resume(nmi_id, &debugger), DS_OK);
        fired = !fake.hook;
        fake.hook = NULL;
        EXPECT_EQ(status_of(nmi_id).suspended, fired);
        EXPECT_EQ(fake.debugctl & TR, fired ? 0 : TR);
        EXPECT_EQ(session_release(nmi_id, &debugger), DS_OK);
        expect_nothing_left();
    }
}

/* A resume that the register refuses leaves the session as it was. */
static void test_resume_fails(void)
{
    session_id id;

    start();
    request.threshold = 10;
    id = ask();
    fake_branches(1, 10);
    EXPECT(status_of(id).overflowed);
    session_reset(id, &debugger);
    fake.debugctl_faults = TR;
    EXPECT_EQ(session_resume(id, &debugger), DS_EOPNOTSUPP);
    EXPECT(status_of(id).overflowed);
    EXPECT_EQ(status_of(id).suspended, 1);
    fake.debugctl_faults = 0;
    EXPECT_EQ(session_resume(id, &debugger), DS_OK);
    EXPECT(!status_of(id).overflowed);
    EXPECT(status_of(id).running);
    session_find(id)->suspended = UINT32_MAX;
    EXPECT_EQ(session_suspend(id, &debugger), DS_EINVAL);
    EXPECT_EQ(session_find(id)->suspended, UINT32_MAX);
    EXPECT_EQ(session_release(id, &debugger), DS_OK);
    expect_nothing_left();
}

static void release_in_nmi(enum fake_point point)
{
    (void)point;
    if (--countdown)
        return;
    fake.hook = NULL;
    session_release(nmi_id, &debugger);
}

/* A release from an NMI is carried out or refused as a whole. */
static void test_release_in_nmi(void)
{
    for (unsigned at = 1; at < 40; at++) {
        struct session_status status;

        start();
        nmi_id = ask();
        countdown = at;
        fake.hook = release_in_nmi;
        session_suspend(nmi_id, &debugger);
        session_resume(nmi_id, &debugger);
        fake.hook = NULL;
        if (session_status(nmi_id, &status) == DS_OK) {
            EXPECT(status.running);
            EXPECT_EQ(fake.debugctl, TR_BTS);
            EXPECT_EQ(session_release(nmi_id, &debugger), DS_OK);
        }
        expect_nothing_left();
    }
}

/* --- reading */

static void test_reading(void)
{
    struct bts_record got[SLOTS];
    size_t count = 99;
    session_id id;

    start();
    id = ask();
    fake_branches(1, SLOTS + SLOTS / 2);
    EXPECT_EQ(session_get(id, &debugger, 0, got), DS_EBUSY);
    EXPECT_EQ(session_drain(id, &debugger, got, SLOTS, SIZE_MAX, &count), DS_EBUSY);
    EXPECT_EQ(session_reset(id, &debugger), DS_EBUSY);
    EXPECT_EQ(session_clear(id, &debugger), DS_EBUSY);
    session_suspend(id, &debugger);
    /* The size is what can be read, not where the index stands. */
    EXPECT_EQ(size_of(id), SLOTS);
    EXPECT(status_of(id).full);
    for (size_t i = 0; i < SLOTS; i++) {
        EXPECT_EQ(session_get(id, &debugger, i, got), DS_OK);
        EXPECT_EQ(got[0].from, SLOTS + SLOTS / 2 - i);
    }
    EXPECT_EQ(session_get(id, &debugger, SLOTS, got), DS_EINVAL);
    EXPECT_EQ(session_get(id, &debugger, SLOTS * 24 - 1, got), DS_EINVAL);
    EXPECT_EQ(session_get(id, &profiler, 0, got), DS_EPERM);
    EXPECT_EQ(session_get(77, &debugger, 0, got), DS_ESRCH);

    EXPECT_EQ(session_drain(id, &debugger, got, SLOTS - 1, SIZE_MAX, &count), DS_EIO);
    EXPECT_EQ(session_drain(id, &debugger, got, 4, 5, &count), DS_EIO);
    EXPECT_EQ(session_drain(id, &debugger, NULL, SLOTS, 5, &count), DS_EFAULT);
    EXPECT_EQ(session_drain(id, &profiler, got, SLOTS, 5, &count), DS_EPERM);
    EXPECT_EQ(count, 99);
    EXPECT_EQ(session_drain(id, &debugger, got, 5, 5, &count), DS_OK);
    EXPECT_EQ(count, 5);
    EXPECT_EQ(got[0].from, SLOTS / 2 + 1);
    EXPECT_EQ(got[4].from, SLOTS / 2 + 5);
    EXPECT_EQ(size_of(id), SLOTS - 5);
    EXPECT_EQ(session_drain(id, &debugger, got, SLOTS, SIZE_MAX, &count), DS_OK);
    EXPECT_EQ(count, SLOTS - 5);
    EXPECT_EQ(got[0].from, SLOTS / 2 + 6);
    EXPECT_EQ(session_drain(id, &debugger, got, 0, SIZE_MAX, &count), DS_OK);
    EXPECT_EQ(count, 0);

    session_resume(id, &debugger);
    fake_branches(100, 4);
    session_suspend(id, &debugger);
    EXPECT_EQ(session_reset(id, &debugger), DS_OK);
    EXPECT_EQ(size_of(id), 0);
    EXPECT_EQ(session_clear(id, &debugger), DS_OK);
    EXPECT_EQ(session_clear(id, &profiler), DS_EPERM);
    EXPECT_EQ(session_reset(0, &debugger), DS_ESRCH);
    session_release(id, &debugger);
    expect_nothing_left();
}

/* --- overflow */

static uint64_t taken[256];
static size_t taken_count;

static void take(void *context, session_id id, const struct bts_record *records, size_t count)
{
    EXPECT(context == taken && id == result.id);
    EXPECT_EQ(fake.debugctl & TR, 0);
    for (size_t i = 0; i < count; i++)
        taken[taken_count++] = records[i].from;
}

static void test_callback(void)
{
    bool same = true;

    for (int end = 0; end < 2; end++) {
        session_id id;

        start();
        taken_count = 0;
        request.overflow = take;
        request.context = taken;
        request.origin = end ? SESSION_FROM_END : SESSION_FROM_START;
        request.threshold = end ? SLOTS - 10 : 10;
        id = ask();
        EXPECT_EQ(fake.lvt, LVT);
        EXPECT_EQ(status_of(id).threshold, 10);
        fake_branches(1, 35);
        EXPECT_EQ(taken_count, 30);
        for (size_t i = 0; i < taken_count; i++)
            same &= taken[i] == i + 1;
        EXPECT(same);
        EXPECT_EQ(status_of(id).overflows, 3);
        EXPECT(!status_of(id).overflowed);
        EXPECT_EQ(size_of(id), 5);
        EXPECT_EQ(session_release(id, &debugger), DS_OK);
        EXPECT(fake.lvt & 0x10000);
        expect_nothing_left();
    }
}

/* Without a callback the overflow suspends, and only a drain or a reset lets it go on. */
static void test_flag(void)
{
    struct bts_record got[SLOTS];
    size_t count = 0;
    session_id id;

    start();
    request.threshold = 10;
    id = ask();
    EXPECT(!session_pmi());
    fake_branches(1, 9);
    fake.interrupt = NULL;
    fake_branches(10, 1);
    EXPECT(session_pmi());
    fake.interrupt = on_interrupt;
    fake_branches(11, 40);
    EXPECT_EQ(fake.delivered, 1);
    EXPECT(status_of(id).overflowed);
    EXPECT_EQ(status_of(id).suspended, 1);
    EXPECT_EQ(size_of(id), 10);
    EXPECT_EQ(session_resume(id, &debugger), DS_EBUSY);
    EXPECT_EQ(status_of(id).suspended, 1);
    EXPECT_EQ(session_drain(id, &debugger, got, SLOTS, SIZE_MAX, &count), DS_OK);
    EXPECT_EQ(count, 10);
    EXPECT_EQ(session_resume(id, &debugger), DS_OK);
    EXPECT(!status_of(id).overflowed);
    fake_branches(51, 50);
    EXPECT_EQ(fake.delivered, 2);
    EXPECT_EQ(session_reset(id, &debugger), DS_OK);
    EXPECT_EQ(session_resume(id, &debugger), DS_OK);
    EXPECT_EQ(session_release(id, &debugger), DS_OK);
    expect_nothing_left();
}

static void test_thresholds_from_the_end(void)
{
    start();
    request.origin = SESSION_FROM_END;
    request.threshold = SLOTS;
    expect_refused(DS_EINVAL);
    request.threshold = SLOTS - 1; /* the first record */
    EXPECT_EQ(status_of(ask()).threshold, 1);
    session_release(result.id, &debugger);
    request.threshold = 0;
    expect_refused(DS_EINVAL);
    request.origin = SESSION_FROM_START;
    expect_refused(DS_EINVAL);
    request.threshold = SLOTS;
    expect_refused(DS_EINVAL);
    request.threshold = SLOTS - 1;
    EXPECT_EQ(status_of(ask()).threshold, SLOTS - 1);
    session_release(result.id, &debugger);
    expect_nothing_left();
}

int main(void)
{
    RUN(test_nesting);
    RUN(test_nmi_inside);
    RUN(test_nmi_suspends_for_good);
    RUN(test_resume_fails);
    RUN(test_release_in_nmi);
    RUN(test_reading);
    RUN(test_callback);
    RUN(test_flag);
    RUN(test_thresholds_from_the_end);
    UNIT_END();
}
