/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How often, for how long, in which order and under which guard: soak=, repeat=, order=,
 * guard=.
 */
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

static const char *set_soak(struct options *o, const char *value)
{
    bool plain = (value[0] == '0' || value[0] == '1') && !value[1];

    o->soak = plain && value[0] == '1';
    o->soak_seconds = 0;
    if (!plain && !parse_time(value, &o->soak_seconds))
        return "0, 1 or a time up to a week, such as 90s, 10m or 2h";
    return NULL;
}

const char *option_set_pace(struct options *o, const char *key, const char *value)
{
    uint64_t number;

    if (strcmp(key, "soak") == 0)
        return set_soak(o, value);
    if (!option_number(value, &number))
        return "a number, decimal or 0x";
    if (strcmp(key, "repeat") == 0) {
        if (number < 1 || number > 1000)
            return "a number from 1 to 1000";
        o->repeat = (unsigned)number;
    } else if (strcmp(key, "guard") == 0) {
        if (number > 3600)
            return "a number of seconds up to 3600";
        o->guard = (unsigned)number;
        o->guard_given = true;
    } else {
        o->order = number;
        o->order_given = true;
    }
    return NULL;
}
