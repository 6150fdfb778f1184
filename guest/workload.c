/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of workloads that the linker gathers. */
#include "guest/workload.h"

#include "hw/string.h"

size_t workload_count(void)
{
    return (size_t)(__workloads_end - __workloads_start);
}

const struct workload *workload_at(size_t index)
{
    return index < workload_count() ? &__workloads_start[index] : NULL;
}

bool workload_possible(const struct workload *w, unsigned ring)
{
    if ((w->flags & WORKLOAD_LOW) && (uint64_t)__guest_end > UINT32_MAX)
        return false;
    return (w->flags & (ring ? WORKLOAD_RING3 : WORKLOAD_RING0)) != 0;
}

const struct workload *workload_find(const char *name)
{
    for (const struct workload *w = __workloads_start; w < __workloads_end; w++)
        if (strcmp(w->name, name) == 0)
            return w;
    return NULL;
}
