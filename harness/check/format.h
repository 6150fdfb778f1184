/* SPDX-License-Identifier: BSD-2-Clause */
/* Formatting into a bounded buffer: the part of printf that the suite uses. */
#ifndef HARNESS_CHECK_FORMAT_H
#define HARNESS_CHECK_FORMAT_H

#include <stdarg.h>
#include <stddef.h>

/*
 * %s %c %d %i %u %x %X %p %%, the length modifiers l, ll, z and h/hh, width, zero fill and
 * left adjustment, precision (also .*) for %s. Always terminates; returns the bytes written
 * without the terminator (the text is cut at the size, unlike snprintf's return value).
 */
size_t fmt(char *out, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
size_t vfmt(char *out, size_t size, const char *format, va_list arguments);

#endif
