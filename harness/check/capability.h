/* SPDX-License-Identifier: BSD-2-Clause */
/* What the machine under the provider offers, asked once, and why something is missing. */
#ifndef HARNESS_CHECK_CAPABILITY_H
#define HARNESS_CHECK_CAPABILITY_H

#include "ds/probe.h"
#include "harness/check/platform.h"
#include "hw/apic.h"
#include "hw/cpuid.h"
#include "hw/pmc.h"

#include <stdint.h>

struct capability {
    uint32_t have; /* enum check_needs that are met */
    struct ds_probe_report probe;
    struct cpu_identity cpu; /* as the checks see it: under the provider */
    enum apic_mode apic;
    bool smi_count; /* the processor counts system management interrupts */
    struct pmc pmc;
};

/* Runs the gate and reads CPUID; on the taken-over machine. */
void capability_ask(const struct platform *platform);
const struct capability *capability(void);
/* BTS is there, but may not be used, for this reason. */
void capability_withdraw_bts(const char *reason);
/* Why a check with these needs must not run although nothing is missing, or NULL. */
const char *capability_withdrawn(uint32_t needs);
/* NULL when every need is met, else the reason of the SKIP. */
const char *capability_missing(uint32_t needs);

#endif
