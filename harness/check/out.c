/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines of output. */
#include "harness/check/out.h"

#include "harness/check/format.h"

static const struct platform *out_platform;
static bool muted;

void out_init(const struct platform *platform)
{
    out_platform = platform;
}

void out_mute(bool mute)
{
    muted = mute;
}

/* A control byte or a line end inside a line would break every reader of the wire. */
static void send(char *line, size_t bytes)
{
    if (muted)
        return;
    for (size_t i = 0; i < bytes; i++)
        if (line[i] < ' ' || line[i] > '~')
            line[i] = '?';
    out_platform->line(line, bytes);
}

void out_vline(const char *prefix, const char *format, va_list arguments)
{
    char line[OUT_LINE_BYTES + 1];
    size_t used = fmt(line, sizeof(line), "%s", prefix);

    used += vfmt(line + used, sizeof(line) - used, format, arguments);
    send(line, used);
}

void out_line(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    out_vline("", format, arguments);
    va_end(arguments);
}
