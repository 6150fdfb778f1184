/* SPDX-License-Identifier: BSD-2-Clause */
/* A check as often as the run asks for, and once more where firmware came in between. */
#ifndef HARNESS_SUITE_ATTEMPT_H
#define HARNESS_SUITE_ATTEMPT_H

#include "harness/suite/registry.h"

/* Runs it and brings verdict, reason, evidence and account of the entry up to date. */
void attempt(struct result *result);

/* One line about all of them, where there is something to say. */
void attempt_summary(void);

#endif
