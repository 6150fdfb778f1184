/* SPDX-License-Identifier: BSD-2-Clause */
/* The run that is on: platform, options, its number. */
#include "harness/check/out.h"
#include "harness/suite/suite.h"
#include "hw/regs.h"

static struct suite suite;

const struct suite *suite_state(void)
{
    return &suite;
}

void suite_begin(const struct platform *platform, const struct options *options)
{
    platform_use(platform);
    suite.platform = platform;
    if (options)
        suite.options = options;
    suite.run_id = (uint32_t)(tsc_read() * 2654435761u >> 8);
    out_init(platform);
}

uint32_t harness_run_id(void)
{
    return suite.run_id;
}
