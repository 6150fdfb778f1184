/* SPDX-License-Identifier: BSD-2-Clause */
/* program=, path= and arg=, under= and under-args=, for harness/options/options.c. */
#ifndef HARNESS_OPTIONS_OPTIONS_PROGRAM_H
#define HARNESS_OPTIONS_OPTIONS_PROGRAM_H

#include "harness/options/options.h"

/* What the option would have taken; NULL when it is satisfied. */
const char *options_set_program(struct options *o, const char *key, const char *value);
const char *options_set_under(struct options *o, const char *key, const char *value);

#endif
