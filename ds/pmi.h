/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The performance-monitoring interrupt, BTS side: whose it is, and what is done about it.
 * There is no status bit for BTS: the interrupt is ours when the index has reached the
 * threshold. Works as an ordinary interrupt handler and inside an NMI.
 * Source: SDM Vol. 3, "Writing the DS Interrupt Service Routine".
 */
#ifndef DS_PMI_H
#define DS_PMI_H

#include "ds/bts.h"
#include "ds/error.h"

#include <stdbool.h>
#include <stdint.h>

enum pmi_verdict {
    PMI_FOREIGN,  /* the index is below the threshold: not from BTS */
    PMI_CLAIMED,  /* drained and re-armed */
    PMI_DEFERRED, /* it landed inside a read of the same buffer; pmi_poll picks it up */
};

struct pmi {
    struct bts *bts;
    bts_sink *sink; /* gets the records; runs in the handler, trace off. NULL: the records stay
                       in the buffer and the trace stays off */
    void *context;
    bool one_shot; /* leave the trace off after the first claim */

    /* Kept by the handler. */
    uint32_t lvt;       /* what unmasking writes */
    uint32_t lvt_found; /* what pmi_arm found */
    bool armed;
    uint64_t claimed;
    uint64_t foreign;
    uint64_t deferred;
    uint64_t polled;  /* claims by pmi_poll: an interrupt that never came */
    uint64_t rearmed; /* foreign ones that had left the LVT entry masked */
    uint64_t lost;    /* claims that found the buffer full: an unknown number is gone */
    uint64_t bad;     /* claims with an index outside the buffer: nothing drained */
    uint64_t records; /* handed to sink */
    size_t skid;      /* records beyond the threshold, last claim */
    size_t skid_most;
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
 * The handler's body: claim, stop, drain, reset the index, unmask, start again, in this order.
 * The entry path does EOI. Work is bounded by the capacity of the buffer.
 */
enum pmi_verdict pmi_handle(struct pmi *pmi);

/* The same without an interrupt: true when the index stood at the threshold and was drained. */
bool pmi_poll(struct pmi *pmi);

#endif
