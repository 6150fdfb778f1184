/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The suite on trial: does it notice every defect of a stand-in processor, does it name every
 * policy? Each defect and each value of a policy is one trial with one verdict, reported as a
 * check would be: defect.NAME, policy.NAME.VALUE.
 */
#ifndef HARNESS_SUITE_PROVE_H
#define HARNESS_SUITE_PROVE_H

#include "harness/check/check.h"
#include "harness/options/options.h"

/* Firmware mode: registers the trials. False when there is no stand-in. */
bool prove_plan(enum option_prove what);
/* On the taken-over machine: holds them. */
void prove_run(void);

/* --- for the two kinds of trial */

const struct stand_in *prove_stand_in(void);
/* Whether the selected check of this registry entry names the clause and runs taken over. */
bool prove_can_judge(size_t index, const char *clause);
/* Adds a trial; what (a name, "name:value") is what the stand-in is told. */
void prove_add(const char *prefix, const char *what, const char *clause);
bool policy_plan(void);
/* Tells whether the fingerprint names the policy's value now in force. */
enum verdict policy_judge(const char *what, const char *clause, char *reason, size_t bytes);

#endif
