/* SPDX-License-Identifier: BSD-2-Clause */
/* Gates of a stand-in processor. */
#include "harness/gate.h"

#include "hw/cpuid.h"
#include "hw/msr.h"
#include "hw/string.h"

/* What was there before: the user may have closed gates too, and opening is all or nothing. */
static struct {
    const struct stand_in *stand_in;
    bool ds, dtes64, ds_cpl, pdcm, perfmon, lbr, freeze_smm, netburst;
    unsigned closed; /* gates that this check has closed: the first looked at what was there */
} before;

static void reopen(void *arg)
{
    (void)arg;
    if (--before.closed)
        return;
    before.stand_in->set("cpuid", "all");
    if (!before.ds)
        before.stand_in->set("cpuid", "no-ds");
    if (!before.dtes64)
        before.stand_in->set("cpuid", "no-dtes64");
    if (!before.ds_cpl)
        before.stand_in->set("cpuid", "no-dscpl");
    if (!before.perfmon)
        before.stand_in->set("cpuid", "no-perfmon");
    if (!before.pdcm)
        before.stand_in->set("cpuid", "no-pdcm");
    if (!before.lbr)
        before.stand_in->set("cpuid", "no-lbr");
    if (before.netburst)
        before.stand_in->set("cpuid", "netburst");
    if (!before.freeze_smm)
        before.stand_in->set("cpuid", "no-freeze-smm");
}

static void look(void)
{
    uint64_t top, capabilities = 0;

    before.ds = cpu_has_ds();
    before.dtes64 = cpu_has_dtes64();
    before.ds_cpl = cpu_has_ds_cpl();
    before.perfmon = cpu_perfmon_version() > 0;
    before.pdcm = cpu_has_pdcm();
    before.lbr = msr_read_try(MSR_LASTBRANCH_TOS, &top) == 0; /* CPUID does not tell */
    msr_read_try(MSR_IA32_PERF_CAPABILITIES, &capabilities);
    before.netburst = cpu_is_netburst();
    before.freeze_smm = capabilities & PERF_CAP_FREEZE_SMM;
}

bool gate_close(struct run *run, const char *gate)
{
    before.stand_in = run->platform->stand_in;
    if (before.closed == 0)
        look();
    if (!before.stand_in || !before.stand_in->set("cpuid", gate))
        return false;
    before.closed++;
    run_defer(run, reopen, NULL);
    return true;
}

void gate_require(struct run *run, const char *gate)
{
    if (gate_close(run, gate))
        return;
    run_skip(run, "only a stand-in processor can be told %s", gate);
    run_stop(run);
}

/* --- the formats of PEBS */

/* What the user asked for. Not what the processor says of itself: it may be told to lie. */
static const char *format_wanted(const struct options *options)
{
    const char *format = "default";

    for (unsigned i = 0; i < options->model_words; i++)
        if (strncmp(options->model_word[i], "pebs=", 5) == 0)
            format = options->model_word[i] + 5;
    return format;
}

static void format_restore(void *run)
{
    before.stand_in->set("pebs", format_wanted(((struct run *)run)->options));
}

bool gate_pebs(struct run *run, const char *format)
{
    before.stand_in = run->platform->stand_in;
    if (!before.stand_in || !before.stand_in->set("pebs", format))
        return false;
    run_defer(run, format_restore, run);
    return true;
}
