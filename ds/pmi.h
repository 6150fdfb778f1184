/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The performance-monitoring interrupt: whose it is, and what is done about it. One vector
 * serves BTS, PEBS and counters that overflow, in any combination. There is no status bit for
 * BTS, and that for PEBS is not to be relied on: an interrupt is a half's when its index has
 * reached its threshold. Works as an ordinary interrupt handler and inside an NMI.
 * Source: SDM Vol. 3, "Writing the DS Interrupt Service Routine".
 */
#ifndef DS_PMI_H
#define DS_PMI_H

#include "ds/bts.h"
#include "ds/error.h"
#include "ds/pebs.h"

#include <stdbool.h>
#include <stdint.h>

enum pmi_verdict {
    PMI_FOREIGN,  /* neither index is at its threshold, and no counter of ours overflowed */
    PMI_CLAIMED,  /* drained and re-armed */
    PMI_DEFERRED, /* it landed inside a read of the same buffer; pmi_poll picks it up */
};

/* Told which of the counters have overflowed, by their status bits; they stand still. */
typedef void pmi_overflow(void *context, uint64_t counters);

struct pmi {
    /* BTS, unless NULL. */
    struct bts *bts;
    bts_sink *sink; /* gets the records; runs in the handler, trace off. NULL: the records stay
                       in the buffer and the trace stays off */
    void *context;
    bool one_shot; /* leave the trace off after the first claim */

    /* PEBS, unless NULL. */
    struct pebs *pebs;
    pebs_sink *samples; /* as sink */
    void *samples_context;

    /* Counters that just count; their bits of the global status. */
    uint64_t counters;
    pmi_overflow *overflow;
    void *overflow_context;

    /* Kept by the handler. */
    uint32_t lvt;       /* what unmasking writes */
    uint32_t lvt_found; /* what pmi_arm found */
    bool armed;
    uint64_t claimed; /* BTS */
    uint64_t foreign;
    uint64_t deferred;
    uint64_t polled;  /* claims by pmi_poll: an interrupt that never came */
    uint64_t rearmed; /* foreign ones that had left the LVT entry masked */
    uint64_t lost;    /* claims that found the buffer full: an unknown number is gone */
    uint64_t bad;     /* claims with an index outside the buffer: nothing drained */
    uint64_t records; /* handed to sink */
    size_t skid;      /* records beyond the threshold, last claim */
    size_t skid_most;
    struct {
        uint64_t claimed, lost, bad, records; /* as above */
    } sampled;
    uint64_t overflows;  /* interrupts in which a counter of ours had overflowed */
    uint64_t stray;      /* interrupts with status bits that nobody owns; they are cleared */
    uint64_t stray_bits; /* which */
    uint64_t stuck;      /* interrupts whose status could not be cleared */
};

/*
 * Programs the LVT performance entry (LVT_DELIVERY_NMI, or a vector of 16..255), unmasked, and
 * reads it back. To be called before the trace starts. DS_EINVAL a bad entry, DS_EIO it does
 * not read back; DS_EBUSY armed already. Fields above "kept by the handler" are the caller's.
 */
enum ds_error pmi_arm(struct pmi *pmi, uint32_t lvt);
/* Puts back the LVT entry that pmi_arm found. */
void pmi_disarm(struct pmi *pmi);

/*
 * The handler's body: stop, claim, drain, reset the index, clear the status, unmask, start
 * again, in this order. The registers of the counters are touched only where somebody has
 * any. The entry path does EOI. Work is bounded by the capacity of the buffers.
 */
enum pmi_verdict pmi_handle(struct pmi *pmi);

/*
 * The same for causes that are kept in two places, as those of two owners are; either may be
 * NULL, and both are served in one go. verdicts (may be NULL) gets one for each.
 */
enum pmi_verdict pmi_handle_both(struct pmi *one, struct pmi *other,
                                 enum pmi_verdict verdicts[2]);

/* The same without an interrupt: true when an index stood at its threshold and was drained. */
bool pmi_poll(struct pmi *pmi);

#endif
