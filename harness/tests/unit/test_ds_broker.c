/* SPDX-License-Identifier: BSD-2-Clause */
/* The broker on the fake processor: masks, DS_AREA, #DB, the bracket, snapshots. */
#include "ds/broker.h"
#include "harness/tests/fakes/fake_regs.h"
#include "harness/tests/fakes/unit.h"
#include "hw/paging.h"

#include <setjmp.h>
#include <stdalign.h>

/* Bits by position: this file does not believe the header. */
#define LBR     0x1ull
#define BTF     0x2ull
#define TR      0x40ull
#define BTS     0x80ull
#define BTINT   0x100ull
#define OFF_OS  0x200ull
#define OFF_USR 0x400ull
#define FRZ     0x5800ull
#define UNCORE  0x2000ull

static alignas(4096) struct ds_area area, other;
static uint64_t slots[4 * 3];

static void start(void)
{
    fake_reset();
    memset(&area, 0, sizeof(area));
    area.bts_base = area.bts_index = (uintptr_t)slots;
    area.bts_maximum = (uintptr_t)slots + sizeof(slots);
    area.bts_threshold = area.bts_maximum + 24;
    broker_init();
}

static void test_init_adopts_and_hands_back(void)
{
    fake_reset();
    fake.debugctl = UNCORE | LBR | TR;
    fake.ds_area = 0x1234560;
    broker_init();
    EXPECT_EQ(fake.debugctl, UNCORE);
    EXPECT_EQ(fake.ds_area, 0);
    EXPECT_EQ(broker_shadow(), UNCORE);
    EXPECT_EQ(broker_set(BROKER_BLOCK_STEP, BTF), DS_OK);
    EXPECT_EQ(fake.debugctl, UNCORE | BTF);
    broker_hand_back();
    EXPECT_EQ(fake.debugctl, UNCORE | LBR | TR);
    EXPECT_EQ(fake.ds_area, 0x1234560);
    EXPECT_EQ(fake.crashes, 0);
    EXPECT(fake.interrupts);
}

static void test_init_without_registers(void)
{
    fake_reset();
    fake.no_debugctl = true;
    fake.ds = false;
    broker_init();
    EXPECT_EQ(broker_set(BROKER_LBR, LBR), DS_EOPNOTSUPP);
    EXPECT_EQ(broker_bits(BROKER_LBR), 0);
    EXPECT_EQ(broker_set_ds_area(&area), DS_EOPNOTSUPP);
    EXPECT(!broker_ds_area());
    EXPECT(fake.interrupts);
}

static void test_masks_are_separate(void)
{
    start();
    EXPECT_EQ(broker_set(BROKER_LBR, LBR), DS_OK);
    EXPECT_EQ(broker_set(BROKER_BLOCK_STEP, BTF), DS_OK);
    EXPECT_EQ(broker_set(BROKER_FREEZE, FRZ), DS_OK);
    EXPECT_EQ(broker_set(BROKER_BTS, BTINT | OFF_OS), DS_OK);
    EXPECT_EQ(fake.debugctl, LBR | BTF | FRZ | BTINT | OFF_OS);
    /* A mask is replaced, not added to. */
    EXPECT_EQ(broker_set(BROKER_BTS, OFF_USR), DS_OK);
    EXPECT_EQ(fake.debugctl, LBR | BTF | FRZ | OFF_USR);
    EXPECT_EQ(broker_clear(BROKER_BLOCK_STEP), DS_OK);
    EXPECT_EQ(fake.debugctl, LBR | FRZ | OFF_USR);
    EXPECT_EQ(broker_shadow(), fake.debugctl);
    EXPECT_EQ(broker_bits(BROKER_FREEZE), FRZ);
    EXPECT(fake.interrupts);
}

/* Every client against every bit: accepted exactly where the table says, else nothing moves. */
static void test_only_own_bits(void)
{
    const uint64_t own[] = {TR | BTS | BTINT | OFF_OS | OFF_USR, 0, BTF, LBR, FRZ, 0};

    for (int client = 0; client < BROKER_CLIENTS; client++) {
        for (int bit = 0; bit < 64; bit++) {
            uint64_t value = 1ull << bit;
            unsigned writes;

            start();
            writes = fake.writes_debugctl;
            EXPECT_EQ(broker_set(client, value), own[client] & value ? DS_OK : DS_EINVAL);
            EXPECT_EQ(fake.debugctl, own[client] & value);
            EXPECT_EQ(broker_bits(client), own[client] & value);
            EXPECT((fake.writes_debugctl == writes) == !(own[client] & value));
        }
        EXPECT_EQ(broker_client_bits(client), own[client]);
    }
    EXPECT_EQ(broker_set(BROKER_CLIENTS, 0), DS_EINVAL);
    EXPECT_EQ(broker_set((enum broker_client)77, 0), DS_EINVAL);
}

