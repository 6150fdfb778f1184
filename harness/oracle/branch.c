/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether a conditional branch is taken: from the flags, and for the LOOP group from the count.
 * Source: SDM Vol. 2, "Jcc", "LOOP/LOOPcc"; Vol. 1, "EFLAGS Condition Codes".
 */
#include "harness/oracle/decode.h"
#include "hw/regs.h"

bool loop_taken(unsigned condition, bool address32, uint64_t rflags, uint64_t rcx_after)
{
    bool zero = address32 ? (uint32_t)rcx_after == 0 : rcx_after == 0;

    switch (condition) {
    case 0: /* LOOPNE */
        return !zero && !(rflags & RFLAGS_ZF);
    case 1: /* LOOPE */
        return !zero && (rflags & RFLAGS_ZF);
    case 2:
        return !zero;
    default: /* JRCXZ, JECXZ */
        return zero;
    }
}

bool branch_taken(const struct decoded *d, uint64_t rflags, uint64_t rcx_after)
{
    if (d->branch == BRANCH_JCC)
        return jcc_taken(d->condition, rflags);
    return d->branch != BRANCH_LOOP ||
           loop_taken(d->condition, d->address32, rflags, rcx_after);
}
