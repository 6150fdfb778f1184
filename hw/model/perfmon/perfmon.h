/* SPDX-License-Identifier: BSD-2-Clause */
/* Performance monitoring: its registers, what counts, what is sampled, the interrupt. */
#ifndef HW_MODEL_PERFMON_PERFMON_H
#define HW_MODEL_PERFMON_PERFMON_H

#include "hw/model/processor/cpu.h"
#include "hw/model/trial/feature_gate.h"

/* Instructions that retired together: all but the last are plain. */
struct retired {
    uint64_t linear; /* of the last one */
    unsigned count;
    uint8_t class; /* enum insn_class of the last one */
    bool taken;    /* it was a branch, and went elsewhere */
    uint8_t cpl_before, cpl_after;
};

enum counted {
    COUNT_NOTHING,
    COUNT_CYCLES,
    COUNT_INSTRUCTIONS,
    COUNT_BRANCHES, /* all, taken or not */
    COUNT_CONDITIONAL,
    COUNT_NEAR_CALLS,
    COUNT_NEAR_RETURNS,
    COUNT_NOT_TAKEN,
    COUNT_NEAR_TAKEN,
    COUNT_FAR
};

/* apic.c - the interrupt that the trace and the counters share */
/* Why a performance-monitoring interrupt is due; several may be at once. */
enum { INTERRUPT_BTS = 1, INTERRUPT_PEBS = 2, INTERRUPT_COUNTER = 4 };

/* Asked for now, sent once the instruction ends. */
static inline void interrupt_request(struct model_cpu *cpu, unsigned cause)
{
    cpu->interrupt_causes |= cause;
}
void interrupt_send(struct model_cpu *cpu);
/* The performance entry of the local APIC, as if this were its state after reset. */
void interrupt_entry_reset(uint32_t value);

/* The counters in places as bits of the global registers. */
static inline uint64_t perfmon_bits(unsigned places)
{
    uint64_t bits = 0;
    for (unsigned i = 0; i < COUNTERS; i++)
        bits |= places >> i & 1 ? counter_bit(i) : 0;
    return bits;
}

static inline uint64_t perfmon_ticks(void)
{
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}

/* perfmon.c - registers, and what freezes counters and the branch stack */
static inline bool perfmon_exists(void)
{
    return !gate_closed[GATE_NO_PERFMON];
}
unsigned perfmon_version(void);
bool perfmon_lbrs_frozen(const struct model_cpu *cpu);
void perfmon_on_interrupt(struct model_cpu *cpu, unsigned causes);
bool perfmon_read(struct model_cpu *cpu, uint32_t index, uint64_t *value);
bool perfmon_write(struct model_cpu *cpu, uint32_t index, uint64_t value);
/* RDPMC; false with cpu->fault set. */
bool perfmon_rdpmc(struct model_cpu *cpu, uint32_t which, uint64_t *value);
bool perfmon_freezes_smm(void); /* FREEZE_WHILE_SMM exists */
void perfmon_reset(struct model_cpu *cpu);

/* count.c - retired instructions into counters. Only while cpu->perf.live is not 0. */
/* False when a policy makes the failed store of a record an exception: cpu->fault is set. */
bool count_retired(struct model_cpu *cpu, const struct retired *retired);
bool count_plain(struct model_cpu *cpu, uint64_t linear, unsigned count);
/* How many may retire of which only the sum is wanted: none of them overflows a counter. */
unsigned count_room(const struct model_cpu *cpu);
/* Adds them. */
void count_quietly(struct model_cpu *cpu, const struct retired *retired);
/* Nothing but time is counted, in every ring, and no overflow is near. */
bool count_time_alone(struct model_cpu *cpu);
/* How many instructions may retire before somebody must look; at least 1. */
unsigned count_limit(const struct model_cpu *cpu);
/* Makes written controls count from the next instruction on. */
void count_refresh(struct model_cpu *cpu);
/* Cycles up to now; halted ones are left out. */
void count_cycles(struct model_cpu *cpu);

/* pebs.c - records of sampled events */
bool pebs_exists(void);
bool pebs_trap_like(void);        /* a record's registers are those behind the instruction */
uint64_t pebs_capabilities(void); /* its fields in IA32_PERF_CAPABILITIES */
#define CAPABILITY_BASELINE (1ull << 14)
/* With the baseline: this counter's records have the groups that were asked for. */
#define SELECT_ADAPTIVE (1ull << 34)
#define FIXED_ADAPTIVE  (1ull << 32) /* of fixed counter 0; 4 bits on for each other */
uint64_t pebs_enable_bits(void);     /* that exist in IA32_PEBS_ENABLE */
/* Remembers the registers before an instruction that may leave a record. */
void pebs_before(struct model_cpu *cpu);
enum pebs_outcome { PEBS_STORED, PEBS_SKIPPED, PEBS_FAULT };
/* One record for all of the counters in due, by their places. */
enum pebs_outcome pebs_record(struct model_cpu *cpu, unsigned due,
                              const struct retired *retired);

/* pebs_groups.c - what an adaptive record holds */
#define PEBS_DATA_BITS (15ull | 255ull << 24) /* groups, and how many branches less one */
void pebs_save_xmm(uint64_t words[XMM_WORDS]);
/* Words of the record. */
unsigned pebs_fill_groups(const struct model_cpu *cpu, const uint64_t state[STATE_WORDS],
                          unsigned due, uint64_t eventing_ip, uint64_t *words);

#endif
