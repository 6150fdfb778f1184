/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Buffered output of wtr, to standard output or to a file that appears whole or not at all.
 */
#ifndef HARNESS_WTR_CORE_TEXT_H
#define HARNESS_WTR_CORE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct text {
    FILE *stream;
    char *path, *temporary; /* NULL: standard output */
    bool broken;
    size_t used;
    char buffer[1 << 16];
};

/* NULL or "-" is standard output. False with a complaint when the file cannot be made. */
bool text_open(struct text *out, const char *path);

/* Flushes; a file gets its name only now. False with a complaint when anything failed. */
bool text_close(struct text *out);

void text_bytes(struct text *out, const void *bytes, size_t count);
void text_string(struct text *out, const char *string);
void text_char(struct text *out, char c);
void text_hex(struct text *out, uint64_t value);
void text_decimal(struct text *out, uint64_t value);
void text_columns(struct text *out, uint64_t value, unsigned width); /* right-aligned */
void text_format(struct text *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
