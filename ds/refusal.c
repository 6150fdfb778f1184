/* SPDX-License-Identifier: BSD-2-Clause */
/* The error and the words of each refusal. */
#include "ds/refusal.h"

struct refusal {
    enum ds_error error;
    const char *reason;
};

/* A switch, not a table of pointers: the image is relocated, so pointers would cost twice. */
static struct refusal look_up(enum ds_refusal refusal)
{
    switch (refusal) {
#define X(name, error, reason)                                                                 \
    case DS_REFUSED_##name:                                                                    \
        return (struct refusal){error, reason};
        DS_REFUSALS(X)
#undef X
    case DS_REFUSAL_COUNT:
        break;
    }
    return (struct refusal){DS_EINVAL, "?"};
}

enum ds_error ds_refusal_error(enum ds_refusal refusal)
{
    return look_up(refusal).error;
}

const char *ds_refusal_reason(enum ds_refusal refusal)
{
    return look_up(refusal).reason;
}
