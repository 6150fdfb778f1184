/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tracing inside a check: a DS area and a buffer between canaries and unmapped guard pages, a
 * guest to run workloads in, and the judgement of the result. Whatever a check opens here is
 * closed when the check ends, however it ends.
 */
#ifndef HARNESS_TRACE_H
#define HARNESS_TRACE_H

#include "ds/bts.h"
#include "ds/pmi.h"
#include "guest/run.h"
#include "harness/check.h"
#include "harness/compare.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_RECORDS_MAX 32768
#define CANARY_BYTE       0xC5

struct trace_setup {
    size_t records;           /* capacity; 0 = 4096 */
    size_t threshold_records; /* from the base; 0 = beyond the maximum */
    bool interrupt;           /* BTINT */
    bool off_os, off_usr;
    uint64_t extra_bytes; /* the buffer is this much longer than its records (break_rules) */
    uint64_t base_offset; /* from the start of its first page; 0 = 64 */
    bool break_rules;     /* as in struct bts_config */
    size_t keep;          /* room in records[]; 0 = the capacity */
};

struct trace {
    struct run *run;
    struct trace_setup setup;
    struct ds_area *area; /* linear; its page is otherwise filled with CANARY_BYTE */
    struct bts bts;
    uint64_t base, end;     /* the buffer's linear range */
    uint64_t window, pages; /* of the buffer, guards not counted */
    struct ds_area before;  /* the area as set up */
    uint64_t argument;      /* of the workload that ran */
    /* After trace_collect: oldest first. */
    struct trace_record *records;
    size_t count;
    uint64_t index; /* BTS index as the processor left it */
    bool wrapped;
};

/* Opens area, buffer and canaries; ends the check as an error when it cannot. */
void trace_open(struct run *run, struct trace *t, const struct trace_setup *setup);

/* Copies the records out; the trace must be stopped. Also checks canaries and the area. */
void trace_collect(struct trace *t);

/* Asserts that nothing but the index changed in the area, and no canary around the buffer. */
void trace_expect_untouched(struct trace *t, const char *when);

/* The guest of this check, opened on first use. */
struct guest *trace_guest(struct run *run);

/* Traces fn(arg) in ring 0, exactly: bracket CALL, fn's own branches, its RET. */
void trace_call(struct trace *t, uint64_t (*fn)(void *), void *arg);

/* Runs a workload in ring 0 or 3 under the trace and collects. NULL run fields: defaults. */
void trace_workload(struct trace *t, const struct workload *w, unsigned ring,
                    struct guest_run *with);

/* Judgement */

/* The workload's labels, resolved for where it ran. The array belongs to the suite. */
const struct expected_edge *trace_expected(struct run *run, const struct workload *w,
                                           unsigned ring, uint64_t argument, size_t *count);

/*
 * Asserts that the collected trace is the expected one, record by record, is connected, and
 * comes from branches; on a difference the evidence goes into the report. Alternatives seen
 * are returned in *result (may be NULL).
 */
bool trace_expect(struct trace *t, const struct expected_edge *expected, size_t count,
                  unsigned ring, struct compare_result *result);
/* Record by record only: for events whose own record is open, which may leave gaps. */
bool trace_match(struct trace *t, const struct expected_edge *expected, size_t count,
                 unsigned ring, struct compare_result *result);
/* trace_expect with the labels of w. */
bool trace_expect_workload(struct trace *t, const struct workload *w, unsigned ring,
                           struct compare_result *result);
/* The two generic conditions alone: connected, and every from a branch or an event. */
bool trace_expect_sane(struct trace *t);
/* The second alone, for traces that a filter has left gaps in. */
bool trace_expect_sources(struct trace *t);

/* "guest:jcc.taken+1f", "vector.14", "bracket.call", ...; returns out. */
const char *trace_symbol(uint64_t address, char *out, size_t bytes);

/*
 * What trace_expect would object to, or NULL; asserts and prints nothing. Where it is goes into
 * *result when the comparison says it.
 */
const char *trace_difference(struct trace *t, const struct expected_edge *expected,
                             size_t count, unsigned ring, struct compare_result *result);

/* Puts records and expectation around the first difference into the report. */
void trace_evidence(struct trace *t, const struct expected_edge *expected, size_t count,
                    const struct compare_result *result);

/* A workload by name; ends the check as an error when there is none. */
const struct workload *trace_find(struct run *run, const char *name);

#endif
