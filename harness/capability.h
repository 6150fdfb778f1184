/* SPDX-License-Identifier: BSD-2-Clause */
/* What the machine under the provider offers, asked once, and why something is missing. */
#ifndef HARNESS_CAPABILITY_H
#define HARNESS_CAPABILITY_H

#include "ds/probe.h"
#include "harness/platform.h"
#include "hw/apic.h"
#include "hw/cpuid.h"

#include <stdint.h>

struct capability {
    uint32_t have; /* enum check_needs that are met */
    struct ds_probe_report probe;
    struct cpu_identity cpu; /* as the checks see it: under the provider */
    enum apic_mode apic;
    bool smi_count; /* the processor counts system management interrupts */
};

/* Runs the gate and reads CPUID; on the taken-over machine. */
void capability_ask(const struct platform *platform);
const struct capability *capability(void);
/* NULL when every need is met, else the reason of the SKIP. */
const char *capability_missing(uint32_t needs);

#endif