static void test_fault_changes_nothing(void)
{
    start();
    fake.ds_cpl = false;
    broker_set(BROKER_LBR, LBR);
    broker_set(BROKER_BTS, BTINT);
    EXPECT_EQ(broker_set(BROKER_BTS, OFF_OS), DS_EOPNOTSUPP);
    EXPECT_EQ(fake.debugctl, LBR | BTINT);
    EXPECT_EQ(broker_bits(BROKER_BTS), BTINT);
    EXPECT_EQ(broker_shadow(), LBR | BTINT);
    EXPECT_EQ(broker_set(BROKER_BLOCK_STEP, BTF), DS_OK);
    EXPECT_EQ(fake.debugctl, LBR | BTINT | BTF);
}

static void test_no_trace_without_area(void)
{
    start();
    EXPECT_EQ(broker_set(BROKER_BTS, TR | BTS), DS_EFAULT);
    EXPECT_EQ(fake.debugctl, 0);
    /* Either alone stores nothing. */
    EXPECT_EQ(broker_set(BROKER_BTS, TR), DS_OK);
    EXPECT_EQ(broker_set(BROKER_BTS, BTS), DS_OK);
    EXPECT_EQ(broker_set_ds_area(&area), DS_OK);
    EXPECT_EQ(broker_set(BROKER_BTS, TR | BTS), DS_OK);
    EXPECT_EQ(fake.debugctl, TR | BTS);
    EXPECT_EQ(fake.ds_area, (uintptr_t)&area);
    /* Changing the mask of a running trace stays possible. */
    EXPECT_EQ(broker_set(BROKER_BTS, TR | BTS | OFF_USR), DS_OK);
    EXPECT_EQ(fake.crashes, 0);
}

static void test_area_stays_under_trace(void)
{
    start();
    EXPECT_EQ(broker_set_ds_area(&area), DS_OK);
    EXPECT_EQ(broker_set(BROKER_BTS, TR | BTS), DS_OK);
    EXPECT_EQ(broker_set_ds_area(&other), DS_EBUSY);
    EXPECT_EQ(broker_set_ds_area(NULL), DS_EBUSY);
    EXPECT_EQ(broker_set_ds_area(&area), DS_OK);
    EXPECT_EQ(fake.ds_area, (uintptr_t)&area);
    EXPECT(broker_ds_area() == &area);
    EXPECT_EQ(broker_clear(BROKER_BTS), DS_OK);
    EXPECT_EQ(broker_set_ds_area(&other), DS_OK);
    EXPECT_EQ(broker_set_ds_area(NULL), DS_OK);
    EXPECT_EQ(fake.ds_area, 0);
    EXPECT(!broker_ds_area());
    EXPECT_EQ(fake.area_moves, 0);
}

static void expect_area_refused(const void *where, enum ds_error error)
{
    unsigned writes = fake.writes_ds_area;

    EXPECT_EQ(broker_set_ds_area((struct ds_area *)where), error);
    EXPECT_EQ(fake.writes_ds_area, writes);
    EXPECT(broker_ds_area() == &area);
}

static void test_bad_areas(void)
{
    const uint64_t edge48 = 0x0000800000000000;

    start();
    EXPECT_EQ(broker_set_ds_area(&area), DS_OK);
    expect_area_refused((char *)&other + 4, DS_EINVAL);
    expect_area_refused((void *)edge48, DS_EINVAL);
    expect_area_refused((void *)0xFFFF7FFFFFFFFFF8, DS_EINVAL);
    expect_area_refused((void *)(edge48 - 8), DS_EINVAL);
    expect_area_refused((void *)0xFFFFFFFFFFFFFFF8, DS_EINVAL);

    fake_page((struct fake_page){.first = (uintptr_t)&other, .bytes = 4096});
    expect_area_refused(&other, DS_EFAULT);
    fake.pages[0].flags = PAGE_PRESENT;
    expect_area_refused(&other, DS_EFAULT);
    fake.pages[0].flags = PAGE_PRESENT | PAGE_WRITE | PAGE_USER;
    expect_area_refused(&other, DS_EFAULT);
    /* The second page of an area that straddles two. */
    fake.pages[0].first = (uintptr_t)&other;
    fake.pages[0].flags = 0;
    expect_area_refused((char *)&other - 8, DS_EFAULT);
    /* The local APIC's page. */
    fake.pages[0].flags = PAGE_PRESENT | PAGE_WRITE;
    fake.pages[0].phys = 0xFEE00000;
    expect_area_refused(&other, DS_EFAULT);
    /* Under another CR3 the same page is good. */
    fake.pages[0].cr3 = 0x9000;
    EXPECT_EQ(broker_set_ds_area(&other), DS_OK);
}

