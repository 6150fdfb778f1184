/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening the outputs that the options ask for, each by itself, and saying which there are. */
#ifndef BOOT_OUTPUTS_H
#define BOOT_OUTPUTS_H

#include "harness/options/options.h"

/* None of them is needed: without any, the result files and the log in memory remain. */
void outputs_open(const struct options *options);

/* "serial 0x3f8, screen 80x25 on 1280x800; no answer: 0x2e8", for the identity. */
const char *outputs_text(void);

#endif
