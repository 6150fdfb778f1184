/* SPDX-License-Identifier: BSD-2-Clause */
/* Writing JSON into a bounded buffer. */
#include "harness/suite/json.h"

#include "harness/check/format.h"
#include "hw/string.h"

void json_begin(struct json *j, char *out, size_t size)
{
    *j = (struct json){.out = out, .size = size, .first = true};
    if (size)
        out[0] = 0;
}

static void put(struct json *j, const char *text, size_t bytes)
{
    if (bytes >= j->size - j->used) {
        j->overflow = true;
        return;
    }
    memcpy(j->out + j->used, text, bytes);
    j->used += bytes;
    j->out[j->used] = 0;
}

static void put_quoted(struct json *j, const char *text, size_t bytes)
{
    char escape[8];

    put(j, "\"", 1);
    for (size_t i = 0; i < bytes; i++) {
        unsigned char c = (unsigned char)text[i];

        if (c == '"' || c == '\\')
            put(j, escape, fmt(escape, sizeof(escape), "\\%c", c));
        else if (c < ' ' || c > '~')
            put(j, escape, fmt(escape, sizeof(escape), "\\u%04x", c));
        else
            put(j, text + i, 1);
    }
    put(j, "\"", 1);
}

static void element(struct json *j, const char *key)
{
    if (!j->first)
        put(j, ",\n", 2);
    j->first = false;
    if (key) {
        put_quoted(j, key, strlen(key));
        put(j, ": ", 2);
    }
}

void json_open(struct json *j, const char *key, char bracket)
{
    element(j, key);
    put(j, &bracket, 1);
    j->first = true;
}

void json_close(struct json *j, char bracket)
{
    put(j, &bracket, 1);
    j->first = false;
}

void json_string(struct json *j, const char *key, const char *value)
{
    element(j, key);
    put_quoted(j, value, strlen(value));
}

void json_number(struct json *j, const char *key, uint64_t value)
{
    char text[24];

    element(j, key);
    put(j, text, fmt(text, sizeof(text), "%lu", value));
}

void json_words(struct json *j, const char *key, const char *words)
{
    size_t bytes;

    json_open(j, key, '[');
    for (; *words; words += bytes) {
        while (*words == ' ')
            words++;
        for (bytes = 0; words[bytes] && words[bytes] != ' ';)
            bytes++;
        if (bytes) {
            element(j, NULL);
            put_quoted(j, words, bytes);
        }
    }
    json_close(j, ']');
}
