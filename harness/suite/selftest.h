/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Failing on purpose, once, so that whoever reads the results can prove that he would see it.
 */
#ifndef HARNESS_SUITE_SELFTEST_H
#define HARNESS_SUITE_SELFTEST_H

#include "harness/check/run.h"

/* Before the first check that runs on the taken-over machine: does what selftest= asks. */
void selftest_apply(struct run *run);

/* In the trial of the first record: hangs when selftest=first. */
void selftest_first(const struct options *options);

#endif
