/* SPDX-License-Identifier: BSD-2-Clause */
/* Who was tested by what: the identity lines, and the signature of the results folder. */
#ifndef HARNESS_SUITE_IDENTITY_H
#define HARNESS_SUITE_IDENTITY_H

#include "harness/suite/json.h"

/* Collects and prints `# key=value` lines. */
void identity_print(void);

/* The same as the member "identity" of a document. */
void identity_json(struct json *j);

#endif
