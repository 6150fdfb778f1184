/* SPDX-License-Identifier: BSD-2-Clause */
/* The passes of soak=TIME. */
#include "harness/suite/soak.h"

#include "harness/check/out.h"
#include "harness/suite/registry.h"
#include "harness/suite/suite.h"
#include "hw/regs.h"

static uint64_t start;
static unsigned pass;
static bool last;
static uint64_t told; /* when a line was said, in seconds */

/* Whole seconds since the first check; without a known rate the time is up at once. */
static uint64_t elapsed(void)
{
    uint64_t khz = suite_state()->platform->tsc_khz;

    return khz ? (tsc_read() - start) / khz / 1000 : UINT64_MAX;
}

void soak_begin(void)
{
    start = tsc_read();
    pass = 1;
    last = suite_state()->options->soak_seconds == 0;
}

void soak_end(void)
{
    last = true;
}

bool soak_quiet(void)
{
    return !last;
}

bool soak_repeats(void)
{
    return pass > 1;
}

static unsigned unstable(void)
{
    unsigned count = 0;

    for (size_t i = 0; i < registry_total(); i++)
        count += repeat_unstable(&registry_at(i)->account);
    return count;
}

bool soak_next(void)
{
    const struct options *options = suite_state()->options;
    uint64_t seconds = elapsed();

    if (last)
        return false;
    last = seconds >= options->soak_seconds;
    /* Short passes would fill the log with lines. */
    if (last || (pass & (pass - 1)) == 0 || seconds >= told + 60) {
        out_line("# soak: %u passes in %lu of %u s, %u checks unstable", pass, seconds,
                 options->soak_seconds, unstable());
        told = seconds;
    }
    if (options->order_given)
        registry_shuffle(options->order + pass);
    pass++;
    return true;
}
