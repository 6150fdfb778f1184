/* SPDX-License-Identifier: BSD-2-Clause */
/* Writing JSON into a bounded buffer; commas and escapes are taken care of. */
#ifndef HARNESS_SUITE_JSON_H
#define HARNESS_SUITE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json {
    char *out;
    size_t size, used;
    bool first;    /* no comma before the next element */
    bool overflow; /* something did not fit: the document is not complete */
};

void json_begin(struct json *j, char *out, size_t size);
/* key NULL: an element of an array, or the document itself. */
void json_open(struct json *j, const char *key, char bracket); /* '{' or '[' */
void json_close(struct json *j, char bracket);                 /* '}' or ']' */
void json_string(struct json *j, const char *key, const char *value);
void json_number(struct json *j, const char *key, uint64_t value);
/* One word of a blank-separated list after the other, as strings of an array. */
void json_words(struct json *j, const char *key, const char *words);

#endif
