/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What holds for every unfiltered trace, whatever ran: straight-line code leads from each
 * record's to to the next record's from, and that from is a branch or an event.
 */
#include "harness/oracle/compare.h"
#include "harness/oracle/decode.h"

/* Straight-line code longer than this between two branches is not credible. */
#define WALK_INSTRUCTIONS_MAX 100000

static bool always_transfers(const struct decoded *d)
{
    return d->branch != BRANCH_NONE && d->branch != BRANCH_JCC && d->branch != BRANCH_LOOP;
}

/* Whether from of an event may be the return address: the manual does not settle it. */
static bool software_interrupt(const struct decoded *d)
{
    return d->branch == BRANCH_INT || d->branch == BRANCH_INT3 || d->branch == BRANCH_INT1;
}

/* NULL when code runs straight from `at` to the instruction at `end`, else why not. */
static const char *straight(uint64_t at, uint64_t end, bool to_event, code_fetch fetch,
                            void *context)
{
    uint8_t bytes[15];
    struct decoded d;

    for (unsigned i = 0; at != end; i++) {
        if (at > end)
            return "from lies before the instruction it should follow";
        if (i == WALK_INSTRUCTIONS_MAX)
            return "no branch for too long";
        if (!decode(bytes, fetch(context, at, bytes), &d))
            return "code between the records does not decode";
        at += d.length;
        if (always_transfers(&d) && !(to_event && software_interrupt(&d) && at == end))
            return "a branch between the records left no record";
    }
    return NULL;
}

size_t trace_connected(const struct trace_record *records, size_t count, code_fetch fetch,
                       event_entry is_event, void *context, const char **why)
{
    for (size_t i = 1; i < count; i++) {
        const char *reason = straight(records[i - 1].to, records[i].from,
                                      is_event(context, records[i].to), fetch, context);

        if (reason) {
            *why = reason;
            return i;
        }
    }
    return count;
}

size_t trace_sources(const struct trace_record *records, size_t count, code_fetch fetch,
                     event_entry is_event, void *context)
{
    uint8_t bytes[15];
    struct decoded d;

    for (size_t i = 0; i < count; i++) {
        if (is_event(context, records[i].to))
            continue;
        if (!decode(bytes, fetch(context, records[i].from, bytes), &d) ||
            d.branch == BRANCH_NONE)
            return i;
    }
    return count;
}
