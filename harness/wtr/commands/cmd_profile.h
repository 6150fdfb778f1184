/* SPDX-License-Identifier: BSD-2-Clause */
/* Samples as folded stacks, for the command that folds branches as well. */
#ifndef HARNESS_WTR_COMMANDS_CMD_PROFILE_H
#define HARNESS_WTR_COMMANDS_CMD_PROFILE_H

#include "harness/wtr/core/samples.h"
#include "harness/wtr/core/wtr.h"

/* One line a stack, weighed by its samples, or by the events that they stand for. */
void profile_fold(struct session *session, bool by_samples);

#endif
