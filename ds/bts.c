/* SPDX-License-Identifier: BSD-2-Clause */
/* The BTS half: set-up, start and stop. Reading is in ds/bts_read.c. */
#include "ds/bts.h"

#include "ds/broker.h"
#include "ds/buffer.h"
#include "hw/cpuid.h"
#include "hw/msr.h"

/* Rules that the manual gives to software; a check may ask to break them. */
static enum ds_refusal examine_rules(const struct bts_config *config)
{
    size_t capacity = config->bytes / sizeof(struct bts_record);

    if (config->base % sizeof(uint32_t))
        return DS_REFUSED_BASE_ALIGNMENT;
    if (config->bytes % sizeof(struct bts_record))
        return DS_REFUSED_NOT_WHOLE;
    if (capacity < 2)
        return DS_REFUSED_TOO_SMALL;
    if (config->threshold_records >= capacity)
        return DS_REFUSED_THRESHOLD_OUTSIDE;
    if (config->threshold_records && !config->interrupt)
        return DS_REFUSED_THRESHOLD_CIRCULAR;
    if (config->off_os && config->off_usr)
        return DS_REFUSED_NOTHING_STORED;
    return DS_REFUSED_NONE;
}

static enum ds_refusal examine(const struct ds_area *area, const struct bts_config *config)
{
    const struct ds_buffer buffer = {
        .base = config->base,
        .bytes = config->bytes,
        .record_bytes = sizeof(struct bts_record),
        .tables = config->tables,
        .table_count = config->table_count,
    };
    enum ds_refusal refusal = buffer_area(area);

    if (refusal != DS_REFUSED_NONE)
        return refusal;
    if (!config->base || config->bytes < sizeof(struct bts_record))
        return config->base && config->bytes ? DS_REFUSED_TOO_SMALL : DS_REFUSED_NO_BUFFER;
    if (!config->break_rules)
        refusal = examine_rules(config);
    if (refusal == DS_REFUSED_NONE && (config->off_os || config->off_usr) && !cpu_has_ds_cpl())
        refusal = DS_REFUSED_NO_CPL_FILTER;
    if (refusal == DS_REFUSED_NONE)
        refusal = buffer_place(area, &buffer);
    if (refusal == DS_REFUSED_NONE && broker_ds_area() == area &&
        broker_bits(BROKER_BTS) & DEBUGCTL_TR)
        refusal = DS_REFUSED_RUNNING;
    if (refusal == DS_REFUSED_NONE)
        refusal = buffer_pages(area, &buffer);
    if (refusal == DS_REFUSED_NONE &&
        buffer_shared(area->pebs_base, area->pebs_maximum, &buffer))
        refusal = DS_REFUSED_OTHER_HALF;
    return refusal;
}

static uint64_t wanted_bits(const struct bts_config *config)
{
    return DEBUGCTL_TR | DEBUGCTL_BTS | (config->interrupt ? DEBUGCTL_BTINT : 0) |
           (config->off_os ? DEBUGCTL_BTS_OFF_OS : 0) |
           (config->off_usr ? DEBUGCTL_BTS_OFF_USR : 0);
}

enum ds_error bts_setup(struct bts *bts, struct ds_area *area, const struct bts_config *config,
                        const char **why)
{
    enum ds_refusal refusal = examine(area, config);
    uint64_t maximum = config->base + config->bytes;

    if (why)
        *why = ds_refusal_reason(refusal);
    if (refusal != DS_REFUSED_NONE)
        return ds_refusal_error(refusal);

    *bts = (struct bts){
        .area = area,
        .base = config->base,
        .capacity = config->bytes / sizeof(struct bts_record),
        .debugctl = wanted_bits(config),
    };
    area->bts_base = config->base;
    area->bts_maximum = maximum;
    area->bts_threshold =
        config->threshold_records
            ? config->base + config->threshold_records * sizeof(struct bts_record)
            : maximum + sizeof(struct bts_record);
    return bts_clear(bts);
}

bool bts_running(const struct bts *bts)
{
    return bts->area && broker_ds_area() == bts->area &&
           (broker_bits(BROKER_BTS) & DEBUGCTL_TR);
}

/* Left alone where it is right already: an NMI may start a trace, but not move DS_AREA. */
static enum ds_error point(const struct bts *bts)
{
    return broker_ds_area() == bts->area ? DS_OK : broker_set_ds_area(bts->area);
}

enum ds_error bts_start(struct bts *bts)
{
    enum ds_error error;

    if (!bts->area)
        return DS_ESRCH;
    if (bts_running(bts))
        return DS_EBUSY;
    error = point(bts);
    return error == DS_OK ? broker_set(BROKER_BTS, bts->debugctl) : error;
}

enum ds_error bts_stop(struct bts *bts)
{
    if (!bts->area)
        return DS_ESRCH;
    /* Even with an empty mask: we may be an NMI inside a start that is not published yet. */
    return broker_ds_area() == bts->area ? broker_clear(BROKER_BTS) : DS_OK;
}

enum ds_error bts_teardown(struct bts *bts)
{
    enum ds_error error = bts_stop(bts);

    /* The other half of the area may be at work: then it stays where it is. */
    if (error == DS_OK && broker_ds_area() == bts->area && !broker_counters(BROKER_PEBS))
        error = broker_set_ds_area(NULL);
    if (error == DS_OK)
        *bts = (struct bts){0};
    return error;
}

enum ds_error bts_bracket(struct bts *bts, uint64_t (*fn)(void *), void *arg, uint64_t *value)
{
    enum ds_error error;

    if (!bts->area)
        return DS_ESRCH;
    if (bts_running(bts))
        return DS_EBUSY;
    error = point(bts);
    return error == DS_OK ? broker_bracket(BROKER_BTS, bts->debugctl, fn, arg, value) : error;
}
