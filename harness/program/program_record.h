/* SPDX-License-Identifier: BSD-2-Clause */
/* The trace of a program on its way: records built in memory, until that goes into the file. */
#ifndef HARNESS_PROGRAM_PROGRAM_RECORD_H
#define HARNESS_PROGRAM_PROGRAM_RECORD_H

#include "ds/pmi.h"
#include "harness/tracefile/wtr_format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct recorder {
    uint8_t *memory;
    size_t bytes, used;
    uint64_t records, branches;       /* in the file and in memory; for END */
    uint64_t left_out;                /* branches that were filtered */
    uint64_t dropped;                 /* branches for which there was no room */
    bool dropping;                    /* the file can take no more */
    bool crossings;                   /* keep branches from or to the kernel */
    uint64_t kernel_low, kernel_high; /* where the kernel's code lies */
    const struct pmi *pmi;            /* whose losses become records */
    uint64_t losses;                  /* of these, those that have one */
};

/* One record of task 1; false when it does not fit. */
bool recorder_put(struct recorder *r, enum wtr_kind kind, const void *fixed, size_t fixed_bytes,
                  const void *tail, size_t tail_bytes);
void recorder_time(struct recorder *r, enum wtr_kind kind);
void recorder_lost(struct recorder *r, uint64_t count, enum wtr_reason reason);
void recorder_output(struct recorder *r, unsigned stream, const uint8_t *bytes, size_t count);

/* Gets the records out of the BTS buffer; its context is the recorder. */
bts_sink recorder_sink;

/* Bytes that a drain of so many branches, and what may come with it, can need. */
size_t recorder_worst(size_t branches);

#endif
