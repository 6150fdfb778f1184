/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The BTS half of a Debug Store area: buffer set-up with its checks, start and stop, reading.
 * Source: SDM Vol. 3, "Setting Up the BTS Buffer", "Setting Up the DS Save Area".
 *
 * Reading wants the trace stopped (DS_EBUSY otherwise). An index that the processor left
 * outside the buffer is never followed: reads then give DS_EIO or a count of 0.
 */
#ifndef DS_BTS_H
#define DS_BTS_H

#include "ds/error.h"
#include "ds/layout.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bts_config {
    uint64_t base; /* linear address of the buffer */
    size_t bytes;
    size_t threshold_records; /* records from the base; 0 = beyond the maximum */
    bool interrupt;           /* BTINT; false = circular */
    bool off_os;              /* do not store at CPL 0 */
    bool off_usr;             /* do not store at CPL > 0 */
    bool break_rules;         /* for checks: skip the rules about sizes, thresholds, alignment
                                 and filters, keep those about addresses and pages */
    const uint64_t *tables;   /* further CR3 values that will be in force while tracing: they
                                 must map area and buffer to the same frames; */
    size_t table_count;       /* the present one is always examined */
};

struct bts {
    struct ds_area *area;
    uint64_t base;
    size_t capacity;   /* whole records */
    uint64_t debugctl; /* what bts_start asks of the broker */
    size_t oldest;     /* slot of the oldest record, as long as the ring has not been full */
    volatile bool reading;
};

/*
 * Fills the BTS half of area and prepares the buffer (every slot empty); the PEBS half is left
 * alone. Touches no MSR. On any refusal nothing has changed, *why (may be NULL) names the rule.
 */
enum ds_error bts_setup(struct bts *bts, struct ds_area *area, const struct bts_config *config,
                        const char **why);

/* DS_AREA := area, then the DEBUGCTL bits. The return path of this call is traced. */
enum ds_error bts_start(struct bts *bts);
/* Clears the DEBUGCTL bits; DS_AREA stays. Idempotent. */
enum ds_error bts_stop(struct bts *bts);
/*
 * Stops, and sets DS_AREA to 0 if it is this area and its PEBS half is not at work. bts is then
 * as before bts_setup.
 */
enum ds_error bts_teardown(struct bts *bts);
bool bts_running(const struct bts *bts);

/* Traces exactly fn(arg): see broker_bracket. The trace is stopped before and after. */
enum ds_error bts_bracket(struct bts *bts, uint64_t (*fn)(void *), void *arg, uint64_t *value);

/* Number of the slot that the processor writes next, 0..capacity; DS_EIO if it is no slot. */
enum ds_error bts_index(const struct bts *bts, size_t *slot);
/*
 * True when every slot was written since the last reset or drain: older records may have been
 * overwritten, how many is not known.
 */
bool bts_wrapped(const struct bts *bts);
/* Records that can be read. */
size_t bts_count(const struct bts *bts);
/* Record i, 0 = the newest. DS_EINVAL when i >= bts_count. */
enum ds_error bts_get(const struct bts *bts, size_t i, struct bts_record *record);

/*
 * Runs of consecutive records, oldest first; at most two calls for one drain. The records lie
 * in the buffer itself, so they are aligned as its base is.
 */
typedef void bts_sink(void *context, const struct bts_record *records, size_t count);

/* A sink that copies; its context is a struct bts_record * that it advances. */
bts_sink bts_copy_sink;

/* Hands every record to sink, then resets. *count (may be NULL) is how many. */
enum ds_error bts_drain(struct bts *bts, bts_sink *sink, void *context, size_t *count);
/*
 * The same for the oldest records only, at most that many; the rest can still be read, and the
 * trace goes on after them.
 */
enum ds_error bts_drain_some(struct bts *bts, size_t most, bts_sink *sink, void *context,
                             size_t *count);

/* Index back to the base, the wrap mark renewed; old records stay in memory but are gone. */
enum ds_error bts_reset(struct bts *bts);
/* Reset, and every slot made empty. */
enum ds_error bts_clear(struct bts *bts);

/*
 * Software's own record: written where the processor would write its next one, as the processor
 * would. The trace is stopped (DS_EBUSY). Whoever starts it again looks at the threshold.
 */
enum ds_error bts_put(struct bts *bts, const struct bts_record *record);

/* True for a slot that no record was written to since bts_clear or bts_setup. */
bool bts_slot_empty(const struct bts_record *slot);

#endif
