/* SPDX-License-Identifier: BSD-2-Clause */
/* What far transfers inward and outward ask of a code segment, and how they arrive in it. */
#ifndef HW_MODEL_EMULATE_FAR_H
#define HW_MODEL_EMULATE_FAR_H

#include "hw/model/emulate/emulate.h"

/* Attributes of a code segment, and the mode bits that may stand in them now. */
bool far_is_code(uint16_t attributes);
bool far_mode_bits_good(const struct model_cpu *cpu, uint16_t attributes);

/* The error code of a fault that a selector is to blame for. */
uint32_t far_selector_error(uint16_t selector);

/* Whether the segment holds the target; #GP where not. Then on with the guest in it. */
bool far_target_fits(struct model_cpu *cpu, const struct descriptor *code, uint64_t rip);
void far_enter_code(struct model_cpu *cpu, const struct descriptor *code, uint16_t selector,
                    uint64_t rip);

/* The same in real mode, where CS has a limit only. */
bool far_real_mode(const struct model_cpu *cpu);
bool far_fits_real(struct model_cpu *cpu, uint64_t ip);

#endif
