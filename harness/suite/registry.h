/* SPDX-License-Identifier: BSD-2-Clause */
/* The list of checks, in run order, and what is known of each: selection and result. */
#ifndef HARNESS_SUITE_REGISTRY_H
#define HARNESS_SUITE_REGISTRY_H

#include "harness/check/check.h"
#include "harness/options/options.h"
#include "harness/suite/repeat.h"

#include <stdbool.h>
#include <stddef.h>

struct result {
    const struct check *check;
    bool selected, finished, skip_by_option;
    bool carried; /* decided in an earlier boot of this run */
    enum verdict verdict;
    char reason[REASON_BYTES];
    unsigned number; /* in the plan, from 1 */
    uint64_t ticks;  /* time-stamp counter ticks it took */
    struct evidence evidence;
    struct repeat_account account; /* all zeros when it was not run on the machine */
    char unstable[UNSTABLE_BYTES]; /* observations that runs of it do not agree on */
};

/* That no more are declared is proved when the image is built. */
#define CHECKS_MAX 512

/* Sorts the linked-in checks and applies run= and skip=. Returns how many are selected. */
size_t registry_init(const struct options *options);
size_t registry_total(void); /* all checks linked in */
/* The first of a list of patterns that names no check, in text; false when each names one. */
bool registry_unknown(const char *globs, char *text, size_t bytes);
size_t registry_selected(void);           /* the plan */
struct result *registry_at(size_t index); /* 0 .. total-1, run order */

/* Puts the checks into an order made from the seed, and numbers them anew. */
void registry_shuffle(uint64_t seed);

/*
 * What the run reports: the selected checks, or, once the first trial was added, the trials of
 * the suite itself (prove=). False when there is no room.
 */
bool registry_add_trial(const struct check *trial);
size_t registry_reported(void);
struct result *registry_report_at(size_t index);

#endif
