/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tracing outside IA-32e mode: area, buffer and program below 1 MiB, the trace turned on and
 * off by the program itself (guest/legacy.asm), the records read in the layout of that mode.
 */
#ifndef HARNESS_LEGACY_TRACE_H
#define HARNESS_LEGACY_TRACE_H

#include "harness/trace.h"
#include "hw/legacy.h"

#define LEGACY_CAPACITY 40 /* records: more than any program leaves */
#define LEGACY_OFFSET   64 /* of the buffer in its first page; canaries lie before it */

struct legacy {
    struct run *run;
    const struct ds_layout *layout; /* that holds outside IA-32e mode */
    uint8_t *area, *buffer;         /* pages; the buffer proper begins at base */
    uint64_t base;
    uint32_t filter; /* in: further bits of DEBUGCTL */
    /* After legacy_execute and legacy_collect. */
    uint32_t result;                              /* of the program */
    struct trace_record records[LEGACY_CAPACITY]; /* cut to 32 bits */
    size_t count;
    uint64_t index;
};

enum dtes64 { DTES64_AS_IT_IS, WITHOUT_DTES64 };

extern const char *const legacy_mode_names[LEGACY_MODES];

/* Makes programs runnable; skips the check where no memory is to be had. */
void legacy_open(struct run *run);
/* Runs one as it is; its result. landing: NULL for long mode as it was. */
uint32_t legacy_call_program(const struct workload *w, enum legacy_mode mode,
                             const struct legacy_landing *landing);

/* Opens, and sets up area and buffer, empty; without DTES64 the check may be skipped. */
void legacy_prepare(struct run *run, struct legacy *l, enum dtes64 dtes64, size_t capacity);
/* Sets IA32_DS_AREA and runs the program. */
void legacy_execute(struct legacy *l, const struct workload *w, enum legacy_mode mode);
/* Reads the records of a buffer that has not wrapped. */
void legacy_collect(struct legacy *l);
/* Whether nothing was written there. */
bool legacy_canaries(const uint8_t *from, const uint8_t *to);

/* The program's labels; the array is overwritten by the next call. */
const struct expected_edge *legacy_edges(struct run *run, const struct workload *w,
                                         size_t *count);
/* All of it: runs the program by name, judges area, buffer and records, and closes. */
struct compare_result legacy_trace(struct run *run, struct legacy *l, const char *name,
                                   enum legacy_mode mode, enum dtes64 dtes64);

#endif
