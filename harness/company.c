/* SPDX-License-Identifier: BSD-2-Clause */
/* Other processors inside a check. */
#include "harness/company.h"

unsigned company_count(struct run *run)
{
    unsigned count = 0;

    while (run->platform->other(count + 1))
        count++;
    NEED(run, count > 0, "the other processor did not come");
    return count;
}

void company_start(struct run *run, unsigned index, uint64_t (*fn)(void *), void *arg)
{
    NEED(run, run->platform->other_run(index, fn, arg), "processor %u is busy", index);
}

uint64_t company_wait(struct run *run, unsigned index)
{
    uint64_t value = 0;

    NEED(run, run->platform->other_wait(index, &value), "processor %u does not answer", index);
    return value;
}

uint64_t company_call(struct run *run, unsigned index, uint64_t (*fn)(void *), void *arg)
{
    company_start(run, index, fn, arg);
    return company_wait(run, index);
}
