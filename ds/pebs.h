/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The PEBS half of a Debug Store area: counters whose overflows leave records, set-up with its
 * checks, start and stop, reading.
 * Source: SDM Vol. 3, "Processor Event Based Sampling (PEBS)", "Setting Up the PEBS Buffer",
 * "PEBS Record Format", "Adaptive PEBS".
 *
 * The buffer is not a ring: when the next record would not fit, records are no longer written.
 * Reading wants the sampling stopped (DS_EBUSY otherwise). An index that the processor left
 * outside the buffer is never followed: reads then give DS_EIO or a count of 0.
 */
#ifndef DS_PEBS_H
#define DS_PEBS_H

#include "ds/error.h"
#include "ds/layout.h"
#include "ds/pebs_format.h"
#include "hw/pmc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Counters that can sample at once: every general one, and the first fixed ones. */
#define PEBS_COUNTERS_MOST (PMC_GENERAL_MAX + 4u)
/* Where the processor has no baseline, only the first general counters can sample. */
#define PEBS_GENERAL_ONLY 4u

struct pebs_counter {
    unsigned counter; /* as in hw/pmc.h */
    enum pmc_event event;
    uint64_t reset; /* what the counter becomes after each record: minus the events to overflow;
                       the event after those is the one recorded */
};

struct pebs_config {
    const struct pmc *pmc; /* the processor */
    uint64_t base;         /* linear address of the buffer */
    size_t bytes;
    size_t threshold_records; /* records from the base; 0 = beyond the maximum */
    bool user, kernel;        /* count at CPL > 0, at CPL 0 */
    const struct pebs_counter *counters;
    size_t counter_count;
    uint64_t groups;        /* of adaptive records: PEBS_GROUP_..., or none */
    bool break_rules;       /* for checks: skip the rules about sizes, alignment, thresholds and
                               the values of counter resets */
    const uint64_t *tables; /* as in struct bts_config */
    size_t table_count;
};

struct pebs {
    struct ds_area *area;
    const struct pmc *pmc;
    const struct pebs_format *format;
    uint64_t base;
    size_t record_bytes; /* of every record: the groups do not change while it runs */
    size_t capacity;     /* whole records */
    uint64_t groups;
    bool user, kernel;
    struct pebs_counter counters[PEBS_COUNTERS_MOST];
    uint64_t values[PEBS_COUNTERS_MOST]; /* of each while it is stopped */
    size_t counter_count;
    uint64_t mask; /* the counters as bits of the global control */
    volatile bool reading;
};

/* Minus period, in the counter's width. */
uint64_t pebs_reset_value(const struct pmc *pmc, unsigned counter, uint64_t period);

/*
 * Fills the PEBS half of area; the BTS half is left alone. Touches no MSR. On any refusal
 * nothing has changed, *why (may be NULL) names the rule and the field.
 */
enum ds_error pebs_setup(struct pebs *pebs, struct ds_area *area,
                         const struct pebs_config *config, const char **why);

/* DS_AREA := area, then the counters; counting starts last. */
enum ds_error pebs_start(struct pebs *pebs);
/* Counting ends first, and each counter's value is kept for the next start. Idempotent. */
enum ds_error pebs_stop(struct pebs *pebs);
/*
 * Stops, and sets DS_AREA to 0 if it is this area and no branch is traced into it. The half
 * then names no buffer, and pebs is as before pebs_setup.
 */
enum ds_error pebs_teardown(struct pebs *pebs);
bool pebs_running(const struct pebs *pebs);

/*
 * Reset value of a counter that pebs has: DS_EINVAL for any other one, and for a value that is
 * 0, wider than the counter, or not negative in its width; *why as above. It counts from the
 * next record on. Any time.
 */
enum ds_error pebs_set_reset(struct pebs *pebs, unsigned counter, uint64_t reset,
                             const char **why);

/* Records that can be read. */
size_t pebs_count(const struct pebs *pebs);
/* True when the next record would not have fitted: an unknown number is lost. */
bool pebs_full(const struct pebs *pebs);
/* True when the index has reached the threshold: the interrupt is, or was, on its way. */
bool pebs_at_threshold(const struct pebs *pebs);

/* Gets the samples one by one, oldest first; what a sample points to goes when it returns. */
typedef void pebs_sink(void *context, const struct pebs_sample *sample);

/*
 * Hands the oldest records, at most that many, to sink; the rest move to the base. DS_EIO when
 * the index or a record cannot be trusted: what stood before it has gone to sink, the rest is
 * dropped. *count (may be NULL) is how many sink got.
 */
enum ds_error pebs_drain(struct pebs *pebs, size_t most, pebs_sink *sink, void *context,
                         size_t *count);
/*
 * After the buffer was full: a counter that could leave no record was not reset either, and
 * would count through all its values before the next one. Sampling is off, or held.
 */
void pebs_reload(struct pebs *pebs);
/* Index back to the base: what is in the buffer is gone. */
enum ds_error pebs_reset(struct pebs *pebs);

#endif
