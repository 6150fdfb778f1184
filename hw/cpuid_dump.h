/* SPDX-License-Identifier: BSD-2-Clause */
/* Every CPUID leaf and subleaf that the processor has, for the record of a machine. */
#ifndef HW_CPUID_DUMP_H
#define HW_CPUID_DUMP_H

#include "hw/cpuid.h"

/* Calls use for each; at most some hundred times. Legal in every mode. */
void cpuid_dump(void (*use)(void *arg, uint32_t leaf, uint32_t subleaf, struct cpuid_regs regs),
                void *arg);

#endif
