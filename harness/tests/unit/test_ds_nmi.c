/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An NMI in the middle of a broker call, at every register access and then after every single
 * instruction: nobody's bits are lost, nothing is enabled without an area, and a call that
 * fails has changed nothing.
 */
#include "ds/broker.h"
#include "ds/broker_state.h"
#include "harness/tests/fakes/fake_regs.h"
#include "harness/tests/fakes/step.h"
#include "harness/tests/fakes/unit.h"

#include <stdalign.h>

#define LBR    0x1ull
#define BTF    0x2ull
#define TR     0x40ull
#define BTS    0x80ull
#define BTINT  0x100ull
#define OFF_OS 0x200ull
#define FRZ    0x1000ull

static alignas(4096) struct ds_area area, other;
static uint64_t slots[64 * 3];

/* --- what is interrupted: a state to start from, a call, what it leaves in each mask */

#define KEEP UINT64_MAX

struct interrupted {
    const char *name;
    uint64_t bts, step; /* masks before */
    struct ds_area *area;
    void (*call)(void);
    uint64_t bts_after, step_after; /* KEEP = as before, whatever an NMI made of it */
};

static void set_step(void)
{
    EXPECT_EQ(broker_set(BROKER_BLOCK_STEP, BTF), DS_OK);
}
static void clear_step(void)
{
    EXPECT_EQ(broker_clear(BROKER_BLOCK_STEP), DS_OK);
}
/* An NMI before the call looks may have taken the area away: the call then says so. */
static bool area_gone(enum ds_error error)
{
    return error == DS_EFAULT && !broker_ds_area();
}
static void set_bts(void)
{
    enum ds_error error = broker_set(BROKER_BTS, TR | BTS | BTINT);

    EXPECT(error == DS_OK || area_gone(error));
}
static void clear_bts(void)
{
    EXPECT_EQ(broker_clear(BROKER_BTS), DS_OK);
}
static void fault(void)
{
    enum ds_error error;

    fake.ds_cpl = false;
    error = broker_set(BROKER_BTS, TR | BTS | OFF_OS);
    EXPECT(error == DS_EOPNOTSUPP || area_gone(error));
}
static void point(void)
{
    /* An NMI may have started a trace before this call looked: then it must not move. */
    enum ds_error error = broker_set_ds_area(&other);

    EXPECT(error == DS_OK || (error == DS_EBUSY && fake.debugctl & TR));
}
static void unpoint(void)
{
    enum ds_error error = broker_set_ds_area(NULL);

    EXPECT(error == DS_OK || (error == DS_EBUSY && fake.debugctl & TR));
}
static void take_db(void)
{
    fake.debugctl &= ~(LBR | BTF);
    broker_db_taken();
}
static uint64_t in_bracket(void *arg)
{
    return (uintptr_t)arg + (uintptr_t)broker_ds_area();
}
static void bracket(void)
{
    enum ds_error error = broker_bracket(BROKER_BTS, TR | BTS, in_bracket, NULL, NULL);

    EXPECT(error == DS_OK || error == DS_EBUSY || error == DS_EFAULT);
}

static const struct interrupted calls[] = {
    {"set block step", TR | BTS, 0, &area, set_step, KEEP, BTF},
    {"clear block step", TR | BTS, BTF, &area, clear_step, KEEP, 0},
    {"start trace", 0, BTF, &area, set_bts, TR | BTS | BTINT, KEEP},
    {"stop trace", TR | BTS, 0, &area, clear_bts, 0, KEEP},
    {"faulting set", 0, BTF, &area, fault, KEEP, KEEP},
    {"faulting change", TR | BTS, BTF, &area, fault, KEEP, KEEP},
    {"point elsewhere", 0, BTF, &area, point, KEEP, KEEP},
    {"point nowhere", 0, 0, &area, unpoint, KEEP, KEEP},
    {"re-arm after #DB", TR | BTS, BTF, &area, take_db, KEEP, KEEP},
    {"resync", TR | BTS, BTF, &area, broker_resync, KEEP, KEEP},
    {"bracket", 0, BTF, &area, bracket, KEEP, KEEP},
};
#define CALLS (sizeof(calls) / sizeof(calls[0]))

/* --- what interrupts: each leaves a mark that must still be there in the end */

static uint64_t lbr_want, freeze_want, bts_want;

static void nmi_set_lbr(void)
{
    EXPECT_EQ(broker_set(BROKER_LBR, LBR), DS_OK);
    lbr_want = LBR;
}
static void nmi_clear_freeze(void)
{
    EXPECT_EQ(broker_clear(BROKER_FREEZE), DS_OK);
    freeze_want = 0;
}
/* As the PMI handler does: stop, work, put back. */
static void nmi_pmi(void)
{
    uint64_t bits = broker_bits(BROKER_BTS);

    broker_set(BROKER_BTS, bits & ~TR);
    EXPECT_EQ(fake.debugctl & TR, 0);
    broker_set(BROKER_BTS, bits);
}
static void nmi_stop_for_good(void)
{
    EXPECT_EQ(broker_clear(BROKER_BTS), DS_OK);
    EXPECT_EQ(fake.debugctl & TR, 0);
    bts_want = 0;
}
static void nmi_start_trace(void)
{
    if (broker_set(BROKER_BTS, TR | BTS) == DS_OK)
        bts_want = TR | BTS;
}
/* It may be told to come back; it must never pull the area away. */
static void nmi_unpoint(void)
{
    broker_set_ds_area(NULL);
}
static void nmi_stop_and_unpoint(void)
{
    nmi_stop_for_good();
    broker_set_ds_area(NULL);
}
static void nmi_db(void)
{
    fake.debugctl &= ~(LBR | BTF);
    broker_db_taken();
}
static void nmi_resync(void)
{
    broker_resync();
}
static void nmi_inside_nmi(void)
{
    nmi_set_lbr();
    nmi_pmi();
    nmi_clear_freeze();
    nmi_db();
}

