/* SPDX-License-Identifier: BSD-2-Clause */
/* The model's switches, as the suite may use them without knowing the model. */
#ifndef BOOT_STAND_IN_H
#define BOOT_STAND_IN_H

#include "harness/check/platform.h"

extern const struct stand_in stand_in;

#endif
