/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sampling (PEBS) inside a check: a buffer between canaries, counters that write records into
 * it, and the steps of the oracle to hold the records against. The fields of the area are
 * written as they are, past ds/: here the raw behaviour is the question.
 */
#ifndef HARNESS_SAMPLING_H
#define HARNESS_SAMPLING_H

#include "ds/pebs_format.h"
#include "harness/counting.h"

#include <stddef.h>
#include <stdint.h>

struct sampling_setup {
    size_t records;           /* capacity; 0 = 64 */
    size_t threshold_records; /* from the base; 0 = beyond the maximum */
    uint64_t extra_bytes;     /* the buffer is this much longer than its records */
    uint64_t groups;          /* of adaptive records, besides the registers */
    bool bare;                /* adaptive: no registers either */
    bool btint;               /* the BTS half: BTINT, and threshold_branches from its base */
    size_t threshold_branches;
};

struct sampling {
    struct run *run;
    struct trace trace;  /* the area; its BTS half is set up and off */
    struct trace buffer; /* whose buffer is that of PEBS; its own area serves nobody */
    struct counting counting;
    const struct pebs_format *format;
    size_t record_bytes;
    uint64_t groups; /* of adaptive records */
    uint64_t base, end;
    uint64_t enable; /* counters that write records */
    uint64_t index;  /* as the processor left it */
    unsigned late;   /* events that pass between an overflow and the recorded one; 0 = none */
    struct ds_area before;
};

/*
 * Opens everything; DS_AREA is set, nothing counts. Skips the check where the record format is
 * not known.
 */
void sampling_open(struct run *run, struct sampling *s, const struct sampling_setup *setup);

/*
 * Adds a counter that writes records: overflow after `first` events, and the reset field set
 * for one after `again`. A counter that is to count without records is counting_add's.
 */
void sampling_add(struct sampling *s, unsigned counter, enum pmc_event event, unsigned flags,
                  uint64_t first, uint64_t again);

/*
 * A processor needs time to arm: "finite delay" in SDM Vol. 3, "Precise Distribution of
 * Instructions Retired (PDIR)". Where the record is not of the next event, what is asked for
 * by its number cannot be had: skips the check.
 */
void sampling_need_exact(struct sampling *s);
/* As many records as that; fewer are right too where the processor arms late. */
void sampling_expect_count(struct sampling *s, uint64_t exact, const char *what);

/* No counter, the buffer empty: for one more run with the same set-up. */
void sampling_restart(struct sampling *s);

/* Runs fn(arg), or a workload, with PEBS and the counters on; the index is read after it. */
uint64_t sampling_call(struct sampling *s, uint64_t (*fn)(void *), void *arg);
void sampling_workload(struct sampling *s, const struct workload *w, unsigned ring,
                       struct guest_run *with);

/* --- bench.loop in ring 3, whose length the argument sets */

/* With one counter of instructions, the same period first and later. */
void sampling_open_one(struct run *run, struct sampling *s, const struct sampling_setup *setup,
                       uint64_t period);
const struct workload *sampling_loop_workload(struct run *run);
void sampling_loop(struct sampling *s, uint64_t rounds);
/* Its instructions, from the oracle. */
uint64_t sampling_loop_length(struct run *run, uint64_t rounds);
/* Records of so many events: each takes a period to arm and one event more. */
static inline uint64_t sampling_records(uint64_t events, uint64_t period)
{
    return events / (period + 1);
}

/* --- the result */

/* Records that the index says there are. */
size_t sampling_count(const struct sampling *s);
/* Forgets the newest record, if there is one. */
void sampling_drop_last(struct sampling *s);
/* Record number i; ends the check as a failure when the bytes there are none. */
struct pebs_sample sampling_record(struct sampling *s, size_t i);

/* Asserts that nothing changed but the PEBS index, and no canary; and that from the index on
 * the buffer is as it was. */
void sampling_expect_untouched(struct sampling *s, const char *when);

/* --- what the oracle saw */

struct sampled_step {
    uint64_t at, rip, flags; /* the instruction; after it */
    uint64_t gprs[PEBS_GPR_COUNT];
};
#define SAMPLING_STEPS 2048

struct sampled_steps {
    const struct sampled_step *steps; /* the suite's, until the next call */
    size_t count;                     /* at most SAMPLING_STEPS */
    uint64_t instructions;            /* that ring 3 has retired */
    bool
        whole; /* every one but the last is a step: it stayed in ring 3, and was never silent */
};
/* What the oracle sees of a workload in ring 3. */
struct sampled_steps sampling_steps(struct run *run, const struct workload *w,
                                    uint64_t argument);
/*
 * Asserts that every record is a step of the workload, in their order: the addresses as the
 * processor's trap bit and format say, flags and all registers. Returns how many records.
 */
size_t sampling_match(struct sampling *s, const struct workload *w,
                      const struct sampled_steps *steps);

#endif
