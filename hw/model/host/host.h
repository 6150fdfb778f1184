/* SPDX-License-Identifier: BSD-2-Clause */
/* What the privileged files of the model share: hypercalls, fetching, debug registers. */
#ifndef HW_MODEL_HOST_HOST_H
#define HW_MODEL_HOST_HOST_H

#include "hw/model/processor/cpu.h"

/* RAX and RCX at VMMCALL. */
#define HYPERCALL_MAGIC 0x57616C6Bu
#define HYPERCALL_LEAVE 1u

/* block.c - the processor in its memory; its tables with four levels */
struct model_cpu *processor_build(void *memory, uint64_t top_of_ram);
uint64_t processor_long_tables(const struct model_cpu *cpu);

/* enter.c - this processor becomes the host, GIF = 0; then it runs the guest for ever */
void processor_claim(struct model_cpu *cpu);
void host_loop(struct model_cpu *cpu);

_Noreturn void leave_guest(struct model_cpu *cpu);

enum fetch { FETCH_DECODED, FETCH_UNDEFINED, FETCH_FAULT };
enum fetch insn_fetch(struct model_cpu *cpu, uint64_t linear, struct insn *insn);

uint64_t debug_register_read(struct model_cpu *cpu, unsigned number);
void debug_register_write(struct model_cpu *cpu, unsigned number, uint64_t value);

/* step.c - one boundary to the next */
void step(struct model_cpu *cpu);
void step_begin(struct model_cpu *cpu);
void step_end(struct model_cpu *cpu);
/* Takes what waits for the guest and delivers it; true when something came. */
bool take_interrupts(struct model_cpu *cpu);

/*
 * quiet.c - whether only counters look on; then on, as far as it goes without the guest. True
 * when it stopped only to let interrupts in.
 */
bool quiet_wanted(const struct model_cpu *cpu);
bool quiet_run(struct model_cpu *cpu);

/* coast.c - a kernel that nothing looks at */
bool coast_possible(const struct model_cpu *cpu);
void coast(struct model_cpu *cpu);

/* exit.c, intercepted.c, msr.c, cpuid.c */
void handle_exit(struct model_cpu *cpu);
void raise_at_exit(struct model_cpu *cpu, enum vector vector, uint32_t error);
void instruction_done(struct model_cpu *cpu);
void cpuid_exit(struct model_cpu *cpu);
void rdpmc_exit(struct model_cpu *cpu);
bool msr_read(struct model_cpu *cpu, uint32_t index, uint64_t *value);
bool msr_write(struct model_cpu *cpu, uint32_t index, uint64_t value);

/* smm.c - an access to the port that raises system-management interrupts */
#define PORT_SMI_COMMAND 0xB2
void smm_port_exit(struct model_cpu *cpu);

/* run.c - the guest by itself, until it exits; with a window in which events come in */
void machine_run(struct model_cpu *cpu);
void machine_window(struct model_cpu *cpu, bool interrupts);

#endif
