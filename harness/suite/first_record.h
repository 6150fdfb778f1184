/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The first record of a run, before any check: a trial of one branch, in the journal by the
 * name of FIRST_RECORD. Where it never came back, no check may trace.
 */
#ifndef HARNESS_SUITE_FIRST_RECORD_H
#define HARNESS_SUITE_FIRST_RECORD_H

#include "harness/check/verdict.h"

#define FIRST_RECORD "first-record"

/* What the journal of an earlier boot of this run says of the trial. */
void first_known(enum verdict verdict);

#endif
