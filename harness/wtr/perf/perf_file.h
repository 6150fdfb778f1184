/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The container of perf.data, in memory: records, event attributes, feature sections.
 * Source: Linux, "perf.data format", and include/uapi/linux/perf_event.h; what stock perf
 * accepts was tried.
 */
#ifndef HARNESS_WTR_PERF_PERF_FILE_H
#define HARNESS_WTR_PERF_PERF_FILE_H

#include "harness/wtr/core/bytes.h"
#include "harness/wtr/core/text.h"
#include "harness/wtr/core/util.h"

/* The attribute size every perf of the last decade takes. */
#define PERF_ATTR_BYTES 112

struct perf_attr {
    uint32_t type, bytes;
    uint64_t config, period, sample_type, read_format, bits;
    uint64_t zeros_1[3];
    uint64_t branch_sample_type; /* at 72 */
    uint64_t user_registers;
    uint64_t zeros_2[3];
};
_Static_assert(sizeof(struct perf_attr) == PERF_ATTR_BYTES, "perf_event_attr");

enum {
    PERF_SAMPLE_IP = 1,
    PERF_SAMPLE_TID = 2,
    PERF_SAMPLE_TIME = 4,
    PERF_SAMPLE_ADDR = 8,
    PERF_SAMPLE_CALLCHAIN = 0x20,
    PERF_SAMPLE_PERIOD = 0x100,
    PERF_SAMPLE_BRANCH_STACK = 0x800,
    PERF_SAMPLE_REGS_USER = 0x1000,
    PERF_SAMPLE_IDENTIFIER = 0x10000
};

/* Types of records. */
enum {
    PERF_MMAP = 1,
    PERF_COMM = 3,
    PERF_EXIT = 4,
    PERF_FORK = 7,
    PERF_SAMPLE = 9,
    PERF_AUX = 11,
    PERF_ITRACE_START = 12,
    PERF_BUILD_ID = 67,
    PERF_FINISHED_ROUND = 68,
    PERF_AUXTRACE_INFO = 70,
    PERF_AUXTRACE = 71
};

void put_padded_string(struct bytes *to, const char *string); /* NUL, zeros to 8 */

/* An event of the file. */
struct perf_event {
    struct perf_attr attr;
    uint64_t id;
    const char *name;
};

struct perf_file {
    const struct perf_event *events;
    size_t event_count;
    struct bytes data;
    struct bytes build_ids, arguments; /* ready contents of their sections, may be empty */
    size_t open_record;
};

/* A record's body is put to file->data between these. */
void perf_begin(struct perf_file *file, uint32_t type, uint16_t misc);
void perf_end(struct perf_file *file);

/* What ends every record of the kernel: who, when, which event. */
void perf_trailer(struct perf_file *file, uint32_t pid, uint32_t tid, uint64_t time,
                  uint64_t id);

/* An entry of the build-id section. */
void perf_build_id(struct perf_file *file, const uint8_t *id, size_t id_bytes,
                   const char *path);

void perf_write(struct perf_file *file, struct text *out);
void perf_free(struct perf_file *file);

#endif
