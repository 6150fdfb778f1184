/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The Debug Store as it lies in memory: management area and BTS record, in the 64-bit and the
 * 32-bit layout, and a table that describes both to code that must handle either.
 * Source: SDM Vol. 3, "BTS and DS Save Area" and "64 Bit Format of the DS Save Area".
 */
#ifndef DS_LAYOUT_H
#define DS_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

/* One area gets a zeroed page of its own: later PEBS formats keep lengthening the tail. */
#define DS_AREA_BYTES 4096u

/*
 * 64-bit layout: used in IA-32e mode, and in every mode where CPUID enumerates DTES64. The
 * processor moves the two index fields (and PEBS resets counters); all else is input to it.
 */
struct ds_area {
    uint64_t bts_base;      /* linear address of the first record */
    uint64_t bts_index;     /* linear address of the next record to be written */
    uint64_t bts_maximum;   /* first byte after the buffer */
    uint64_t bts_threshold; /* interrupt when the index matches or exceeds it */
    uint64_t pebs_base;
    uint64_t pebs_index;
    uint64_t pebs_maximum;
    uint64_t pebs_threshold;
    uint64_t pebs_reset[32]; /* general counters: 1 on NetBurst and Core, 4 from Nehalem */
    uint64_t pebs_fixed_reset[16]; /* where the PEBS format has them this far out */
};
_Static_assert(offsetof(struct ds_area, bts_base) == 0x00, "BTS buffer base");
_Static_assert(offsetof(struct ds_area, bts_index) == 0x08, "BTS index");
_Static_assert(offsetof(struct ds_area, bts_maximum) == 0x10, "BTS absolute maximum");
_Static_assert(offsetof(struct ds_area, bts_threshold) == 0x18, "BTS interrupt threshold");
_Static_assert(offsetof(struct ds_area, pebs_base) == 0x20, "PEBS buffer base");
_Static_assert(offsetof(struct ds_area, pebs_index) == 0x28, "PEBS index");
_Static_assert(offsetof(struct ds_area, pebs_maximum) == 0x30, "PEBS absolute maximum");
_Static_assert(offsetof(struct ds_area, pebs_threshold) == 0x38, "PEBS interrupt threshold");
_Static_assert(offsetof(struct ds_area, pebs_reset) == 0x40, "first PEBS counter reset");
_Static_assert(offsetof(struct ds_area, pebs_fixed_reset) == 0x140, "fixed counter resets");
_Static_assert(sizeof(struct ds_area) <= DS_AREA_BYTES, "the area fits its page");

struct bts_record {
    uint64_t from;  /* linear address of the branch, or the return address of an interrupt */
    uint64_t to;    /* linear address of the target */
    uint64_t flags; /* bit 4: predicted, on processors that support it */
};
_Static_assert(offsetof(struct bts_record, from) == 0x00, "last branch from");
_Static_assert(offsetof(struct bts_record, to) == 0x08, "last branch to");
_Static_assert(offsetof(struct bts_record, flags) == 0x10, "branch predicted");
_Static_assert(sizeof(struct bts_record) == 24, "a 64-bit record");

#define BTS_FLAGS_PREDICTED (1ull << 4)

/* 32-bit layout: outside IA-32e mode on processors without DTES64. */
struct ds_area32 {
    uint32_t bts_base;
    uint32_t bts_index;
    uint32_t bts_maximum;
    uint32_t bts_threshold;
    uint32_t pebs_base;
    uint32_t pebs_index;
    uint32_t pebs_maximum;
    uint32_t pebs_threshold;
    uint64_t pebs_reset; /* one counter, 8 bytes wide in this layout too */
    uint64_t reserved;
};
_Static_assert(offsetof(struct ds_area32, bts_base) == 0x00, "BTS buffer base");
_Static_assert(offsetof(struct ds_area32, bts_index) == 0x04, "BTS index");
_Static_assert(offsetof(struct ds_area32, bts_maximum) == 0x08, "BTS absolute maximum");
_Static_assert(offsetof(struct ds_area32, bts_threshold) == 0x0C, "BTS interrupt threshold");
_Static_assert(offsetof(struct ds_area32, pebs_base) == 0x10, "PEBS buffer base");
_Static_assert(offsetof(struct ds_area32, pebs_index) == 0x14, "PEBS index");
_Static_assert(offsetof(struct ds_area32, pebs_maximum) == 0x18, "PEBS absolute maximum");
_Static_assert(offsetof(struct ds_area32, pebs_threshold) == 0x1C, "PEBS interrupt threshold");
_Static_assert(offsetof(struct ds_area32, pebs_reset) == 0x20, "PEBS counter reset");
_Static_assert(sizeof(struct ds_area32) == 0x30, "drawn to 30H");

struct bts_record32 {
    uint32_t from;
    uint32_t to;
    uint32_t flags;
};
_Static_assert(sizeof(struct bts_record32) == 12, "a 32-bit record");

/* The pointer fields of an area, in their order. */
enum ds_field {
    DS_BTS_BASE,
    DS_BTS_INDEX,
    DS_BTS_MAXIMUM,
    DS_BTS_THRESHOLD,
    DS_PEBS_BASE,
    DS_PEBS_INDEX,
    DS_PEBS_MAXIMUM,
    DS_PEBS_THRESHOLD,
    DS_FIELD_COUNT,
};

struct ds_layout {
    const char *name;
    unsigned field_bytes;  /* width of each pointer field, and of each word of a record */
    unsigned record_bytes; /* one BTS record: from, to, flags */
    unsigned reset_offset; /* first PEBS counter reset; resets are 8 bytes in every layout */
};
extern const struct ds_layout ds_layout_64;
extern const struct ds_layout ds_layout_32;

/* Reads or writes one pointer field of an area; the address needs no alignment. */
uint64_t ds_layout_get(const struct ds_layout *layout, const void *area, enum ds_field field);
void ds_layout_put(const struct ds_layout *layout, void *area, enum ds_field field,
                   uint64_t value);

/* Translates one raw record; 32-bit words are zero-extended. */
struct bts_record ds_layout_record_get(const struct ds_layout *layout, const void *raw);

#endif