static void (*const nmis[])(void) = {
    nmi_set_lbr, nmi_clear_freeze,     nmi_pmi, nmi_stop_for_good, nmi_start_trace,
    nmi_unpoint, nmi_stop_and_unpoint, nmi_db,  nmi_resync,        nmi_inside_nmi};
#define NMIS (sizeof(nmis) / sizeof(nmis[0]))

/* --- one round */

static void (*nmi)(void);
static unsigned countdown;

static void prepare(const struct interrupted *call)
{
    fake_reset();
    memset(&area, 0, sizeof(area));
    area.bts_base = area.bts_index = (uintptr_t)slots;
    area.bts_maximum = (uintptr_t)slots + sizeof(slots);
    area.bts_threshold = area.bts_maximum + 24;
    other = area;
    fake.debugctl = 0x2000;
    broker_init();
    broker_set_ds_area(call->area);
    broker_set(BROKER_BTS, call->bts);
    broker_set(BROKER_BLOCK_STEP, call->step);
    broker_set(BROKER_FREEZE, FRZ);
    lbr_want = 0;
    freeze_want = FRZ;
    bts_want = KEEP;
}

static void judge(const struct interrupted *call, bool fired)
{
    uint64_t bts = broker_bits(BROKER_BTS), step = broker_bits(BROKER_BLOCK_STEP);
    unsigned failed = unit_failed;

    EXPECT_EQ(broker_bits(BROKER_LBR), lbr_want);
    EXPECT_EQ(broker_bits(BROKER_FREEZE), freeze_want);
    EXPECT_EQ(step, call->step_after == KEEP ? call->step : call->step_after);
    /* The trace's mask: the call's, or, when the call does not set it, the NMI's. */
    if (call->bts_after != KEEP)
        EXPECT(bts == call->bts_after || (fired && bts == bts_want) ||
               (bts == call->bts && !broker_ds_area()));
    else if (bts_want != KEEP)
        EXPECT(bts == bts_want || (call->call == bracket && bts == 0));
    else
        EXPECT_EQ(bts, call->bts);
    EXPECT_EQ(fake.debugctl, 0x2000 | lbr_want | freeze_want | step | bts);
    EXPECT_EQ(broker_shadow(), fake.debugctl);
    EXPECT_EQ(fake.ds_area, (uintptr_t)broker_ds_area());
    EXPECT_EQ(fake.crashes, 0);
    EXPECT_EQ(fake.area_moves, 0);
    EXPECT(fake.interrupts);
    /* No flag of a call in progress stays behind. */
    if (!(bts & TR))
        EXPECT_EQ(broker_set_ds_area(&area), DS_OK);
    if (unit_failed != failed)
        printf("  in %s: trace %lx, area %p, NMI left %lx\n", call->name, bts,
               (void *)broker_ds_area(), bts_want);
}

/* --- at every register access */

static void on_access(enum fake_point where)
{
    (void)where;
    if (countdown && --countdown == 0) {
        fake.hook = NULL;
        nmi();
    }
}

static void test_at_every_access(void)
{
    for (size_t c = 0; c < CALLS; c++) {
        for (size_t n = 0; n < NMIS; n++) {
            bool fired = true;

            for (unsigned at = 1; fired; at++) {
                prepare(&calls[c]);
                nmi = nmis[n];
                countdown = at;
                fake.hook = on_access;
                calls[c].call();
                fake.hook = NULL;
                fired = countdown == 0;
                judge(&calls[c], fired);
            }
        }
    }
}

/* --- after every instruction */

static const struct interrupted *stepped;

static void judge_stepped(bool fired)
{
    judge(stepped, fired);
}

static void test_after_every_instruction(void)
{
    static struct fake_machine fake_copy;
    static struct broker_cpu cpu_copy;
    static uint64_t want_copy[3];
    struct step_memory memory[] = {
        {&fake, sizeof(fake), &fake_copy},
        {broker_cpu(), sizeof(cpu_copy), &cpu_copy},
        {&lbr_want, sizeof(lbr_want), &want_copy[0]},
        {&freeze_want, sizeof(freeze_want), &want_copy[1]},
        {&bts_want, sizeof(bts_want), &want_copy[2]},
        {NULL, 0, NULL},
    };

    step_init();
    for (size_t c = 0; c < CALLS; c++) {
        for (size_t n = 0; n < NMIS; n++) {
            stepped = &calls[c];
            prepare(stepped);
            step_explore(stepped->call, nmis[n], judge_stepped, memory);
        }
    }
    printf("%u places\n", step.places);
    EXPECT(step.places > 20 * CALLS * NMIS);
}

int main(void)
{
    RUN(test_at_every_access);
    RUN(test_after_every_instruction);
    UNIT_END();
}
