/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Why VMRUN ends at once with an exit code of all ones.
 *
 * The state is the one remembered before the entry: an emulator writes its own over the VMCB
 * when it refuses one.
 * Source: APM Vol. 2, "Canonicalization and Consistency Checks", "Event Injection".
 */
#include "hw/model/processor/refusal.h"

#define HIGH(value) ((value) >> 32)

enum {
    EVENT_TYPE = 7 << 8,
    EVENT_INTR = 0 << 8,
    EVENT_NMI = 2 << 8,
    EVENT_SOFTWARE_INT = 4 << 8,
    VECTORS_OF_EXCEPTIONS = 32
};

static bool event_illegal(uint64_t event)
{
    unsigned type = event & EVENT_TYPE, vector = event & 0xFF;

    if (!(event & EVENT_VALID))
        return false;
    if (type == EVENT_EXCEPTION)
        return vector == VECTOR_NMI || vector >= VECTORS_OF_EXCEPTIONS;
    return type != EVENT_INTR && type != EVENT_NMI && type != EVENT_SOFTWARE_INT;
}

static bool long_mode_odd(const struct entry_state *e)
{
    uint16_t both = SEGMENT_LONG | SEGMENT_BIG;

    if (!(e->efer & EFER_LME) || !(e->cr0 & CR0_PG))
        return false;
    return !(e->cr4 & CR4_PAE) || !(e->cr0 & CR0_PE) || (e->cs_attributes & both) == both;
}

struct refusal refusal_find(const struct entry_state *e, unsigned physical_bits)
{
    uint64_t known = EFER_SCE | EFER_LME | EFER_LMA | EFER_NXE | EFER_SVME | EFER_FFXSR |
                     EFER_LMSLE | EFER_TCE;

    if (!(e->efer & EFER_SVME) || e->efer & ~known)
        return (struct refusal){"EFER", e->efer};
    if (HIGH(e->cr0) || (e->cr0 & CR0_NW && !(e->cr0 & CR0_CD)))
        return (struct refusal){"CR0", e->cr0};
    if (e->efer & EFER_LMA && physical_bits < 64 && e->cr3 >> physical_bits)
        return (struct refusal){"CR3", e->cr3};
    if (HIGH(e->cr4))
        return (struct refusal){"CR4", e->cr4};
    if (HIGH(e->dr6))
        return (struct refusal){"DR6", e->dr6};
    if (HIGH(e->dr7))
        return (struct refusal){"DR7", e->dr7};
    if (long_mode_odd(e))
        return (struct refusal){"EFER.LME with CR0, CR4.PAE and CS", e->cr0};
    if (event_illegal(e->event))
        return (struct refusal){"EVENTINJ", e->event};
    /* What is left depends on the processor's features. */
    return (struct refusal){NULL, e->cr4};
}
