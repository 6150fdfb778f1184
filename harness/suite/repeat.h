/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How often a check runs, and what its runs say together. A system management interrupt takes
 * the processor away and may change what is recorded, so a run into which one came is set aside
 * and made again. Pure logic over callbacks; tested on the host.
 */
#ifndef HARNESS_SUITE_REPEAT_H
#define HARNESS_SUITE_REPEAT_H

#include "harness/check/verdict.h"

#include <stdbool.h>
#include <stdint.h>

/* Runs that are set aside in a row; the one behind them counts as it is. */
#define REPEAT_SET_ASIDE_MAX 3

struct repeat_account {
    unsigned runs;                     /* that count */
    unsigned counts[VERDICT_FAIL + 1]; /* of them, by verdict */
    enum verdict worst;
    unsigned set_aside;               /* runs made again */
    unsigned aside[VERDICT_FAIL + 1]; /* of them, by verdict */
    unsigned disturbed;               /* runs that count although an interrupt came */
    uint64_t interrupts;
};

struct repeat_io {
    enum verdict (*run)(void *context);
    /* The run just made is the worst so far: its details are the ones to keep. */
    void (*keep)(void *context);
    /* System management interrupts since a reset; false where the processor does not count. */
    bool (*interrupts)(void *context, uint32_t *count);
    /* So many came into a run; again is the number of the repeat that follows, 0 when none. */
    void (*tell)(void *context, uint32_t interrupts, enum verdict verdict, unsigned again);
    void *context;
};

/* Runs it until `times` runs count; adds to the account, which starts as all zeros. */
void repeat_run(const struct repeat_io *io, unsigned times, struct repeat_account *account);

/* Runs that count and do not agree. */
bool repeat_unstable(const struct repeat_account *account);

#endif
