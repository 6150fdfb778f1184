/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Buffered output of wtr. Numbers are formatted here: a million lines through printf would
 * cost more than reading the trace.
 */
#include "harness/wtr/core/text.h"

#include "harness/wtr/core/util.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A device or a pipe is written to; the rename at the end would put a file in its place. */
static bool is_special(const char *path)
{
    struct stat found;

    return stat(path, &found) == 0 && !S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode);
}

bool text_open(struct text *out, const char *path)
{
    *out = (struct text){.stream = stdout};
    if (!path || strcmp(path, "-") == 0)
        return true;
    out->path = text_copy(path, strlen(path));
    if (!is_special(path)) {
        out->temporary = allocate(strlen(path) + 32, 1);
        sprintf(out->temporary, "%s.%ld.part", path, (long)getpid());
    }
    out->stream = fopen(out->temporary ? out->temporary : path, "wb");
    if (out->stream)
        return true;
    complain("%s: cannot write: %s", path, strerror(errno));
    free(out->path);
    free(out->temporary);
    return false;
}

static void text_flush(struct text *out)
{
    if (out->used && fwrite(out->buffer, 1, out->used, out->stream) != out->used)
        out->broken = true;
    out->used = 0;
}

bool text_close(struct text *out)
{
    bool file = out->path;
    const char *name = file ? out->path : "standard output";

    errno = 0;
    text_flush(out);
    if (file ? fclose(out->stream) != 0 : fflush(out->stream) != 0)
        out->broken = true;
    if (out->temporary && !out->broken && rename(out->temporary, out->path) != 0)
        out->broken = true;
    if (out->broken) {
        complain("%s: cannot write: %s", name, errno ? strerror(errno) : "unknown error");
        if (out->temporary)
            unlink(out->temporary);
    }
    free(out->path);
    free(out->temporary);
    return !out->broken;
}

void text_bytes(struct text *out, const void *bytes, size_t count)
{
    if (!count)
        return;
    if (count > sizeof out->buffer - out->used)
        text_flush(out);
    if (count > sizeof out->buffer) {
        if (fwrite(bytes, 1, count, out->stream) != count)
            out->broken = true;
        return;
    }
    memcpy(out->buffer + out->used, bytes, count);
    out->used += count;
}

void text_string(struct text *out, const char *string)
{
    text_bytes(out, string, strlen(string));
}

void text_char(struct text *out, char c)
{
    text_bytes(out, &c, 1);
}

static size_t digits(char *end, uint64_t value, unsigned base)
{
    char *at = end;

    do {
        *--at = "0123456789abcdef"[value % base];
        value /= base;
    } while (value);
    return (size_t)(end - at);
}

void text_hex(struct text *out, uint64_t value)
{
    char room[24];
    size_t count = digits(room + sizeof room, value, 16);

    text_bytes(out, room + sizeof room - count, count);
}

void text_decimal(struct text *out, uint64_t value)
{
    text_columns(out, value, 0);
}

void text_columns(struct text *out, uint64_t value, unsigned width)
{
    char room[24];
    size_t count = digits(room + sizeof room, value, 10);

    for (size_t i = count; i < width; i++)
        text_char(out, ' ');
    text_bytes(out, room + sizeof room - count, count);
}

void text_format(struct text *out, const char *format, ...)
{
    va_list arguments;
    char room[1024], *larger;
    int count;

    va_start(arguments, format);
    count = vsnprintf(room, sizeof room, format, arguments);
    va_end(arguments);
    if (count < (int)sizeof room) {
        text_bytes(out, room, count > 0 ? (size_t)count : 0);
        return;
    }
    larger = allocate((size_t)count + 1, 1);
    va_start(arguments, format);
    vsnprintf(larger, (size_t)count + 1, format, arguments);
    va_end(arguments);
    text_bytes(out, larger, (size_t)count);
    free(larger);
}
