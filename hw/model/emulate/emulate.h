/* SPDX-License-Identifier: BSD-2-Clause */
/* Events and instructions carried out by software. */
#ifndef HW_MODEL_EMULATE_EMULATE_H
#define HW_MODEL_EMULATE_EMULATE_H

#include "hw/model/processor/cpu.h"

/* deliver.c - interrupts and exceptions */
enum event_kind {
    EVENT_FAULT,
    EVENT_TRAP,
    EVENT_SOFTWARE, /* INT n, INT3, INTO: the gate's DPL counts */
    EVENT_ICEBP,    /* INT1 */
    EVENT_INTERRUPT,
    EVENT_NMI_TAKEN
};
struct event {
    uint8_t vector;
    uint8_t kind; /* enum event_kind */
    uint32_t error;
    uint64_t address;     /* for CR2 */
    uint64_t return_rip;  /* pushed */
    uint64_t restart_rip; /* pushed if the delivery itself faults */
    uint64_t from_rip;    /* recorded */
};
void deliver(struct model_cpu *cpu, const struct event *event);
void deliver_fault(struct model_cpu *cpu); /* cpu->fault, at the current RIP */
void deliver_debug_trap(struct model_cpu *cpu, uint64_t dr6_bits, uint64_t from_rip);

/* emulate.c - instructions carried out by software */
bool is_emulated(const struct insn *insn);
/* The branch alone: neither counted nor recorded. False: it faults, and nothing has changed. */
bool branch_near(struct model_cpu *cpu, const struct insn *insn);
void carry_out(struct model_cpu *cpu, const struct insn *insn);
bool transfer_to(struct model_cpu *cpu, const struct insn *insn, uint64_t rip);
uint64_t recorded_address(const struct model_cpu *cpu, uint64_t rip); /* linear */
void transfer_finish(struct model_cpu *cpu, const struct insn *insn, uint64_t from,
                     unsigned cpl_before);

/* operand.c - registers, memory operands, the stack */
bool operand_load(struct model_cpu *cpu, const struct insn *insn, unsigned offset,
                  unsigned bytes, uint64_t *value);
uint64_t effective_address(const struct model_cpu *cpu, const struct insn *insn);
bool stack_read(struct model_cpu *cpu, uint64_t offset, void *to, size_t bytes);
bool stack_push(struct model_cpu *cpu, uint64_t value, unsigned bytes);
void stack_set(struct model_cpu *cpu, uint64_t rsp);
bool stack_is_64(const struct model_cpu *cpu);
uint64_t stack_linear(const struct model_cpu *cpu, uint64_t rsp);

/* alu.c - results; the flags of mask are set in the guest's RFLAGS */
uint64_t alu_add(struct model_cpu *cpu, uint64_t a, uint64_t b, uint64_t carry, unsigned bytes,
                 uint64_t mask);
uint64_t alu_subtract(struct model_cpu *cpu, uint64_t a, uint64_t b, uint64_t borrow,
                      unsigned bytes, uint64_t mask);
uint64_t alu_operate(struct model_cpu *cpu, unsigned operation, uint64_t a, uint64_t b,
                     unsigned bytes);
uint64_t alu_shift(struct model_cpu *cpu, unsigned operation, uint64_t value, unsigned count,
                   unsigned bytes);

/* simple.c - false when the processor must do it; then nothing has changed */
bool carry_out_simple(struct model_cpu *cpu, const struct insn *insn);

/* far.c, far_return.c, syscall.c, system.c - each false with cpu->fault set */
bool far_jump(struct model_cpu *cpu, const struct insn *insn);
/* task.c */
enum task_way { TASK_JUMP, TASK_CALL, TASK_RETURN };
bool task_descriptor(const struct model_cpu *cpu, const struct descriptor *descriptor);
bool task_switch(struct model_cpu *cpu, const struct descriptor *target, enum task_way way,
                 uint64_t next_rip);
bool task_return(struct model_cpu *cpu, const struct insn *insn); /* IRET with NT */
bool far_return(struct model_cpu *cpu, const struct insn *insn);
bool interrupt_return(struct model_cpu *cpu, const struct insn *insn);
bool system_call(struct model_cpu *cpu, const struct insn *insn);
bool system_return(struct model_cpu *cpu, const struct insn *insn);
bool fast_call(struct model_cpu *cpu, const struct insn *insn);
bool fast_return(struct model_cpu *cpu, const struct insn *insn);
bool push_flags(struct model_cpu *cpu, const struct insn *insn);
bool pop_flags(struct model_cpu *cpu, const struct insn *insn);
bool change_interrupt_flag(struct model_cpu *cpu, const struct insn *insn);
bool load_stack_segment(struct model_cpu *cpu, const struct insn *insn);
bool halt(struct model_cpu *cpu, const struct insn *insn);

#endif
