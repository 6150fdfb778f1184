/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PEBS records: a table of their formats, and a reader that turns a raw record of any of them
 * into one structure without trusting a byte of it.
 * Source: SDM Vol. 3, "PEBS Record Format", "Processor Event Based Sampling (PEBS)" of each
 * microarchitecture, "Adaptive PEBS".
 */
#ifndef DS_PEBS_FORMAT_H
#define DS_PEBS_FORMAT_H

#include "ds/layout.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which fields of a sample the record had. */
enum pebs_field {
    PEBS_IP = 1 << 0,          /* behind the instruction, or at it: IA32_PERF_CAPABILITIES */
    PEBS_EVENTING_IP = 1 << 1, /* the instruction that caused the event, in any case */
    PEBS_FLAGS = 1 << 2,
    PEBS_GPRS = 1 << 3,
    PEBS_STATUS = 1 << 4,     /* IA32_PERF_GLOBAL_STATUS */
    PEBS_APPLICABLE = 1 << 5, /* counters whose events the record stands for */
    PEBS_TSC = 1 << 6,
    PEBS_MEMORY = 1 << 7, /* data address, source and latency */
    PEBS_TSX = 1 << 8,
    PEBS_XMMS = 1 << 9,
    PEBS_LBRS = 1 << 10,
};

/* General registers in the order of their numbers in an instruction. */
enum pebs_gpr {
    PEBS_RAX,
    PEBS_RCX,
    PEBS_RDX,
    PEBS_RBX,
    PEBS_RSP,
    PEBS_RBP,
    PEBS_RSI,
    PEBS_RDI
};
#define PEBS_GPR_COUNT 16

struct pebs_sample {
    uint32_t valid; /* enum pebs_field; what is not valid is 0 */
    uint32_t bytes; /* of the raw record */
    uint64_t ip, eventing_ip, flags;
    uint64_t gprs[PEBS_GPR_COUNT];
    uint64_t status, applicable, tsc;
    uint64_t data_address, data_source, latency, tsx;
    /* Where they lie in the raw record, which must outlive the sample: too long to copy. */
    const uint8_t *xmms, *lbrs;
    unsigned lbr_count;
};

#define PEBS_XMM_COUNT 16
struct pebs_xmm {
    uint64_t low, high;
};
struct pebs_branch {
    uint64_t from, to, info; /* as in the registers of the last-branch stack */
};
/* Register or branch number i, newest first; all 0 where the record has none. */
struct pebs_xmm pebs_sample_xmm(const struct pebs_sample *sample, unsigned i);
struct pebs_branch pebs_sample_branch(const struct pebs_sample *sample, unsigned i);

/* Where a fixed format has a quadword; 0 = nowhere (all of these lie behind the registers). */
struct pebs_format {
    unsigned code; /* IA32_PERF_CAPABILITIES 11:8 */
    const char *name;
    unsigned word_bytes;   /* width of each field */
    unsigned record_bytes; /* 0: adaptive, each record says its own size */
    unsigned registers;    /* general ones: 16, or 8 in the 32-bit layout */
    uint8_t status, applicable, memory, eventing_ip, tsx, tsc;
};

/* NULL for a code that this table does not have. */
const struct pebs_format *pebs_format_find(const struct ds_layout *layout, unsigned code);

/* Groups of an adaptive record: bits of MSR_PEBS_DATA_CFG, and of the record's own header. */
#define PEBS_GROUP_MEMORY (1ull << 0)
#define PEBS_GROUP_GPRS   (1ull << 1)
#define PEBS_GROUP_XMMS   (1ull << 2)
#define PEBS_GROUP_LBRS   (1ull << 3) /* their number less one in bits 31:24 */
/* The group of so many branches, 1 to 256. */
#define PEBS_GROUP_BRANCHES(count) (PEBS_GROUP_LBRS | ((count)-1ull) << 24)
#define PEBS_GROUPS                                                                            \
    (PEBS_GROUP_MEMORY | PEBS_GROUP_GPRS | PEBS_GROUP_XMMS | PEBS_GROUP_BRANCHES(256))

/* The longest record that there is: every group, 256 branches. */
#define PEBS_RECORD_MOST (32u + 32u + 144u + 256u + 256u * 24u)

/* Bytes of a record; groups matter to an adaptive format only. 0: a group is not known. */
size_t pebs_format_bytes(const struct pebs_format *format, uint64_t groups);

/*
 * The record at *at, which then moves to the next one. False at the end, and for what is no
 * record: cut short, of a group that is not known, or of a size that its groups do not make.
 */
bool pebs_next(const struct pebs_format *format, const void *raw, size_t bytes, size_t *at,
               struct pebs_sample *sample);

/* The best that a sample knows about where it was taken: eventing IP, else IP. */
uint64_t pebs_sample_address(const struct pebs_sample *sample);

#endif
