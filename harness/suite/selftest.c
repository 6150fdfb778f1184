/* SPDX-License-Identifier: BSD-2-Clause */
/* Failing on purpose. */
#include "harness/suite/selftest.h"

#include "harness/check/check.h"
#include "harness/options/options.h"
#include "hw/apic.h"
#include "hw/regs.h"

#include <stdbool.h>

#define ACPI_MODE 1 /* PM1a_CNT, SCI_EN */

/* By the byte that changes nothing: ACPI's mode stays as it is. */
static void raise_smi(struct run *run)
{
    const struct smi_command *smi = &run->platform->smi;

    if (!smi->port) {
        run_error(run, "selftest=smi: ACPI names no port that raises SMIs");
        return;
    }
    io_out8(smi->port, io_in8(smi->control) & ACPI_MODE ? smi->enable : smi->disable);
}

static void hang(void)
{
    /* Without end by design: somebody outside has to notice. */
    for (;;)
        cpu_pause();
}

void selftest_apply(struct run *run)
{
    static const char broken[] = "ok 1 - half a li";
    static bool done;

    /* What it asks for is only looked for where records are judged. */
    if (done || (run->options->selftest == SELFTEST_SMI && !(run->check->needs & NEED_BTS)))
        return;
    done = true;
    switch (run->options->selftest) {
    case SELFTEST_FAIL:
        run_fail(run, "selftest=fail");
        break;
    case SELFTEST_ERROR:
        run_error(run, "selftest=error");
        break;
    case SELFTEST_HANG:
        hang();
        break;
    case SELFTEST_TRIPLE:
        run->platform->triple_fault();
        break;
    case SELFTEST_LEAK:
        /* Masked, so that the leak itself cannot deliver anything. */
        apic_lvt_perf_write(LVT_MASKED | LVT_DELIVERY_NMI);
        break;
    case SELFTEST_CORRUPT:
        run->platform->raw_serial(broken, sizeof(broken) - 1);
        break;
    case SELFTEST_SMI:
        raise_smi(run);
        break;
    case SELFTEST_FIRST:
    case SELFTEST_NONE:
        break;
    }
}

void selftest_first(const struct options *options)
{
    if (options->selftest == SELFTEST_FIRST)
        hang();
}
