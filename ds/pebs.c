/* SPDX-License-Identifier: BSD-2-Clause */
/* The PEBS half: set-up, start and stop. Reading is in ds/pebs_read.c. */
#include "ds/pebs.h"

#include "ds/broker.h"
#include "ds/buffer.h"
#include "hw/string.h"

/* Fixed counters' resets follow those of the general ones, up to format 4. */
#define FIXED_RESET 8u
_Static_assert(FIXED_RESET + PMC_FIXED_MAX <= sizeof(((struct ds_area *)0)->pebs_reset) / 8,
               "every reset of format 4 is in the first array");

static uint64_t *reset_field(struct ds_area *area, unsigned counter)
{
    return &area->pebs_reset[counter < PMC_FIXED ? counter : FIXED_RESET + counter - PMC_FIXED];
}

uint64_t pebs_reset_value(const struct pmc *pmc, unsigned counter, uint64_t period)
{
    return -period & pmc_mask(pmc, counter);
}

static enum ds_refusal examine_reset(const struct pmc *pmc, unsigned counter, uint64_t reset)
{
    uint64_t mask = pmc_mask(pmc, counter);
    uint64_t period = -reset & mask;

    if (!reset)
        return DS_REFUSED_RESET_ZERO;
    if (reset & ~mask)
        return DS_REFUSED_RESET_WIDTH;
    /* With the top bit clear it would take more than half of all values to overflow. */
    if (!(reset & ((mask >> 1) + 1)))
        return DS_REFUSED_RESET_SIGN;
    if (counter < PMC_FIXED && !pmc->full_width && period > 1ull << 31)
        return DS_REFUSED_RESET_REACH;
    return DS_REFUSED_NONE;
}

/* What the event of a fixed counter is, by nature. */
static bool fixed_event(unsigned counter, enum pmc_event event)
{
    static const uint8_t events[] = {PMC_INSTRUCTIONS, PMC_CORE_CYCLES, PMC_REFERENCE_CYCLES};

    counter -= PMC_FIXED;
    return counter < sizeof(events) && events[counter] == event;
}

static enum ds_refusal examine_counter(const struct pmc *pmc, const struct pebs_counter *c)
{
    if (!pmc_exists(pmc, c->counter) || c->counter >= PMC_FIXED + 4)
        return DS_REFUSED_COUNTER_ABSENT;
    if ((!pmc->pebs_baseline && c->counter >= PEBS_GENERAL_ONLY) ||
        (pmc->pebs_first_only && c->counter))
        return DS_REFUSED_COUNTER_NO_PEBS;
    if (c->counter < PMC_FIXED ? !pmc_event_select(c->event)
                               : !fixed_event(c->counter, c->event))
        return DS_REFUSED_COUNTER_EVENT;
    return DS_REFUSED_NONE;
}

static enum ds_refusal examine_counters(const struct pebs_config *config)
{
    enum ds_refusal refusal = DS_REFUSED_NONE;
    uint64_t seen = 0;

    if (!config->counter_count)
        return DS_REFUSED_NO_COUNTER;
    if (config->counter_count > PEBS_COUNTERS_MOST)
        return DS_REFUSED_COUNTERS_MANY;
    for (size_t i = 0; refusal == DS_REFUSED_NONE && i < config->counter_count; i++) {
        const struct pebs_counter *c = &config->counters[i];

        refusal = examine_counter(config->pmc, c);
        if (refusal == DS_REFUSED_NONE && seen >> c->counter & 1)
            refusal = DS_REFUSED_COUNTER_TWICE;
        if (refusal == DS_REFUSED_NONE && !config->break_rules)
            refusal = examine_reset(config->pmc, c->counter, c->reset);
        if (refusal == DS_REFUSED_NONE)
            seen |= 1ull << c->counter;
    }
    return refusal;
}

/* Rules that the manual gives to software; a check may ask to break them. */
static enum ds_refusal examine_rules(const struct pebs_config *config, size_t record_bytes)
{
    size_t capacity = config->bytes / record_bytes;

    if (config->base % sizeof(uint32_t))
        return DS_REFUSED_BASE_ALIGNMENT;
    if (config->bytes % record_bytes)
        return DS_REFUSED_NOT_WHOLE;
    if (capacity < 2)
        return DS_REFUSED_TOO_SMALL;
    if (config->threshold_records >= capacity)
        return DS_REFUSED_THRESHOLD_OUTSIDE;
    return config->user || config->kernel ? DS_REFUSED_NONE : DS_REFUSED_NO_RINGS;
}

static enum ds_refusal examine_processor(const struct pebs_config *config)
{
    const struct pebs_format *format;

    if (!config->pmc || !config->pmc->has_pebs)
        return DS_REFUSED_NO_PEBS;
    format = pebs_format_find(&ds_layout_64, config->pmc->pebs_format);
    if (!format)
        return DS_REFUSED_FORMAT;
    if (config->groups & ~(format->record_bytes ? 0 : PEBS_GROUPS))
        return DS_REFUSED_GROUPS;
    return DS_REFUSED_NONE;
}

