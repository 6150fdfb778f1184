/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading the PEBS buffer: all records of one session have one size. */
#include "ds/broker.h"
#include "ds/pebs.h"
#include "hw/string.h"

/* The processor writes these fields behind the compiler's back. */
static uint64_t field(const uint64_t *where)
{
    return *(const volatile uint64_t *)where;
}

/* Bytes in use. DS_EIO when the index is no record boundary inside the buffer. */
static enum ds_error measure(const struct pebs *pebs, size_t *bytes)
{
    uint64_t offset;

    if (!pebs->area)
        return DS_ESRCH;
    offset = field(&pebs->area->pebs_index) - pebs->base;
    if (offset % pebs->record_bytes || offset > pebs->capacity * pebs->record_bytes)
        return DS_EIO;
    *bytes = offset;
    return DS_OK;
}

static void rewind_to(const struct pebs *pebs, size_t bytes)
{
    *(volatile uint64_t *)&pebs->area->pebs_index = pebs->base + bytes;
}

size_t pebs_count(const struct pebs *pebs)
{
    size_t bytes;

    return measure(pebs, &bytes) == DS_OK ? bytes / pebs->record_bytes : 0;
}

bool pebs_full(const struct pebs *pebs)
{
    return pebs->area && pebs_count(pebs) == pebs->capacity;
}

bool pebs_at_threshold(const struct pebs *pebs)
{
    return pebs->area && field(&pebs->area->pebs_index) >= field(&pebs->area->pebs_threshold);
}

static enum ds_error begin(struct pebs *pebs)
{
    if (!pebs->area)
        return DS_ESRCH;
    if (pebs->reading || (pebs_running(pebs) && !broker_counters_held()))
        return DS_EBUSY;
    pebs->reading = true;
    return DS_OK;
}

enum ds_error pebs_drain(struct pebs *pebs, size_t most, pebs_sink *sink, void *context,
                         size_t *count)
{
    const uint8_t *buffer = (const uint8_t *)(uintptr_t)pebs->base;
    enum ds_error error = begin(pebs);
    struct pebs_sample sample;
    size_t bytes = 0, at = 0, taken = 0;

    if (error != DS_OK)
        return error;
    error = measure(pebs, &bytes);
    while (error == DS_OK && at < bytes && taken < most) {
        if (!pebs_next(pebs->format, buffer, bytes, &at, &sample) ||
            sample.bytes != pebs->record_bytes) {
            error = DS_EIO;
            break;
        }
        sink(context, &sample);
        taken++;
    }
    if (error == DS_OK && at < bytes)
        memmove((void *)(uintptr_t)pebs->base, (const void *)(buffer + at), bytes - at);
    rewind_to(pebs, error == DS_OK ? bytes - at : 0);
    if (count)
        *count = taken;
    pebs->reading = false;
    return error;
}

enum ds_error pebs_reset(struct pebs *pebs)
{
    enum ds_error error = begin(pebs);

    if (error != DS_OK)
        return error;
    rewind_to(pebs, 0);
    pebs->reading = false;
    return DS_OK;
}
