/* SPDX-License-Identifier: BSD-2-Clause */
/* A BTS half over a small buffer between canaries, for the tests of ds/bts.c. */
#ifndef HARNESS_TESTS_FAKES_BTS_FIXTURE_H
#define HARNESS_TESTS_FAKES_BTS_FIXTURE_H

#include "ds/broker.h"
#include "ds/bts.h"
#include "harness/tests/fakes/fake_regs.h"
#include "harness/tests/fakes/unit.h"

#include <stdalign.h>

#define TR_BTS 0xC0ull
#define SLOTS  8

/* Canaries on both sides of the buffer, in pages of their own. */
static struct bts_memory {
    alignas(4096) struct ds_area area;
    alignas(4096) uint8_t before[4096 - 24 * SLOTS / 2];
    struct bts_record slots[SLOTS]; /* straddles a page boundary */
    uint8_t after[4096];
} memory;
static struct bts bts;
static struct bts_config config;

static inline void start(void)
{
    fake_reset();
    broker_init();
    memset(&memory, 0xA7, sizeof(memory));
    bts = (struct bts){0};
    config = (struct bts_config){
        .base = (uintptr_t)memory.slots,
        .bytes = sizeof(memory.slots),
    };
}

static inline void set_up(void)
{
    const char *why = NULL;

    start();
    EXPECT_EQ(bts_setup(&bts, &memory.area, &config, &why), DS_OK);
    EXPECT_STR(why, "none");
}

static inline void expect_canaries(void)
{
    for (size_t i = 0; i < sizeof(memory.before); i++)
        if (memory.before[i] != 0xA7)
            EXPECT(!"a byte before the buffer changed");
    for (size_t i = 0; i < sizeof(memory.after); i++)
        if (memory.after[i] != 0xA7)
            EXPECT(!"a byte after the buffer changed");
}

#endif
