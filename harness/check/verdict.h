/* SPDX-License-Identifier: BSD-2-Clause */
/* The verdicts of a check, in the order in which they combine. */
#ifndef HARNESS_CHECK_VERDICT_H
#define HARNESS_CHECK_VERDICT_H

enum verdict { VERDICT_NONE, VERDICT_PASS, VERDICT_SKIP, VERDICT_ERROR, VERDICT_FAIL };

/* As it stands in reports, journal and lines. */
const char *verdict_word(enum verdict verdict);

#endif
