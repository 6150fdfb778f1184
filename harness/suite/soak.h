/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * soak=TIME: the whole plan again and again until the time is up. Every pass but the last is
 * quiet: results are collected, and printed once, by the last.
 */
#ifndef HARNESS_SUITE_SOAK_H
#define HARNESS_SUITE_SOAK_H

#include <stdbool.h>

/* Before the first check. */
void soak_begin(void);
/* No pass follows: the run goes on with one that was cut off. */
void soak_end(void);
/* The results of this pass are not the last word. */
bool soak_quiet(void);
/* From the second pass on. */
bool soak_repeats(void);
/* Begins another pass, in another order where there is one; false when it was the last. */
bool soak_next(void);

#endif