static void test_area_fault_keeps_old(void)
{
    start();
    EXPECT_EQ(broker_set_ds_area(&area), DS_OK);
    fake.no_ds_area = true;
    EXPECT_EQ(broker_set_ds_area(&other), DS_EOPNOTSUPP);
    EXPECT(broker_ds_area() == &area);
}

static void take_db(void)
{
    fake.debugctl &= ~(LBR | BTF);
}

static void test_db_rearms(void)
{
    unsigned reads;

    start();
    reads = fake.reads;
    EXPECT_EQ(broker_db_taken(), 0);
    EXPECT_EQ(fake.reads, reads);

    broker_set(BROKER_LBR, LBR);
    broker_set(BROKER_BLOCK_STEP, BTF);
    broker_set(BROKER_BTS, BTINT);
    take_db();
    EXPECT_EQ(broker_db_taken(), LBR | BTF);
    EXPECT_EQ(fake.debugctl, LBR | BTF | BTINT);

    broker_rearm(BROKER_BLOCK_STEP, false);
    take_db();
    EXPECT_EQ(broker_db_taken(), LBR | BTF);
    EXPECT_EQ(fake.debugctl, LBR | BTINT);
    EXPECT_EQ(broker_bits(BROKER_BLOCK_STEP), 0);
    EXPECT_EQ(broker_bits(BROKER_LBR), LBR);

    broker_rearm(BROKER_BLOCK_STEP, true);
    broker_set(BROKER_BLOCK_STEP, BTF);
    take_db();
    EXPECT_EQ(broker_db_taken(), LBR | BTF);
    EXPECT_EQ(fake.debugctl, LBR | BTF | BTINT);
    EXPECT_EQ(broker_db_taken(), 0);
}

static uint64_t traced(void *arg)
{
    EXPECT_EQ(fake.debugctl & (TR | BTS), TR | BTS);
    EXPECT_EQ(broker_bits(BROKER_BTS), TR | BTS);
    EXPECT_EQ(broker_shadow(), fake.debugctl);
    EXPECT_EQ(broker_set_ds_area(&other), DS_EBUSY);
    fake_branch(0x111, 0x222, 0);
    return (uintptr_t)arg + 1;
}

static void test_bracket(void)
{
    uint64_t value = 0;

    start();
    broker_set_ds_area(&area);
    broker_set(BROKER_LBR, LBR);
    EXPECT_EQ(broker_bracket(BROKER_BTS, TR | BTS, traced, (void *)41, &value), DS_OK);
    EXPECT_EQ(value, 42);
    EXPECT_EQ(fake.records, 3);
    EXPECT_EQ(slots[0], (uintptr_t)ds_bracket_call);
    EXPECT_EQ(slots[1], (uintptr_t)traced);
    EXPECT_EQ(slots[3], 0x111);
    EXPECT_EQ(slots[4], 0x222);
    EXPECT_EQ(slots[7], (uintptr_t)ds_bracket_return);
    EXPECT_EQ(fake.debugctl, LBR);
    EXPECT_EQ(broker_shadow(), LBR);
    EXPECT_EQ(broker_bits(BROKER_BTS), 0);
    EXPECT_EQ(broker_bracket(BROKER_BTS, TR | BTS, traced, NULL, NULL), DS_OK);
    EXPECT(fake.interrupts);
}

static uint64_t never(void *arg)
{
    EXPECT(!arg && false);
    return 0;
}

