/* SPDX-License-Identifier: BSD-2-Clause */
/* A PEBS half over a small buffer between canaries, for the tests of ds/pebs*.c. */
#ifndef HARNESS_TESTS_FAKES_PEBS_FIXTURE_H
#define HARNESS_TESTS_FAKES_PEBS_FIXTURE_H

#include "ds/broker.h"
#include "ds/pebs.h"
#include "harness/tests/fakes/fake_regs.h"
#include "harness/tests/fakes/unit.h"

#include <stdalign.h>

#define RECORDS 10
#define FORMATS 5
#define MASK(n) ((1ull << (n)) - 1)
#define PERIOD  7

/* Bytes of a record by format, adaptive with its registers; the manual's numbers. */
static const size_t sizes[FORMATS] = {0x90, 0xB0, 0xC0, 0xC8, 0xB0};

static struct pebs_memory {
    alignas(4096) struct ds_area area;
    alignas(4096) uint8_t before[4096 - 0x100];
    uint8_t buffer[0x100 + 0x1000]; /* straddles a page boundary */
    uint8_t after[4096];
} memory;
static struct pebs pebs;
static struct pebs_config config;
static struct pebs_counter counters[PEBS_COUNTERS_MOST + 1];
static struct pmc pmc;

static inline void start_with(unsigned format)
{
    fake_reset();
    /* The baseline comes with the adaptive format: any counter may sample. */
    fake.capabilities = 0x20C0 | format << 8 | (format == 4 ? 0x4000 : 0);
    broker_init();
    pmc_identify(&pmc);
    memset(&memory, 0xA7, sizeof(memory));
    pebs = (struct pebs){0};
    counters[0] = (struct pebs_counter){0, PMC_INSTRUCTIONS, -(uint64_t)PERIOD & MASK(48)};
    config = (struct pebs_config){
        .pmc = &pmc,
        .base = (uintptr_t)memory.buffer,
        .bytes = RECORDS * sizes[format],
        .user = true,
        .counters = counters,
        .counter_count = 1,
        .groups = format == 4 ? PEBS_GROUP_GPRS : 0,
    };
}

static inline void set_up_with(unsigned format)
{
    const char *why = NULL;

    start_with(format);
    EXPECT_EQ(pebs_setup(&pebs, &memory.area, &config, &why), DS_OK);
    EXPECT_STR(why, "none");
}

static inline void expect_canaries(void)
{
    for (size_t i = 0; i < sizeof(memory.before); i++)
        if (memory.before[i] != 0xA7)
            EXPECT(!"a byte before the buffer changed");
    for (size_t i = config.bytes; i < sizeof(memory.buffer); i++)
        if (memory.buffer[i] != 0xA7)
            EXPECT(!"a byte after the buffer changed");
}

/* What drains have brought. */
static struct pebs_sample got[4096];
static size_t got_count;

static inline void keep(void *context, const struct pebs_sample *sample)
{
    (void)context;
    got[got_count++ % 4096] = *sample;
}

#endif
