/* SPDX-License-Identifier: BSD-2-Clause */
/* What the privileged files of the model share: hypercalls, fetching, debug registers. */
#ifndef HW_MODEL_HOST_ENTER_H
#define HW_MODEL_HOST_ENTER_H

#include "hw/model/processor/cpu.h"

/* RAX and RCX at VMMCALL. */
#define HYPERCALL_MAGIC 0x57616C6Bu
enum { HYPERCALL_LEAVE = 1, HYPERCALL_STATS = 2 };

_Noreturn void leave_guest(struct model_cpu *cpu);

enum fetch { FETCH_DECODED, FETCH_UNDEFINED, FETCH_FAULT };
enum fetch insn_fetch(struct model_cpu *cpu, uint64_t linear, struct insn *insn);

uint64_t debug_register_read(struct model_cpu *cpu, unsigned number);
void debug_register_write(struct model_cpu *cpu, unsigned number, uint64_t value);

#endif
