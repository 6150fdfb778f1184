/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of this run: from waymark.cfg on the boot volume, then from the load options. */
#ifndef BOOT_CONFIG_H
#define BOOT_CONFIG_H

#include "harness/options/options.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Fills *options; prints nothing. False with one line in error when something is unusable: the
 * options are then the defaults, as far as they were understood.
 */
bool config_read(struct options *options, char *error, size_t error_bytes);

/* What was read, for the log: "waymark.cfg, load options" or "none". */
const char *config_sources(void);

#endif
