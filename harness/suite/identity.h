/* SPDX-License-Identifier: BSD-2-Clause */
/* Who was tested by what: the identity lines, and the signature of the results folder. */
#ifndef HARNESS_SUITE_IDENTITY_H
#define HARNESS_SUITE_IDENTITY_H

#include "harness/suite/json.h"

#include <stddef.h>

#define IDENTITY_MAX 36

struct identity_item {
    const char *key;
    char value[96];
};

/* Collects and prints `# key=value` lines. */
void identity_print(void);
size_t identity_count(void);
const struct identity_item *identity_at(size_t index);

/* The same as the member "identity" of a document. */
void identity_json(struct json *j);

#endif
