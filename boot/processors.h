/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The other processors, through the firmware's multi-processor services. Each takes itself
 * over, enters its own provider and sleeps until it is given something to run.
 * Source: Platform Initialization Specification, "EFI_MP_SERVICES_PROTOCOL".
 */
#ifndef BOOT_PROCESSORS_H
#define BOOT_PROCESSORS_H

#include "harness/check/platform.h"

#include <stdbool.h>

/* Enabled processors; 1 when firmware has no multi-processor services. */
unsigned processors_enabled(void);

/*
 * Firmware mode. Starts up to wanted - 1 other processors and waits (bounded) until each has
 * taken itself over; returns how many did, also when they have been there already. Whatever it
 * returns, processors_stop must follow.
 */
unsigned processors_start(unsigned wanted);

/* Firmware mode. Sends back to the firmware who is there; false when one does not come back. */
bool processors_stop(void);

/* Ticks of the time-stamp counter a millisecond, for bounded waits. */
extern uint64_t processors_tsc_khz;

/* Any processor of ours; as in struct platform. */
const struct other_processor *processors_found(unsigned index);
bool processors_run(unsigned index, uint64_t (*fn)(void *), void *arg);
bool processors_wait(unsigned index, uint64_t *value);
bool processors_renew(unsigned index);

#endif