static enum ds_refusal examine(const struct ds_area *area, const struct pebs_config *config)
{
    struct ds_buffer buffer = {
        .base = config->base,
        .bytes = config->bytes,
        .tables = config->tables,
        .table_count = config->table_count,
    };
    enum ds_refusal refusal = examine_processor(config);

    if (refusal == DS_REFUSED_NONE)
        refusal = buffer_area(area);
    if (refusal == DS_REFUSED_NONE)
        refusal = examine_counters(config);
    if (refusal != DS_REFUSED_NONE)
        return refusal;
    buffer.record_bytes = pebs_format_bytes(
        pebs_format_find(&ds_layout_64, config->pmc->pebs_format), config->groups);
    if (!config->base || config->bytes < buffer.record_bytes)
        return config->base && config->bytes ? DS_REFUSED_TOO_SMALL : DS_REFUSED_NO_BUFFER;
    /* Also for who may break rules: it would cost the machine. */
    if (config->pmc->pebs_one_page && config->bytes > 4096)
        return DS_REFUSED_TOO_LONG;
    if (!config->break_rules)
        refusal = examine_rules(config, buffer.record_bytes);
    if (refusal == DS_REFUSED_NONE)
        refusal = buffer_place(area, &buffer);
    if (refusal == DS_REFUSED_NONE && broker_ds_area() == area && broker_counters(BROKER_PEBS))
        refusal = DS_REFUSED_RUNNING;
    if (refusal == DS_REFUSED_NONE)
        refusal = buffer_pages(area, &buffer);
    if (refusal == DS_REFUSED_NONE && buffer_shared(area->bts_base, area->bts_maximum, &buffer))
        refusal = DS_REFUSED_OTHER_HALF;
    return refusal;
}

/* Every field of the half: resets of counters that do not sample are 0. */
static void fill_area(const struct pebs *pebs, const struct pebs_config *config)
{
    struct ds_area *area = pebs->area;
    uint64_t maximum = config->base + pebs->capacity * pebs->record_bytes;

    area->pebs_base = config->base;
    area->pebs_index = config->base;
    area->pebs_maximum = config->break_rules ? config->base + config->bytes : maximum;
    area->pebs_threshold = config->threshold_records
                               ? config->base + config->threshold_records * pebs->record_bytes
                               : area->pebs_maximum + pebs->record_bytes;
    memset(area->pebs_reset, 0, sizeof(area->pebs_reset));
    for (size_t i = 0; i < pebs->counter_count; i++)
        *reset_field(area, pebs->counters[i].counter) = pebs->counters[i].reset;
}

enum ds_error pebs_setup(struct pebs *pebs, struct ds_area *area,
                         const struct pebs_config *config, const char **why)
{
    enum ds_refusal refusal = examine(area, config);

    if (why)
        *why = ds_refusal_reason(refusal);
    if (refusal != DS_REFUSED_NONE)
        return ds_refusal_error(refusal);
    *pebs = (struct pebs){
        .area = area,
        .pmc = config->pmc,
        .format = pebs_format_find(&ds_layout_64, config->pmc->pebs_format),
        .base = config->base,
        .groups = config->groups,
        .user = config->user,
        .kernel = config->kernel,
        .counter_count = config->counter_count,
    };
    pebs->record_bytes = pebs_format_bytes(pebs->format, config->groups);
    pebs->capacity = config->bytes / pebs->record_bytes;
    for (size_t i = 0; i < config->counter_count; i++) {
        pebs->counters[i] = config->counters[i];
        pebs->values[i] = config->counters[i].reset;
        pebs->mask |= 1ull << config->counters[i].counter;
    }
    fill_area(pebs, config);
    return DS_OK;
}

bool pebs_running(const struct pebs *pebs)
{
    return pebs->area && broker_ds_area() == pebs->area && broker_counters(BROKER_PEBS);
}

/* Event and rings. A processor that has no bit to ask for the groups gives them unasked. */
static int program_event(const struct pebs *pebs, const struct pebs_counter *c)
{
    unsigned flags = (pebs->user ? PMC_USR : 0) | (pebs->kernel ? PMC_OS : 0);

    if (pebs->groups && pmc_program(c->counter, c->event, flags | PMC_ADAPTIVE) == 0)
        return 0;
    return pmc_program(c->counter, c->event, flags);
}

/*
 * Left behind, a bit of ours would keep the next interrupt from coming, or be taken for
 * somebody else's: a counter that was stopped between its overflow and its record has one.
 */
static void clear_status(uint64_t ours)
{
    uint64_t status = 0;

    if (pmc_status_read(&status) == 0 && status & ours)
        pmc_status_clear(status & ours);
}

