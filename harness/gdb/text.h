/* SPDX-License-Identifier: BSD-2-Clause */
/* Hexadecimal text of GDB's packets: writing it, and reading it with no trust in it. */
#ifndef HARNESS_GDB_TEXT_H
#define HARNESS_GDB_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each returns the end of what it wrote. text_put ends it with a NUL, the others do not. */
char *text_put(char *to, const char *text);
char *text_hex(char *to, uint64_t value, unsigned digits);
/* Two digits a byte, in the order of memory. */
char *text_bytes(char *to, const void *bytes, size_t count);

/*
 * A number in hexadecimal digits, 0x before it or not; *text moves behind it. False when there
 * is no digit or more than 64 bits.
 */
bool text_number(const char **text, uint64_t *value);
/* One character that has to be next. */
bool text_skip(const char **text, char c);
/* Whether the text begins with a word; *text moves behind it then. */
bool text_word(const char **text, const char *word);
/* The bytes that pairs of digits stand for, up to room; *text moves behind them. */
size_t text_unhex(const char **text, void *to, size_t room);

#endif
