/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Comparing a trace with what should have happened. Pure functions over arrays: no machine
 * access, tested on the host.
 */
#ifndef HARNESS_ORACLE_COMPARE_H
#define HARNESS_ORACLE_COMPARE_H

#include "guest/edge.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A record as the comparison sees it; layout equals a 64-bit BTS record. */
struct trace_record {
    uint64_t from, to, flags;
};

/* Which CPL decides whether a filtered record is stored (open: CPL-Qualified Branch Trace). */
enum crossing_rule {
    CROSSING_NEW,
    CROSSING_OLD,
    CROSSING_BOTH,
    CROSSING_EITHER,
    CROSSING_UNKNOWN
};

struct compare_options {
    /*
     * Records wholly outside are the kernel's own and passed over, but for OFF_OS, which must
     * suppress them. Arrivals anywhere (from_anywhere, to_anywhere) lie inside.
     */
    uint64_t guest_low, guest_high;
    bool keep_kernel;            /* ring-0 exact runs: nothing is passed over */
    bool off_os, off_usr;        /* filters in force */
    enum crossing_rule crossing; /* UNKNOWN: crossings under a filter may be there or not */
    bool prefix;                 /* the trace may end early (buffer full): no missing tail */
    /*
     * Open clauses already settled by an earlier trace, bit per edge_kind: optional edges of
     * these kinds are required, or never there.
     */
    uint32_t settled_present, settled_absent;
};

struct compare_result {
    bool same;
    size_t expected_index, record_index; /* first difference */
    const char *what; /* "missing record", "unexpected record", "from", "to" */
    size_t matched, passed_over;
    uint32_t alternative_seen; /* bit per edge_kind: matched by from_alt */
    uint32_t primary_seen;     /* bit per edge_kind with FROM_ALT: matched by from */
    uint32_t optional_seen, optional_absent; /* bit per edge_kind */
};

void compare_trace(const struct expected_edge *expected, size_t expected_count,
                   const struct trace_record *records, size_t record_count,
                   const struct compare_options *options, struct compare_result *result);

/*
 * The same against edges that another witness wrote down (the step oracle); kind and CPLs must
 * agree as well. Nothing is passed over or filtered.
 */
void compare_edges(const struct expected_edge *expected, size_t expected_count,
                   const struct expected_edge *seen, size_t seen_count,
                   const struct compare_options *options, struct compare_result *result);

struct trace_list {
    const struct trace_record *records;
    size_t count;
};

/*
 * The one rule under which the traces of the same run under OFF_OS alone and under OFF_USR
 * alone both are what is expected; CROSSING_UNKNOWN when none or several explain them. Settle
 * the open clauses first (settled_*), or a record that is missing explains itself.
 */
enum crossing_rule compare_infer_crossing(const struct expected_edge *expected,
                                          size_t expected_count, struct trace_list off_os,
                                          struct trace_list off_usr,
                                          const struct compare_options *options);
const char *crossing_rule_name(enum crossing_rule rule);

/*
 * Connectivity: from record A's to, straight-line code leads to record B's from. `fetch` copies
 * up to 15 code bytes at a linear address and returns how many it could; is_event tells whether
 * an address is an event's entry. Interrupt and exception records start at any instruction
 * boundary; that of INT n or INT3 at the instruction or right behind it. Only traces without
 * filters are connected. Returns the index of the first record that is not connected to the
 * one before it, or count when all are; *why names the reason.
 */
typedef size_t (*code_fetch)(void *context, uint64_t linear, uint8_t bytes[15]);
typedef bool (*event_entry)(void *context, uint64_t to);
size_t trace_connected(const struct trace_record *records, size_t count, code_fetch fetch,
                       event_entry is_event, void *context, const char **why);

/*
 * Each `from` decodes as a branch, or its `to` is an event's entry (is_event says so).
 * Returns the index of the first record that is neither, or count.
 */
size_t trace_sources(const struct trace_record *records, size_t count, code_fetch fetch,
                     event_entry is_event, void *context);

#endif
