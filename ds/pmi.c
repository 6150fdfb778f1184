/* SPDX-License-Identifier: BSD-2-Clause */
/* What the BTS side does about a performance-monitoring interrupt. */
#include "ds/pmi.h"

#include "ds/broker.h"
#include "hw/apic.h"
#include "hw/msr.h"

#define LVT_OURS      (LVT_VECTOR_MASK | LVT_DELIVERY_MASK | LVT_MASKED)
#define VECTOR_LOWEST 16u /* the APIC refuses vectors below */

enum ds_error pmi_arm(struct pmi *pmi, uint32_t lvt)
{
    uint32_t delivery = lvt & LVT_DELIVERY_MASK;

    if (pmi->armed)
        return DS_EBUSY;
    if (!pmi->bts || lvt & ~(LVT_VECTOR_MASK | LVT_DELIVERY_MASK))
        return DS_EINVAL;
    if (delivery != LVT_DELIVERY_NMI &&
        (delivery != LVT_DELIVERY_FIXED || (lvt & LVT_VECTOR_MASK) < VECTOR_LOWEST))
        return DS_EINVAL;
    pmi->lvt = lvt;
    pmi->lvt_found = apic_lvt_perf_read();
    apic_lvt_perf_write(lvt);
    if ((apic_lvt_perf_read() ^ lvt) & LVT_OURS) {
        apic_lvt_perf_write(pmi->lvt_found & LVT_OURS);
        return DS_EIO;
    }
    pmi->armed = true;
    return DS_OK;
}

void pmi_disarm(struct pmi *pmi)
{
    if (!pmi->armed)
        return;
    pmi->armed = false;
    apic_lvt_perf_write(pmi->lvt_found & LVT_OURS);
}

/* The APIC masked the entry when it delivered the interrupt; only software clears that. */
static void unmask(struct pmi *pmi)
{
    if (pmi->armed)
        apic_lvt_perf_write(pmi->lvt);
}

static uint64_t field(const uint64_t *where)
{
    return *(const volatile uint64_t *)where;
}

static bool at_threshold(const struct bts *bts)
{
    return bts->area && field(&bts->area->bts_index) >= field(&bts->area->bts_threshold);
}

/*
 * One vector serves several causes. An interrupt that was on its way when somebody reset the
 * index finds nothing, yet leaves the entry masked: unmask it, or no other would ever come.
 */
static enum pmi_verdict not_ours(struct pmi *pmi)
{
    pmi->foreign++;
    if (pmi->armed && apic_lvt_perf_read() & LVT_MASKED) {
        pmi->rearmed++;
        unmask(pmi);
    }
    return PMI_FOREIGN;
}

/* Trace off. The index still stands where it stopped. */
static void drain(struct pmi *pmi)
{
    const struct ds_area *area = pmi->bts->area;
    uint64_t beyond = field(&area->bts_index) - field(&area->bts_threshold);
    size_t slot, count = 0;

    if (bts_index(pmi->bts, &slot) != DS_OK) {
        pmi->bad++;
        bts_reset(pmi->bts);
        return;
    }
    pmi->skid = beyond / sizeof(struct bts_record);
    if (pmi->skid > pmi->skid_most)
        pmi->skid_most = pmi->skid;
    if (bts_wrapped(pmi->bts))
        pmi->lost++;
    if (pmi->sink && bts_drain(pmi->bts, pmi->sink, pmi->context, &count) != DS_OK)
        pmi->bad++;
    pmi->records += count;
}

/* Disabling comes first and the old settings come last, in the manual's order. */
static void take(struct pmi *pmi)
{
    uint64_t bits = broker_bits(BROKER_BTS);

    broker_set(BROKER_BTS, bits & ~DEBUGCTL_TR);
    drain(pmi);
    unmask(pmi);
    if (pmi->sink && !pmi->one_shot)
        broker_set(BROKER_BTS, bits);
}

enum pmi_verdict pmi_handle(struct pmi *pmi)
{
    if (!at_threshold(pmi->bts))
        return not_ours(pmi);
    if (pmi->bts->reading) {
        /* The reader stopped the trace, so unmasking now cannot bring a second one. */
        pmi->deferred++;
        unmask(pmi);
        return PMI_DEFERRED;
    }
    pmi->claimed++;
    take(pmi);
    return PMI_CLAIMED;
}

bool pmi_poll(struct pmi *pmi)
{
    if (pmi->bts->reading || !at_threshold(pmi->bts))
        return false;
    pmi->polled++;
    take(pmi);
    return true;
}