/* Values, events and groups, of counters that the global control has off. */
static int program(const struct pebs *pebs)
{
    int vector = pebs->format->record_bytes ? 0 : pmc_pebs_data_write(pebs->groups);

    clear_status(pebs->mask | GLOBAL_STATUS_OVF_BUFFER);
    for (size_t i = 0; !vector && i < pebs->counter_count; i++) {
        const struct pebs_counter *c = &pebs->counters[i];

        vector = pmc_stop(c->counter);
        if (!vector)
            vector = pmc_write(pebs->pmc, c->counter, pebs->values[i]);
        if (!vector)
            vector = program_event(pebs, c);
    }
    return vector;
}

/* Off in their own controls too: nothing that we set up stays behind. */
static void unprogram(const struct pebs *pebs)
{
    for (size_t i = 0; i < pebs->counter_count; i++)
        pmc_stop(pebs->counters[i].counter);
    clear_status(pebs->mask);
    if (!pebs->format->record_bytes)
        pmc_pebs_data_write(0);
}

/*
 * Counters are held all the while: the global control may have ours on already, and none may
 * count before its PEBS bit is on.
 */
static enum ds_error start_held(struct pebs *pebs)
{
    enum ds_error error = program(pebs) ? DS_EOPNOTSUPP : DS_OK;

    if (error == DS_OK)
        error = broker_count(BROKER_PEBS, pebs->mask);
    if (error != DS_OK)
        unprogram(pebs);
    return error;
}

enum ds_error pebs_start(struct pebs *pebs)
{
    enum ds_error error = DS_OK;

    if (!pebs->area)
        return DS_ESRCH;
    if (pebs_running(pebs) || broker_counters(BROKER_COUNTERS) & pebs->mask)
        return DS_EBUSY;
    if (broker_ds_area() != pebs->area)
        error = broker_set_ds_area(pebs->area);
    if (error != DS_OK)
        return error;
    broker_hold_counters();
    error = start_held(pebs);
    /* A register that refuses does so here. */
    if (!broker_release_counters() && error == DS_OK)
        error = DS_EOPNOTSUPP;
    if (error == DS_EOPNOTSUPP)
        pebs_stop(pebs);
    return error;
}

/* What the counter goes on from: past its overflow, without a record, that is the reset. */
static uint64_t value_now(const struct pebs *pebs, size_t i)
{
    const struct pebs_counter *c = &pebs->counters[i];
    uint64_t value = 0;

    pmc_read(c->counter, &value);
    return value > pmc_mask(pebs->pmc, c->counter) >> 1 ? value : c->reset;
}

enum ds_error pebs_stop(struct pebs *pebs)
{
    bool running = pebs_running(pebs);
    enum ds_error error = DS_OK;

    if (!pebs->area)
        return DS_ESRCH;
    /* Even with no counter on: we may be an NMI inside a stop that has not been written yet. */
    if (broker_ds_area() == pebs->area)
        error = broker_count(BROKER_PEBS, 0);
    if (error != DS_OK || !running)
        return error;
    broker_hold_counters();
    for (size_t i = 0; i < pebs->counter_count; i++)
        pebs->values[i] = value_now(pebs, i);
    unprogram(pebs);
    broker_release_counters();
    return DS_OK;
}

void pebs_reload(struct pebs *pebs)
{
    for (size_t i = 0; pebs->area && i < pebs->counter_count; i++)
        pmc_write(pebs->pmc, pebs->counters[i].counter, value_now(pebs, i));
}

enum ds_error pebs_teardown(struct pebs *pebs)
{
    enum ds_error error = pebs_stop(pebs);
    struct ds_area *area = pebs->area;

    if (error == DS_OK && broker_ds_area() == area && !(broker_bits(BROKER_BTS) & DEBUGCTL_TR))
        error = broker_set_ds_area(NULL);
    if (error != DS_OK)
        return error;
    area->pebs_base = area->pebs_index = area->pebs_maximum = area->pebs_threshold = 0;
    memset(area->pebs_reset, 0, sizeof(area->pebs_reset));
    *pebs = (struct pebs){0};
    return DS_OK;
}

/* The entry of a counter, or NULL. */
static struct pebs_counter *find(const struct pebs *pebs, unsigned counter)
{
    for (size_t i = 0; i < pebs->counter_count; i++)
        if (pebs->counters[i].counter == counter)
            return (struct pebs_counter *)&pebs->counters[i];
    return NULL;
}

enum ds_error pebs_set_reset(struct pebs *pebs, unsigned counter, uint64_t reset,
                             const char **why)
{
    struct pebs_counter *c = pebs->area ? find(pebs, counter) : NULL;
    enum ds_refusal refusal = DS_REFUSED_COUNTER_ABSENT;

    if (!pebs->area)
        return DS_ESRCH;
    if (c)
        refusal = examine_reset(pebs->pmc, counter, reset);
    if (why)
        *why = ds_refusal_reason(refusal);
    if (refusal != DS_REFUSED_NONE)
        return ds_refusal_error(refusal);
    c->reset = reset;
    *(volatile uint64_t *)reset_field(pebs->area, counter) = reset;
    return DS_OK;
}
