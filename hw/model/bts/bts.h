/* SPDX-License-Identifier: BSD-2-Clause */
/* Branches as they are recorded: the trace in memory, and the last-branch stack beside it. */
#ifndef HW_MODEL_BTS_BTS_H
#define HW_MODEL_BTS_BTS_H

#include "hw/model/processor/cpu.h"

/* record.c - the trace */
enum transfer_kind {
    TRANSFER_JUMP, /* every near transfer, and far ones without an event */
    TRANSFER_EXCEPTION,
    TRANSFER_DEBUG,
    TRANSFER_INTERRUPT,
    TRANSFER_NMI,
    TRANSFER_SOFTWARE
};
struct transfer {
    uint64_t from, to; /* linear */
    uint8_t cpl_before, cpl_after;
    uint8_t kind;                /* enum transfer_kind */
    uint8_t class;               /* enum insn_class of a TRANSFER_JUMP */
    uint8_t length;              /* of the instruction, 0 for events */
    uint8_t prefix_bytes;        /* before its opcode */
    bool from_legacy, to_legacy; /* not in 64-bit code */
};
bool recording_wanted(const struct model_cpu *cpu);
void record_enable(struct model_cpu *cpu);
/*
 * delayed_store.c - by policy: the time of a store; a record that is held back, true when it
 * was; until the next one or a serialising instruction
 */
void record_hold_up(void);
/* The index behind a record, as a defect has it; else after. */
uint64_t record_bent_index(struct model_cpu *cpu, uint64_t after, uint64_t base, uint64_t index,
                           uint64_t bytes);
/* By a defect: true when it dealt with the store; *done is false when that faulted. */
bool record_stale(struct model_cpu *cpu, uint64_t place, const uint8_t *bytes, size_t count,
                  unsigned access, bool *done);
/* By policy: IA32_DS_AREA is 0, and that is a page fault; cpu->fault is set. */
bool record_nowhere(struct model_cpu *cpu);
bool record_held(struct model_cpu *cpu, uint64_t place, const uint8_t *bytes, size_t count);
void record_serialise(struct model_cpu *cpu);
/*
 * Around a store: by a defect it goes through the page tables that the last record went
 * through. Returns the CR3 in force, for the second one to put back.
 */
uint64_t record_old_tables(struct model_cpu *cpu);
void record_own_tables(struct model_cpu *cpu, uint64_t cr3);
/* dropped_records.c - asked once for each transfer that would be stored */
bool record_lost(struct model_cpu *cpu, const struct transfer *transfer);
/* False when the policy says that the failed store is an exception: cpu->fault is set. */
bool record_transfer(struct model_cpu *cpu, const struct transfer *transfer);

/* branch_stack.c - the last-branch stack; its registers fault like any MSR */
void branch_stack_push(struct model_cpu *cpu, const struct transfer *transfer);
/* Whether its filter lets the transfer through. */
bool branch_stack_selects(const struct model_cpu *cpu, const struct transfer *transfer);
bool branch_stack_read(struct model_cpu *cpu, uint32_t index, uint64_t *value);
bool branch_stack_write(struct model_cpu *cpu, uint32_t index, uint64_t value);

#endif
