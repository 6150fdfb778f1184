/* SPDX-License-Identifier: BSD-2-Clause */
/* Values of options, between the files that read them. */
#ifndef HARNESS_OPTIONS_OPTION_VALUES_H
#define HARNESS_OPTIONS_OPTION_VALUES_H

#include "harness/options/options.h"

/* Decimal, or hexadecimal behind 0x; false when the text is anything else. */
bool option_number(const char *text, uint64_t *value);
/* The place of text in a list that ends in NULL. */
bool option_word(const char *text, const char *const *words, unsigned *value);

/* What they would have taken; NULL when satisfied. */
const char *option_set_serial(struct options *o, const char *value);
const char *option_set_gdb(struct options *o, const char *value);
const char *option_set_screen(struct options *o, const char *value);
const char *option_set_pace(struct options *o, const char *key, const char *value);

#endif
