/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading them; reading changes nothing in any of these. */
#include "hw/msr_dump.h"

#include "hw/msr.h"

#define READ(register)                                                                         \
    {                                                                                          \
#register, MSR_##register, 0, 0                                                        \
    }

static const struct msr_reading wanted[MSR_READINGS] = {
    READ(IA32_PLATFORM_ID),       READ(IA32_APIC_BASE),
    READ(IA32_FEATURE_CONTROL),   READ(SMI_COUNT),
    READ(IA32_BIOS_SIGN_ID),      READ(IA32_ARCH_CAPABILITIES),
    READ(IA32_MISC_ENABLE),       READ(LBR_SELECT),
    READ(IA32_DEBUGCTL),          READ(IA32_PAT),
    READ(IA32_PERF_CAPABILITIES), READ(IA32_PERF_GLOBAL_CTRL),
    READ(IA32_DS_AREA),           READ(IA32_EFER),
};

void msr_dump(struct msr_reading readings[MSR_READINGS])
{
    for (unsigned i = 0; i < MSR_READINGS; i++) {
        readings[i] = wanted[i];
        readings[i].vector = msr_read_try(readings[i].number, &readings[i].value);
    }
}
