/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records that say what they are. A ring holds what the processor stored and marks that
 * software wrote between; a reader gets a stream in which each record carries its kind and its
 * size, so that one that knows fewer kinds passes over the rest.
 */
#ifndef DS_RECORDS_H
#define DS_RECORDS_H

#include "ds/layout.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum record_kind {
    RECORD_BRANCH = 1,
    RECORD_ARRIVES,   /* detail: task that runs from here on; clock */
    RECORD_DEPARTS,   /* detail: task that ran up to here; clock */
    RECORD_LOST,      /* count of records gone here, or RECORD_UNKNOWN */
    RECORD_WRAP,      /* the ring was full: what follows is the newest of an unknown number */
    RECORD_MODE,      /* detail: privilege level in 7:0, interrupt flag in bit 8 */
    RECORD_MIGRATE,   /* detail: processor left in 15:0, processor reached in 31:16 */
    RECORD_EXCEPTION, /* detail: vector; address and error code */
    RECORD_KINDS,
};

#define RECORD_UNKNOWN UINT64_MAX

/* The detail of RECORD_MODE. */
#define RECORD_MODE_OF(cpl, interrupts) ((uint32_t)(cpl) | ((interrupts) ? 0x100u : 0))
#define RECORD_MODE_UNKNOWN             UINT32_MAX

struct record {
    uint16_t kind;
    uint16_t bytes; /* of the whole record, a multiple of 8 */
    uint32_t detail;
    union {
        struct {
            uint64_t from, to, flags;
        } branch;
        uint64_t clock;
        uint64_t count;
        struct {
            uint64_t address, error;
        } exception;
    };
};
#define RECORD_HEADER_BYTES offsetof(struct record, branch)
_Static_assert(offsetof(struct record, branch) == 8, "kind, size, detail");
_Static_assert(sizeof(struct record) == 32, "a branch is the longest");

/* Bytes of a record of that kind; 0 when the kind is not known. */
size_t record_bytes(enum record_kind kind);

/*
 * A mark as it lies in the ring, and back. A mark's first word is no address under 48 or 57
 * linear bits, whatever the task, the clock or the count: no branch can be taken for one. False
 * when the slot is none.
 */
struct bts_record record_to_mark(const struct record *record);
bool record_from_mark(const struct bts_record *slot, struct record *record);

/* Which branches a reader wants. */
struct record_filter {
    bool inside_only; /* those with both ends in the range: none that crosses a privilege */
    uint64_t low, high;
};

/* What became of the slots. */
struct record_count {
    size_t bytes;    /* written */
    size_t records;  /* the same in records */
    size_t filtered; /* branches that the filter held back */
    size_t empty;    /* slots without anything */
    size_t taken;    /* slots used up: fewer than given when the room ran out */
};

/*
 * Translates count slots, oldest first, into a stream of at most room bytes. filter may be
 * NULL.
 */
struct record_count records_translate(const struct bts_record *slots, size_t count,
                                      const struct record_filter *filter, void *stream,
                                      size_t room);

/* Appends one record. False, with nothing written, when the room is too small. */
bool records_append(void *stream, size_t room, size_t *used, const struct record *record);

/*
 * The record at *at, which then moves to the next one. False at the end, and for a size that
 * is none: below the header's, no multiple of 8, or past the end. A kind that is not known
 * comes with as much of it as struct record holds.
 */
bool records_next(const void *stream, size_t bytes, size_t *at, struct record *record);

#endif
