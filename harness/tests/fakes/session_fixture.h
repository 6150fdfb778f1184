/* SPDX-License-Identifier: BSD-2-Clause */
/* A machine with a pool, two owners and two tasks, for the tests of sessions. */
#ifndef HARNESS_TESTS_FAKES_SESSION_FIXTURE_H
#define HARNESS_TESTS_FAKES_SESSION_FIXTURE_H

#include "ds/broker.h"
#include "ds/session.h"
#include "harness/tests/fakes/fake_regs.h"
#include "harness/tests/fakes/unit.h"

#include <stdalign.h>

#define TR     0x40ull
#define TR_BTS 0xC0ull
#define LVT    0xE2u
#define PAGES  64
#define SLOTS  32

static alignas(4096) uint8_t memory[PAGES * 4096];
static struct pool pool;
static struct pool_payer purse = {.name = "debugger's purse"};
static struct pool_payer other_purse = {.name = "profiler's purse"};
static const struct ds_owner debugger = {1, "debugger", &purse};
static const struct ds_owner profiler = {2, "profiler", &other_purse};
static struct ds_task task_a, task_b;
static struct session_machine machine;
static struct session_request request;
static struct session_result result;

static inline void on_interrupt(void)
{
    /* What a dispatcher does with an interrupt that is nobody's. */
    if (!session_pmi())
        fake.lvt = LVT;
}

static inline void start(void)
{
    fake_reset();
    for (fake.cpu = 4; fake.cpu-- > 0;) {
        fake.debugctl = fake.ds_area = 0;
        broker_init();
        if (!fake.cpu)
            break;
    }
    fake.interrupt = on_interrupt;
    purse.limit_pages = other_purse.limit_pages = 40;
    purse.charged_pages = other_purse.charged_pages = 0;
    EXPECT_EQ(pool_init(&pool, memory, sizeof(memory)), DS_OK);
    machine = (struct session_machine){
        .pool = &pool, .has_bts = true, .interrupts = true, .lvt = LVT};
    session_init(&machine);
    task_a = task_b = (struct ds_task){0};
    request = (struct session_request){
        .owner = &debugger,
        .bytes = 24 * SLOTS,
        .threshold = SESSION_NO_THRESHOLD,
        .user = true,
        .kernel = true,
    };
}

/* Nothing is left anywhere. */
static inline void expect_nothing_left(void)
{
    EXPECT_EQ(pool_used(&pool), 0);
    EXPECT_EQ(purse.charged_pages, 0);
    EXPECT_EQ(other_purse.charged_pages, 0);
    EXPECT_EQ(fake.ds_area, 0);
    EXPECT_EQ(fake.debugctl, 0);
    EXPECT(!task_a.context && !task_b.context);
    EXPECT_EQ(fake.crashes + fake.area_moves, 0);
    EXPECT(fake.interrupts);
}

static inline session_id ask(void)
{
    EXPECT_EQ(session_request(&request, &result), DS_OK);
    EXPECT(result.id != 0);
    return result.id;
}

static inline void expect_refused(enum ds_error error)
{
    size_t used = pool_used(&pool);
    uint64_t debugctl = fake.debugctl, area = fake.ds_area;

    EXPECT_EQ(session_request(&request, &result), error);
    EXPECT_EQ(result.id, 0);
    EXPECT(strcmp(result.why, "none") != 0);
    EXPECT_EQ(pool_used(&pool), used);
    EXPECT_EQ(fake.debugctl, debugctl);
    EXPECT_EQ(fake.ds_area, area);
}

static inline size_t size_of(session_id id)
{
    size_t records = 999;

    EXPECT_EQ(session_size(id, &debugger, &records), DS_OK);
    return records;
}

static inline struct session_status status_of(session_id id)
{
    struct session_status status = {0};

    EXPECT_EQ(session_status(id, &status), DS_OK);
    return status;
}

#endif
