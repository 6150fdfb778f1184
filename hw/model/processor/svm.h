/* SPDX-License-Identifier: BSD-2-Clause */
/* The assembly routines of the world switch (svm.asm, window.asm). */
#ifndef HW_MODEL_PROCESSOR_SVM_H
#define HW_MODEL_PROCESSOR_SVM_H

#include "hw/model/processor/cpu.h"

#define VECTOR_STUB_BYTES 8

void machine_enter(struct model_cpu *cpu);
void machine_launch(struct model_cpu *cpu, void (*host)(struct model_cpu *));
void machine_guest_entry(void);
_Noreturn void machine_leave(struct model_cpu *cpu);
void machine_hidden_save(uint64_t vmcb);
void machine_hidden_load(uint64_t vmcb);
void machine_window_open(struct model_cpu *cpu, bool interrupts);
extern const uint8_t machine_vectors[256 * VECTOR_STUB_BYTES];
_Noreturn void machine_host_exception(const uint64_t *frame);

#endif
