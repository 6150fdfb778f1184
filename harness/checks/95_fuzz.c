/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs that nobody wrote: random ring-3 code from a seed.
 *
 * Claim: SDM Vol. 3, "Branch Trace Store (BTS)" and "Interrupts and Exceptions" under "LBR
 * Stack": a record for each taken branch, interrupt and exception, in program order, whatever
 * the code; none for anything else.
 * How: each program is stepped, then traced. What the generator foresaw, what the oracle saw
 * and what the trace holds must be the same, record by record; where the path depends on flags
 * that ordinary instructions left, oracle and trace must agree. A program on which they differ
 * is reduced to the nodes that matter and shown.
 * Wrong if: generator, decoder and processor share a mistake. The generator lists edges without
 * reading code; the oracle reads code and registers; neither knows the other's tables.
 */
#define CHECK_GROUP "95 bts.fuzz"
#include "harness/fuzz/fuzz.h"
#include "harness/options/options.h"

/* A hundred times as many would take minutes: soak=1 does fewer than elsewhere. */
static unsigned programs(const struct run *run, unsigned count)
{
    if (run->options->fuzz)
        return run->options->fuzz;
    return run->soak ? 80 * count : count;
}

CHECK("oracle.generated", SOFTWARE, "", NEED_NOTHING)
{
    fuzz_programs(run, false, programs(run, 2));
}

CHECK("bts.fuzz.programs", MUST, "GEN-01 GEN-02 GEN-03 GEN-04 GEN-06 GEN-20 GEN-21", NEED_BTS)
{
    fuzz_programs(run, true, programs(run, 3));
}
