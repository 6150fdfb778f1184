/* SPDX-License-Identifier: BSD-2-Clause */
/* The options soak=, for how long a run goes, and profile=, by what it is judged. */
#include "harness/check/format.h"
#include "harness/options/option_values.h"
#include "hw/string.h"

#define SOAK_SECONDS_MAX (7u * 24 * 3600)

/* "90s", "10m", "2h"; false for anything else, and for no time at all. */
static bool parse_time(const char *text, unsigned *seconds)
{
    char digits[12];
    size_t length = strlen(text);
    uint64_t number, unit;

    if (length < 2 || length >= sizeof(digits))
        return false;
    unit = text[length - 1] == 's' ? 1 : text[length - 1] == 'm' ? 60 : 3600;
    if (unit == 3600 && text[length - 1] != 'h')
        return false;
    fmt(digits, sizeof(digits), "%.*s", (int)length - 1, text);
    if (!option_number(digits, &number) || number == 0 || number > SOAK_SECONDS_MAX / unit)
        return false;
    *seconds = (unsigned)(number * unit);
    return true;
}

const char *option_set_soak(struct options *o, const char *value)
{
    bool plain = (value[0] == '0' || value[0] == '1') && !value[1];

    o->soak = plain && value[0] == '1';
    o->soak_seconds = 0;
    if (!plain && !parse_time(value, &o->soak_seconds))
        return "0, 1 or a time up to a week, such as 90s, 10m or 2h";
    return NULL;
}

const char *option_set_profile(struct options *o, const char *value)
{
    for (const char *c = value; *c; c++)
        if (!(*c >= 'a' && *c <= 'z') && !(*c >= '0' && *c <= '9') && *c != '-')
            return "a name of a-z, 0-9 and -";
    if (!*value || strlen(value) >= sizeof(o->profile))
        return "a name of at most 30 characters";
    fmt(o->profile, sizeof(o->profile), "%s", value);
    return NULL;
}
