/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bodies of trace records: whether they are sound, and what they say.
 */
#ifndef HARNESS_WTR_CORE_RECORDS_H
#define HARNESS_WTR_CORE_RECORDS_H

#include "harness/wtr/core/trace.h"

/* Stands in the index for a place where records are damaged. */
#define TRACE_GAP 0xFFFFFFFFFFFFFFFFull

/* The body fits its kind. Unknown kinds are sound. Size and check were looked at before. */
bool record_sound(const struct wtr_record *record);

/* How many branches a sound record holds. */
uint64_t record_branches(const struct wtr_record *record);

/* Bytes of each sample, without its chain. */
size_t record_sample_bytes(const struct wtr_samples *head);

/* Calls the visitor for a sound record; *index counts branches. */
void record_visit(const struct wtr_record *record, uint64_t *index,
                  const struct visitor *visitor, void *context);

/* "lost", "image", ...; "unknown" for any other number. */
const char *record_name(unsigned kind);

#endif
