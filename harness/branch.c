/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether a conditional branch is taken: from the flags, and for the LOOP group from the count.
 * Source: SDM Vol. 2, "Jcc", "LOOP/LOOPcc"; Vol. 1, "EFLAGS Condition Codes".
 */
#include "harness/decode.h"
#include "hw/regs.h"

/* Even conditions; the odd one beside each is its negation. */
static bool condition_holds(unsigned condition, uint64_t rflags)
{
    bool sign_differs = !(rflags & RFLAGS_SF) != !(rflags & RFLAGS_OF);
    bool holds = false;

    switch (condition >> 1) {
    case 0:
        holds = rflags & RFLAGS_OF;
        break;
    case 1:
        holds = rflags & RFLAGS_CF;
        break;
    case 2:
        holds = rflags & RFLAGS_ZF;
        break;
    case 3:
        holds = rflags & (RFLAGS_CF | RFLAGS_ZF);
        break;
    case 4:
        holds = rflags & RFLAGS_SF;
        break;
    case 5:
        holds = rflags & RFLAGS_PF;
        break;
    case 6:
        holds = sign_differs;
        break;
    case 7:
        holds = sign_differs || rflags & RFLAGS_ZF;
        break;
    }
    return holds != (condition & 1);
}

bool branch_taken(const struct decoded *d, uint64_t rflags, uint64_t rcx_after)
{
    bool zero = d->address32 ? (uint32_t)rcx_after == 0 : rcx_after == 0;

    if (d->branch == BRANCH_JCC)
        return condition_holds(d->condition, rflags);
    if (d->branch != BRANCH_LOOP)
        return true;
    switch (d->condition) {
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