static void test_bracket_refuses(void)
{
    start();
    EXPECT_EQ(broker_bracket(BROKER_BTS, TR | BTS, never, NULL, NULL), DS_EFAULT);
    EXPECT_EQ(broker_bracket(BROKER_BTS, LBR, never, NULL, NULL), DS_EINVAL);
    EXPECT_EQ(broker_bracket(BROKER_CLIENTS, 0, never, NULL, NULL), DS_EINVAL);
    broker_set_ds_area(&area);
    fake.ds_cpl = false;
    EXPECT_EQ(broker_bracket(BROKER_BTS, TR | BTS | OFF_OS, never, NULL, NULL), DS_EOPNOTSUPP);
    EXPECT_EQ(broker_bits(BROKER_BTS), 0);
    broker_set(BROKER_BTS, TR | BTS);
    EXPECT_EQ(broker_bracket(BROKER_BTS, TR | BTS, never, NULL, NULL), DS_EBUSY);
    EXPECT_EQ(fake.debugctl, TR | BTS);
    EXPECT_EQ(fake.crashes, 0);
    EXPECT(fake.interrupts);
}

static uint64_t values[8];
static unsigned value_count;

static void note_writes(enum fake_point point)
{
    if (point == FAKE_AFTER_WRITE && value_count < 8)
        values[value_count++] = fake.debugctl;
}

/* The trial of the value must not trace, and the assembly's two writes enclose fn. */
static void test_bracket_writes(void)
{
    start();
    broker_set_ds_area(&area);
    broker_set(BROKER_BLOCK_STEP, BTF);
    value_count = 0;
    fake.hook = note_writes;
    EXPECT_EQ(broker_bracket(BROKER_BTS, TR | BTS, traced, NULL, NULL), DS_OK);
    ASSERT(value_count >= 3);
    EXPECT_EQ(values[0], BTS | BTF);
    EXPECT_EQ(values[1], TR | BTS | BTF);
    EXPECT_EQ(values[2], BTF);
    EXPECT_EQ(fake.debugctl, BTF);
}

static void refuse_beside_lbr(enum fake_point point)
{
    if (point != FAKE_AFTER_WRITE)
        return;
    fake.hook = NULL;
    EXPECT_EQ(broker_set(BROKER_LBR, LBR), DS_OK);
    fake.debugctl_faults = BTF;
}

/* Accepted at first, refused when an NMI's bits have come beside: the NMI's stay. */
static void test_fault_in_second_try(void)
{
    start();
    broker_set(BROKER_FREEZE, FRZ);
    fake.hook = refuse_beside_lbr;
    EXPECT_EQ(broker_set(BROKER_BLOCK_STEP, BTF), DS_EOPNOTSUPP);
    EXPECT_EQ(broker_bits(BROKER_BLOCK_STEP), 0);
    EXPECT_EQ(fake.debugctl, FRZ | LBR);
    EXPECT_EQ(broker_shadow(), FRZ | LBR);
}

static uint64_t changes_another(void *arg)
{
    EXPECT_EQ(broker_set(BROKER_BLOCK_STEP, BTF), DS_OK);
    EXPECT_EQ(fake.debugctl, TR | BTS | BTF);
    return (uintptr_t)arg;
}

static void test_bracket_keeps_others_changes(void)
{
    start();
    broker_set_ds_area(&area);
    EXPECT_EQ(broker_bracket(BROKER_BTS, TR | BTS, changes_another, NULL, NULL), DS_OK);
    EXPECT_EQ(fake.debugctl, BTF);
}

static void test_raw_and_resync(void)
{
    uint64_t value = 0;

    start();
    broker_set_ds_area(&area);
    broker_set(BROKER_BTS, TR | BTS);
    for (int bit = 16; bit < 64; bit++)
        EXPECT_EQ(broker_raw_write_debugctl(1ull << bit), 13);
    EXPECT_EQ(fake.debugctl, TR | BTS);
    EXPECT_EQ(broker_raw_write_debugctl(LBR), 0);
    EXPECT_EQ(broker_raw_read_debugctl(&value), 0);
    EXPECT_EQ(value, LBR);
    EXPECT_EQ(broker_shadow(), TR | BTS);
    EXPECT_EQ(broker_raw_write_ds_area(0x0000800000000000), 13);
    EXPECT_EQ(broker_raw_write_ds_area(0x5550), 0);
    EXPECT_EQ(broker_raw_read_ds_area(&value), 0);
    EXPECT_EQ(value, 0x5550);
    broker_resync();
    EXPECT_EQ(fake.debugctl, TR | BTS);
    EXPECT_EQ(fake.ds_area, (uintptr_t)&area);
    EXPECT_EQ(fake.area_moves, 0);
}

