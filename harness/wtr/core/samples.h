/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The samples of a profile: taken out of their records, each with the stack of functions that
 * it was in.
 */
#ifndef HARNESS_WTR_CORE_SAMPLES_H
#define HARNESS_WTR_CORE_SAMPLES_H

#include "harness/wtr/core/space.h"
#include "harness/wtr/core/trace.h"

/* Frames of one stack, the sampled function's included. */
#define SAMPLE_FRAMES_MAX 256

struct sampled {
    uint32_t task; /* index */
    uint64_t ip, tsc, period;
    uint32_t event;                        /* enum wtr_counted */
    const struct wtr_registers *registers; /* NULL: not recorded */
    uint64_t backs[SAMPLE_FRAMES_MAX];     /* return addresses, the innermost first */
    uint32_t back_count;
    uint32_t function; /* that the sample is in */
};

/*
 * Calls take for each sample of a SAMPLES event. A function that has no frame yet, or none any
 * more, is called by whom the top of the stack says, if a call of that function stands there.
 */
void samples_visit(struct space *space, const struct event *event,
                   void (*take)(void *context, const struct sampled *sampled), void *context);

/* The function that a return address returns to: the call may be its last instruction. */
uint32_t samples_caller(struct space *space, const struct sampled *sampled, uint64_t back);

/* "instructions", "branches", or "events" for any other number. */
const char *samples_event(uint32_t event);

#endif
