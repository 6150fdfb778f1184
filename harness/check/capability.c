/* SPDX-License-Identifier: BSD-2-Clause */
/* What the machine under the provider offers. */
#include "harness/check/capability.h"

#include "harness/check/check.h"
#include "hw/msr.h"

static struct capability found;
static const char *withdrawn;

void capability_ask(const struct platform *platform)
{
    bool bts;
    uint64_t count;

    if (platform->gate_shut)
        found.probe =
            (struct ds_probe_report){.result = DS_PROBE_RESULTS, .reason = platform->gate_shut};
    else
        ds_probe(&found.probe);
    bts = found.probe.result == DS_PROBE_PRESENT;

    cpu_identify(&found.cpu);
    found.apic = apic_mode();
    found.smi_count = msr_read_try(MSR_SMI_COUNT, &count) == 0;
    found.have = NEED_FIRMWARE | (bts ? NEED_BTS : platform->gate_shut ? 0 : NEED_NO_BTS);
    found.have |= cpu_has_ds_cpl() ? NEED_DS_CPL : 0;
    found.have |= cpu_has_x2apic() ? NEED_X2APIC : 0;
    found.have |= cpu_has_la57() ? NEED_LA57 : 0;
    pmc_identify(&found.pmc);
    found.have |= found.pmc.perfmon.version >= 2 ? NEED_PMC : 0;
    found.have |= found.pmc.has_pebs ? NEED_PEBS : 0;
    found.have |= platform->smi.port && found.smi_count ? NEED_SMI : 0;
    found.have |= platform->processors > 1 ? NEED_SMP : 0;
}

const struct capability *capability(void)
{
    return &found;
}

void capability_withdraw_bts(const char *reason)
{
    withdrawn = reason;
}

const char *capability_withdrawn(uint32_t needs)
{
    return needs & NEED_BTS ? withdrawn : NULL;
}

const char *capability_missing(uint32_t needs)
{
    uint32_t missing = needs & ~found.have;

    if (missing & NEED_BTS || (missing && found.probe.result == DS_PROBE_RESULTS))
        return found.probe.reason;
    if (missing & NEED_NO_BTS)
        return "BTS is available here";
    if (missing & NEED_DS_CPL)
        return "CPUID does not enumerate DS-CPL";
    if (missing & NEED_X2APIC)
        return "CPUID does not enumerate x2APIC";
    if (missing & NEED_LA57)
        return "CPUID does not enumerate 57-bit linear addresses";
    if (missing & NEED_PMC)
        return "CPUID enumerates no performance monitoring of version 2";
    if (missing & NEED_PEBS)
        return cpu_has_ds() ? "PEBS is unavailable" : "CPUID does not enumerate DS";
    if (missing & NEED_SMI)
        return found.smi_count ? "ACPI names no command port that raises SMIs"
                               : "there is no MSR_SMI_COUNT to tell that an SMI came";
    return missing & NEED_SMP ? "there is no second processor" : NULL;
}
