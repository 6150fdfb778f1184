/* SPDX-License-Identifier: BSD-2-Clause */
/* Why a set-up is refused: one entry for each rule, with its error and its words. */
#ifndef DS_REFUSAL_H
#define DS_REFUSAL_H

#include "ds/error.h"

/*
 * name, error, reason. Area and buffer rows of the range rules keep enum range_fault's order.
 */
#define DS_REFUSALS(X)                                                                         \
    X(NONE, DS_OK, "none")                                                                     \
    X(RUNNING, DS_EBUSY, "a trace is running on this half")                                    \
    X(NO_AREA, DS_EINVAL, "no DS area given")                                                  \
    X(AREA_ALIGNMENT, DS_EINVAL, "the DS area is not aligned to 8 bytes")                      \
    X(NO_BUFFER, DS_EINVAL, "no buffer given")                                                 \
    X(BASE_ALIGNMENT, DS_EINVAL, "the buffer does not start on a doubleword")                  \
    X(NOT_WHOLE, DS_EINVAL, "the buffer is not a whole number of records")                     \
    X(NO_PEBS, DS_EOPNOTSUPP, "the processor has no PEBS")                                     \
    X(FORMAT, DS_EOPNOTSUPP, "the PEBS record format is not known")                            \
    X(GROUPS, DS_EINVAL, "groups of a PEBS record that cannot be asked for")                   \
    X(NO_COUNTER, DS_EINVAL, "no counter given")                                               \
    X(COUNTERS_MANY, DS_EINVAL, "more counters than there are")                                \
    X(COUNTER_ABSENT, DS_EINVAL, "the processor has no such counter")                          \
    X(COUNTER_TWICE, DS_EINVAL, "a counter is given twice")                                    \
    X(COUNTER_NO_PEBS, DS_EOPNOTSUPP, "the counter cannot sample on this processor")           \
    X(COUNTER_EVENT, DS_EOPNOTSUPP, "the counter cannot count that event")                     \
    X(RESET_ZERO, DS_EINVAL, "the counter reset is 0")                                         \
    X(RESET_WIDTH, DS_EINVAL, "the counter reset is wider than the counter")                   \
    X(RESET_SIGN, DS_EINVAL, "the counter reset is not negative")                              \
    X(RESET_REACH, DS_EINVAL, "the counter reset cannot be written: 31 bits and a sign")       \
    X(NO_RINGS, DS_EINVAL, "neither user nor kernel: nothing would be counted")                \
    X(TOO_SMALL, DS_EINVAL, "the buffer is smaller than two records")                          \
    X(TOO_LONG, DS_EINVAL, "the buffer is longer than the page that this processor takes")     \
    X(THRESHOLD_OUTSIDE, DS_EINVAL, "the threshold leaves no record behind it")                \
    X(THRESHOLD_CIRCULAR, DS_EINVAL, "a circular buffer with the threshold inside")            \
    X(NO_CPL_FILTER, DS_EOPNOTSUPP, "the processor has no CPL filter")                         \
    X(NOTHING_STORED, DS_EINVAL, "both CPL filters: nothing would be stored")                  \
    X(OVERLAP, DS_EINVAL, "the buffer overlaps the DS area")                                   \
    X(OTHER_HALF, DS_EINVAL, "the buffer overlaps the other half's")                           \
    X(AREA_NOT_CANONICAL, DS_EFAULT, "the DS area is not at a canonical address")              \
    X(AREA_WRAPS, DS_EFAULT, "the DS area runs over the top of the address space")             \
    X(AREA_EDGE, DS_EFAULT, "the DS area runs over the canonical edge")                        \
    X(AREA_NOT_MAPPED, DS_EFAULT, "the DS area is not mapped")                                 \
    X(AREA_USER, DS_EFAULT, "the DS area is on a user page")                                   \
    X(AREA_READ_ONLY, DS_EFAULT, "the DS area is on a read-only page")                         \
    X(AREA_DEVICE, DS_EFAULT, "the DS area covers the local APIC's registers")                 \
    X(AREA_NOT_DIRTY, DS_EFAULT, "the DS area's accessed and dirty bits are not set")          \
    X(AREA_CODE, DS_EFAULT, "the DS area is on a page with code")                              \
    X(AREA_ELSEWHERE, DS_EFAULT, "other tables map another frame at the DS area")              \
    X(BUFFER_NOT_CANONICAL, DS_EFAULT, "the buffer is not at a canonical address")             \
    X(BUFFER_WRAPS, DS_EFAULT, "the buffer runs over the top of the address space")            \
    X(BUFFER_EDGE, DS_EFAULT, "the buffer runs over the canonical edge")                       \
    X(BUFFER_NOT_MAPPED, DS_EFAULT, "the buffer is not mapped")                                \
    X(BUFFER_USER, DS_EFAULT, "the buffer is on a user page")                                  \
    X(BUFFER_READ_ONLY, DS_EFAULT, "the buffer is on a read-only page")                        \
    X(BUFFER_DEVICE, DS_EFAULT, "the buffer covers the local APIC's registers")                \
    X(BUFFER_NOT_DIRTY, DS_EFAULT, "the buffer's accessed and dirty bits are not set")         \
    X(BUFFER_CODE, DS_EFAULT, "the buffer is on a page with code")                             \
    X(BUFFER_ELSEWHERE, DS_EFAULT, "other tables map another frame at the buffer")

enum ds_refusal {
#define X(name, error, reason) DS_REFUSED_##name,
    DS_REFUSALS(X)
#undef X
        DS_REFUSAL_COUNT,
};

enum ds_error ds_refusal_error(enum ds_refusal refusal);
const char *ds_refusal_reason(enum ds_refusal refusal);

#endif
