/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The suite as boot/ drives it. Order: harness_init, harness_begin (banner, identity, plan),
 * then each group in turn, harness_end (end line). Everything here runs in firmware mode; a
 * group takes the machine over through the platform.
 */
#ifndef HARNESS_SUITE_HARNESS_H
#define HARNESS_SUITE_HARNESS_H

#include "harness/check/platform.h"
#include "harness/options/options.h"

#include <stdbool.h>
#include <stddef.h>

void harness_init(const struct platform *platform, const struct options *options);

/* Banner, one line naming what is wrong, end line with verdict usage. */
void harness_usage(const struct platform *platform, const char *message);

/* Banner, identity, plan. False when the selection is empty: usage was printed instead. */
bool harness_begin(void);

/*
 * What the journal's file begins with: a new one, or the line that this boot adds to the one
 * of platform.journal_text. Between harness_begin and the first group.
 */
const char *harness_journal_start(size_t *bytes, bool *anew);

/* One branch is traced before anything longer is; behind harness_begin and the journal. */
void harness_first_record(void);

/* Runs the next group; false when there is none left. */
bool harness_next_group(void);

/* Coverage lines and the end line. */
void harness_end(void);

/*
 * Documents as they stand now; valid until the next call. report.json is always complete
 * JSON: checks that have not run yet are listed as errors with the reason "not run".
 */
const char *harness_report_json(size_t *bytes);
const char *harness_machine_json(size_t *bytes);

/* bench=1: measures and prints `# bench name=value unit` lines instead of running checks. */
void harness_bench(void);

/* prove=defects|policies: the suite is judged, by a stand-in processor's switches. */
void harness_prove(void);

/* The number that stands in banner and end line. */
uint32_t harness_run_id(void);

/* Letters and digits that name this machine in the results folder, at most 16. */
const char *harness_machine_signature(void);

#endif
