/* SPDX-License-Identifier: BSD-2-Clause */
/* The fingerprint. */
#include "harness/check/observe.h"

#include "harness/check/format.h"
#include "hw/string.h"

static struct observation observations[160];
static size_t count;

bool observe_add(const char *name, const char *value)
{
    size_t i = 0;

    while (i < count && strcmp(observations[i].name, name) != 0)
        i++;
    if (i == sizeof(observations) / sizeof(observations[0]))
        return false;
    if (i == count)
        count++;
    fmt(observations[i].name, sizeof(observations[i].name), "%s", name);
    fmt(observations[i].value, sizeof(observations[i].value), "%s", value);
    return true;
}

size_t observe_count(void)
{
    return count;
}

const struct observation *observe_at(size_t index)
{
    return &observations[index];
}

const char *observe_get(const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(observations[i].name, name) == 0)
            return observations[i].value;
    return NULL;
}

void observe_forget(void)
{
    count = 0;
}
