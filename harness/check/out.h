/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines of output. A line is built in memory, made ASCII, cut at 200 bytes and handed whole to
 * the platform, which sends the same bytes everywhere.
 */
#ifndef HARNESS_CHECK_OUT_H
#define HARNESS_CHECK_OUT_H

#include "harness/check/platform.h"

#include <stdarg.h>
#include <stdbool.h>

#define OUT_LINE_BYTES 200

void out_init(const struct platform *platform);
/* Drops lines until called with false; what runs meanwhile is not part of the record. */
void out_mute(bool mute);
void out_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
void out_vline(const char *prefix, const char *format, va_list arguments);

#endif