static void test_snapshot(void)
{
    struct broker_state state;
    uint64_t leak[2];

    start();
    broker_set_ds_area(&area);
    broker_set(BROKER_LBR, LBR);
    broker_rearm(BROKER_LBR, false);
    broker_save(&state);
    broker_leak(&state, &leak[0], &leak[1]);
    EXPECT_EQ(leak[0] | leak[1], 0);

    broker_rearm(BROKER_LBR, true);
    broker_set(BROKER_BTS, TR | BTS);
    broker_leak(&state, &leak[0], &leak[1]);
    EXPECT_EQ(leak[0], TR | BTS);
    EXPECT_EQ(leak[1], 0);
    broker_raw_write_debugctl(BTF);
    broker_raw_write_ds_area((uintptr_t)&other);
    broker_leak(&state, &leak[0], &leak[1]);
    EXPECT_EQ(leak[0], LBR | BTF);
    EXPECT_EQ(leak[1], (uintptr_t)&other ^ (uintptr_t)&area);

    broker_restore(&state);
    EXPECT_EQ(fake.debugctl, LBR);
    EXPECT_EQ(fake.ds_area, (uintptr_t)&area);
    EXPECT_EQ(broker_bits(BROKER_BTS), 0);
    take_db();
    broker_db_taken();
    EXPECT_EQ(broker_bits(BROKER_LBR), 0);
}

static jmp_buf unwound;

static uint64_t leaves(void *arg)
{
    (void)arg;
    longjmp(unwound, 1);
}

static void leaves_at_area(enum fake_point point)
{
    if (point == FAKE_BEFORE_WRITE)
        longjmp(unwound, 1);
}

/* Out of the middle of a call, as when a traced check faults: nothing stays behind. */
static void test_restore_after_unwind(void)
{
    static struct broker_state state, with_area;

    start();
    broker_save(&state);
    if (!setjmp(unwound)) {
        broker_set_ds_area(&area);
        broker_bracket(BROKER_BTS, TR | BTS, leaves, NULL, NULL);
    }
    EXPECT_EQ(fake.debugctl, TR | BTS);
    broker_restore(&state);
    EXPECT_EQ(broker_shadow(), 0);
    EXPECT_EQ(broker_set_ds_area(&area), DS_OK);
    broker_save(&with_area);
    fake.hook = leaves_at_area;
    if (!setjmp(unwound))
        broker_set_ds_area(&other);
    fake.hook = NULL;
    broker_restore(&with_area);
    EXPECT_EQ(broker_set(BROKER_BTS, TR | BTS), DS_OK);
    broker_restore(&state);
    EXPECT_EQ(fake.debugctl, 0);
    EXPECT_EQ(fake.ds_area, 0);
    EXPECT_EQ(fake.area_moves, 0);
    EXPECT_EQ(fake.crashes, 0);
    EXPECT_EQ(broker_set_ds_area(&area), DS_OK);
}

static void test_processors_are_separate(void)
{
    start();
    fake.cpu = 5;
    fake.debugctl = UNCORE;
    broker_init();
    broker_set(BROKER_LBR, LBR);
    broker_set_ds_area(&area);
    fake.cpu = 0;
    EXPECT_EQ(broker_bits(BROKER_LBR), 0);
    EXPECT(!broker_ds_area());
    EXPECT_EQ(broker_shadow(), 0);
    fake.cpu = 5;
    EXPECT_EQ(broker_shadow(), UNCORE | LBR);
}

int main(void)
{
    RUN(test_init_adopts_and_hands_back);
    RUN(test_init_without_registers);
    RUN(test_masks_are_separate);
    RUN(test_only_own_bits);
    RUN(test_fault_changes_nothing);
    RUN(test_no_trace_without_area);
    RUN(test_area_stays_under_trace);
    RUN(test_bad_areas);
    RUN(test_area_fault_keeps_old);
    RUN(test_db_rearms);
    RUN(test_bracket);
    RUN(test_bracket_refuses);
    RUN(test_bracket_writes);
    RUN(test_fault_in_second_try);
    RUN(test_bracket_keeps_others_changes);
    RUN(test_raw_and_resync);
    RUN(test_snapshot);
    RUN(test_restore_after_unwind);
    RUN(test_processors_are_separate);
    UNIT_END();
}
