/* SPDX-License-Identifier: BSD-2-Clause */
/* State of the run that the suite's own files share. */
#ifndef HARNESS_SUITE_SUITE_H
#define HARNESS_SUITE_SUITE_H

#include "harness/check/verdict.h"
#include "harness/options/options.h"
#include "harness/suite/harness.h"

#include <stddef.h>
#include <stdint.h>

struct suite {
    const struct platform *platform;
    const struct options *options;
    uint32_t run_id;
};
const struct suite *suite_state(void);

/* A new run, with an id of its own; options that could not be read are NULL. */
void suite_begin(const struct platform *platform, const struct options *options);

#endif
