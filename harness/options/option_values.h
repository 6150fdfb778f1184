/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Values of options that take a function of their own, and what such functions are made from.
 */
#ifndef HARNESS_OPTIONS_OPTION_VALUES_H
#define HARNESS_OPTIONS_OPTION_VALUES_H

#include "harness/options/option_table.h"

/* Decimal, or hexadecimal behind 0x; false when the text is anything else. */
bool option_number(const char *text, uint64_t *value);
/* The place of text in "one|two|three". */
bool option_word(const char *text, const char *words, unsigned *value);

/* The options of these names. */
option_setter option_set_soak, option_set_profile, option_set_serial, option_set_baud,
    option_set_screen, option_set_gdb, option_set_program, option_set_path, option_set_arg,
    option_set_env, option_set_files, option_set_stdin, option_set_cwd, option_set_under,
    option_set_under_args;

#endif
