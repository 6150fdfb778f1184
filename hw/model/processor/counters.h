/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The counters of a modelled processor: their state.
 *
 * A counter's place is its number here: the general ones first, then the fixed ones. Its bit
 * in the global registers is counter_bit(). Source: SDM Vol. 3, "Architectural Performance
 * Monitoring", "Processor Event Based Sampling (PEBS)".
 */
#ifndef HW_MODEL_PROCESSOR_COUNTERS_H
#define HW_MODEL_PROCESSOR_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#define GENERAL_COUNTERS 4
#define FIXED_COUNTERS   3
#define COUNTERS         (GENERAL_COUNTERS + FIXED_COUNTERS)
#define FIXED_SHIFT      32 /* of the fixed counters in the global registers */
#define COUNTER_BITS     48
#define COUNTER_MASK     ((1ull << COUNTER_BITS) - 1)

#define STATUS_LBRS_FROZEN     (1ull << 58)
#define STATUS_COUNTERS_FROZEN (1ull << 59)
#define STATUS_BUFFER          (1ull << 62)

enum { RING_0 = 1, RINGS_OUTER = 2 };

/* What one counter counts, from its control. */
struct counting {
    uint8_t event; /* enum counted */
    uint8_t rings;
    uint8_t at_least; /* CMASK */
    bool invert, edge;
    bool interrupts;
};

/* What a record may hold of the registers: the general ones in encoding order, RFLAGS, RIP. */
enum { STATE_FLAGS = 16, STATE_RIP, STATE_WORDS };
enum { XMM_WORDS = 32, PEBS_BRANCHES_MAX = 256, BRANCH_WORDS = 3 };
#define PEBS_WORDS_MAX (4 + 4 + STATE_WORDS + XMM_WORDS + PEBS_BRANCHES_MAX * BRANCH_WORDS)

struct perfmon {
    uint64_t control, status, fixed_control, pebs_enable, pebs_data;
    uint64_t select[GENERAL_COUNTERS];
    uint64_t value[COUNTERS];
    uint64_t capabilities_written; /* for a defect: bits that were changed */
    uint64_t cycles_until;         /* the time-stamp counter when cycles were last added */
    struct counting counting[COUNTERS];
    uint8_t live;  /* counters that count, by their places */
    uint8_t armed; /* overflowed: the next event leaves a record */
    /* Events that an armed counter still lets pass: the processor needs time to arm. */
    uint8_t arming[COUNTERS];
    uint8_t level; /* whose condition held at the last instruction, for EDGE */
    /* Registers before the instruction; while armed. */
    uint64_t before[STATE_WORDS], xmm_before[XMM_WORDS];
    uint64_t record[PEBS_WORDS_MAX]; /* that is being made: too much for the host's stack */
    bool changed; /* a control was written: counting and live are those before it */
};

static inline uint64_t counter_bit(unsigned counter)
{
    return counter < GENERAL_COUNTERS ? 1ull << counter
                                      : 1ull << (FIXED_SHIFT + counter - GENERAL_COUNTERS);
}

#endif
