/* SPDX-License-Identifier: BSD-2-Clause */
/* What VMRUN refuses, by name. */
#ifndef HW_MODEL_PROCESSOR_REFUSAL_H
#define HW_MODEL_PROCESSOR_REFUSAL_H

#include "hw/model/processor/cpu.h"

struct refusal {
    const char *field; /* NULL: nothing that is known here */
    uint64_t value;
};

/* The first rule that a guest's state breaks; physical_bits as CPUID has it. */
struct refusal refusal_find(const struct entry_state *entry, unsigned physical_bits);

#endif
