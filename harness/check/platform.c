/* SPDX-License-Identifier: BSD-2-Clause */
/* The platform of this run, for who has no struct run at hand. */
#include "harness/check/platform.h"

static const struct platform *current;

void platform_use(const struct platform *platform)
{
    current = platform;
}

const struct platform *platform_current(void)
{
    return current;
}
