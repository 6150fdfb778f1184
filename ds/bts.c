/* SPDX-License-Identifier: BSD-2-Clause */
/* The BTS half: set-up, start and stop. Reading is in ds/bts_read.c. */
#include "ds/bts.h"

#include "ds/broker.h"
#include "ds/range.h"
#include "ds/refusal.h"
#include "hw/cpuid.h"
#include "hw/msr.h"
#include "hw/paging.h"

static enum ds_refusal refuse(enum ds_refusal first, enum range_fault fault)
{
    return fault == RANGE_GOOD ? DS_REFUSED_NONE : first + (fault - RANGE_NOT_CANONICAL);
}

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

/* Where area and buffer lie, without looking at a page table. */
static enum ds_refusal examine_places(uint64_t area, const struct bts_config *config)
{
    /* A threshold beyond the maximum is one record further: that address must exist too. */
    uint64_t reach = config->bytes + sizeof(struct bts_record);
    enum ds_refusal refusal;

    if (reach < config->bytes)
        return DS_REFUSED_BUFFER_WRAPS;
    refusal = refuse(DS_REFUSED_AREA_NOT_CANONICAL,
                     range_place(&ds_layout_64, area, sizeof(struct ds_area)));
    if (refusal == DS_REFUSED_NONE)
        refusal = refuse(DS_REFUSED_BUFFER_NOT_CANONICAL,
                         range_place(&ds_layout_64, config->base, reach));
    if (refusal == DS_REFUSED_NONE &&
        range_overlap(area, sizeof(struct ds_area), config->base, config->bytes))
        refusal = DS_REFUSED_OVERLAP;
    return refusal;
}

/* Pages of both under one set of tables. */
static enum ds_refusal examine_tables(uint64_t cr3, uint64_t area,
                                      const struct bts_config *config, bool want_dirty)
{
    enum ds_refusal refusal =
        refuse(DS_REFUSED_AREA_NOT_CANONICAL,
               range_pages(cr3, area, sizeof(struct ds_area), want_dirty));

    if (refusal == DS_REFUSED_NONE)
        refusal = refuse(DS_REFUSED_BUFFER_NOT_CANONICAL,
                         range_pages(cr3, config->base, config->bytes, want_dirty));
    if (refusal == DS_REFUSED_NONE &&
        !range_same_frames(cr3, paging_current(), area, sizeof(struct ds_area)))
        refusal = DS_REFUSED_AREA_ELSEWHERE;
    if (refusal == DS_REFUSED_NONE &&
        !range_same_frames(cr3, paging_current(), config->base, config->bytes))
        refusal = DS_REFUSED_BUFFER_ELSEWHERE;
    return refusal;
}

/* Every CR3 that may be in force. Only the present one's dirty bits can be set from here. */
static enum ds_refusal examine_pages(uint64_t area, const struct bts_config *config)
{
    enum ds_refusal refusal = examine_tables(paging_current(), area, config, false);

    for (size_t i = 0; refusal == DS_REFUSED_NONE && i < config->table_count; i++)
        refusal = examine_tables(config->tables[i], area, config,
                                 config->tables[i] != paging_current());
    if (refusal != DS_REFUSED_NONE)
        return refusal;
    range_touch(area, sizeof(struct ds_area));
    range_touch(config->base, config->bytes);
    return examine_tables(paging_current(), area, config, true);
}

static enum ds_refusal examine(const struct ds_area *area, const struct bts_config *config)
{
    uint64_t linear = (uintptr_t)area;
    enum ds_refusal refusal = DS_REFUSED_NONE;

    if (!area)
        return DS_REFUSED_NO_AREA;
    if (linear % sizeof(uint64_t))
        return DS_REFUSED_AREA_ALIGNMENT;
    if (!config->base || config->bytes < sizeof(struct bts_record))
        return config->base && config->bytes ? DS_REFUSED_TOO_SMALL : DS_REFUSED_NO_BUFFER;
    if (!config->break_rules)
        refusal = examine_rules(config);
    if (refusal == DS_REFUSED_NONE && (config->off_os || config->off_usr) && !cpu_has_ds_cpl())
        refusal = DS_REFUSED_NO_CPL_FILTER;
    if (refusal == DS_REFUSED_NONE)
        refusal = examine_places(linear, config);
    if (refusal == DS_REFUSED_NONE && broker_ds_area() == area &&
        broker_bits(BROKER_BTS) & DEBUGCTL_TR)
        refusal = DS_REFUSED_RUNNING;
    if (refusal == DS_REFUSED_NONE)
        refusal = examine_pages(linear, config);
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

    if (error == DS_OK && broker_ds_area() == bts->area)
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
