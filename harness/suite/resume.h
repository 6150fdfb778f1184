/* SPDX-License-Identifier: BSD-2-Clause */
/* Going on with a run that a hang or a reset cut off, by the journal that it left. */
#ifndef HARNESS_SUITE_RESUME_H
#define HARNESS_SUITE_RESUME_H

#include "harness/suite/registry.h"

/* Behind the plan: takes over the results of the journal that the platform found. */
void resume_begin(void);

/* Around each check, in firmware mode; nothing is written where there is no journal. */
bool resume_journalled(void);
void resume_before(const char *name);
void resume_after(const struct result *result);
/*
 * The trial of one record, which is no check and has no entry: its name in the journal, how
 * it ended, and what an earlier boot of this run says of it, VERDICT_NONE for nothing.
 */
#define TRIAL_STEP "first-record"
enum verdict resume_trial(void);
void resume_after_trial(const char *name, enum verdict verdict);

/* One line: what the journal cost. */
void resume_end(void);

#endif
