/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which CPL decides about a branch that changes privilege while a filter is in force: inferred
 * from one run traced under OFF_OS and once more under OFF_USR.
 * Source: SDM Vol. 3, "CPL-Qualified Branch Trace Mechanism", which does not say.
 */
#include "harness/oracle/compare.h"

static bool explains(const struct expected_edge *expected, size_t expected_count,
                     const struct trace_list *trace, const struct compare_options *options)
{
    struct compare_result result;

    compare_trace(expected, expected_count, trace->records, trace->count, options, &result);
    return result.same;
}

enum crossing_rule compare_infer_crossing(const struct expected_edge *expected,
                                          size_t expected_count, struct trace_list off_os,
                                          struct trace_list off_usr,
                                          const struct compare_options *options)
{
    enum crossing_rule found = CROSSING_UNKNOWN;
    struct compare_options os = *options, usr = *options;

    os.off_os = usr.off_usr = true;
    os.off_usr = usr.off_os = false;
    for (enum crossing_rule rule = CROSSING_NEW; rule < CROSSING_UNKNOWN; rule++) {
        os.crossing = usr.crossing = rule;
        if (!explains(expected, expected_count, &off_os, &os) ||
            !explains(expected, expected_count, &off_usr, &usr))
            continue;
        if (found != CROSSING_UNKNOWN)
            return CROSSING_UNKNOWN;
        found = rule;
    }
    return found;
}

const char *crossing_rule_name(enum crossing_rule rule)
{
    static const char *const names[] = {"new", "old", "both", "either", "unknown"};

    return rule <= CROSSING_UNKNOWN ? names[rule] : "unknown";
}
