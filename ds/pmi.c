/* SPDX-License-Identifier: BSD-2-Clause */
/* What is done about a performance-monitoring interrupt. */
#include "ds/pmi.h"

#include "ds/broker.h"
#include "hw/apic.h"
#include "hw/msr.h"
#include "hw/pmc.h"

#define LVT_OURS      (LVT_VECTOR_MASK | LVT_DELIVERY_MASK | LVT_MASKED)
#define VECTOR_LOWEST 16u /* the APIC refuses vectors below */

enum ds_error pmi_arm(struct pmi *pmi, uint32_t lvt)
{
    uint32_t delivery = lvt & LVT_DELIVERY_MASK;

    if (pmi->armed)
        return DS_EBUSY;
    if ((!pmi->bts && !pmi->pebs && !pmi->counters) ||
        lvt & ~(LVT_VECTOR_MASK | LVT_DELIVERY_MASK))
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

/* What one struct pmi has to do with an interrupt. */
enum cause {
    CAUSE_BRANCHES = 1 << 0,
    CAUSE_SAMPLES = 1 << 1,
    CAUSE_COUNTERS = 1 << 2,
    CAUSE_LATER = 1 << 3, /* a buffer at its threshold that somebody is reading */
};

struct service {
    struct pmi *pmi[2];
    unsigned causes[2]; /* enum cause */
    bool counting;      /* somebody has counters: their registers may be touched */
    uint64_t status;    /* of the counters, as found */
};

/* The APIC masked the entry when it delivered the interrupt; only software clears that. */
static void unmask(const struct service *s)
{
    for (unsigned i = 0; i < 2; i++)
        if (s->pmi[i] && s->pmi[i]->armed) {
            apic_lvt_perf_write(s->pmi[i]->lvt);
            return;
        }
}

static uint64_t field(const uint64_t *where)
{
    return *(const volatile uint64_t *)where;
}

static bool at_threshold(const struct bts *bts)
{
    return bts->area && field(&bts->area->bts_index) >= field(&bts->area->bts_threshold);
}

static unsigned causes_of(const struct pmi *pmi, uint64_t status)
{
    unsigned causes = 0;

    if (!pmi)
        return 0;
    if (pmi->bts && at_threshold(pmi->bts))
        causes |= pmi->bts->reading ? CAUSE_LATER : CAUSE_BRANCHES;
    /* Records that wait for somebody to take them were this interrupt's cause once already. */
    if (pmi->pebs && pebs_at_threshold(pmi->pebs) && (pmi->samples || pebs_running(pmi->pebs)))
        causes |= pmi->pebs->reading ? CAUSE_LATER : CAUSE_SAMPLES;
    if (status & pmi->counters)
        causes |= CAUSE_COUNTERS;
    return causes;
}

/* --- the counters' status */

/* Status bits that somebody here can explain. */
static uint64_t explained(const struct pmi *pmi)
{
    if (!pmi)
        return 0;
    return pmi->counters | (pmi->pebs ? pmi->pebs->mask | GLOBAL_STATUS_OVF_BUFFER : 0);
}

/*
 * Everything that was found is cleared, whoever it is from: a bit that stays set never asks for
 * another interrupt. Nothing counts now, so what is set afterwards could not be cleared; it is
 * not waited for.
 */
static void clear_status(struct service *s)
{
    uint64_t known = GLOBAL_STATUS_LBR_FRZ | GLOBAL_STATUS_CTR_FRZ | explained(s->pmi[0]) |
                     explained(s->pmi[1]);
    struct pmi *pmi = s->pmi[0] ? s->pmi[0] : s->pmi[1];
    uint64_t left = 0;

    if (!s->status)
        return;
    pmc_status_clear(s->status);
    pmc_status_read(&left);
    pmi->stuck += (left & s->status) != 0;
    pmi->stray += (s->status & ~known) != 0;
    pmi->stray_bits |= s->status & ~known;
}

static void begin(struct service *s)
{
    for (unsigned i = 0; i < 2; i++)
        s->counting |= s->pmi[i] && (s->pmi[i]->pebs || s->pmi[i]->counters);
    if (s->counting) {
        broker_hold_counters();
        if (pmc_status_read(&s->status))
            s->status = 0;
    }
    for (unsigned i = 0; i < 2; i++)
        s->causes[i] = causes_of(s->pmi[i], s->status);
}

/* --- draining */

/* Trace off. The index still stands where it stopped. */
static void drain_branches(struct pmi *pmi)
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

/* Counters held. Without a sink they do not start again. */
static void drain_samples(struct pmi *pmi)
{
    size_t count = 0;

    pmi->sampled.claimed++;
    if (pebs_full(pmi->pebs)) {
        pmi->sampled.lost++;
        pebs_reload(pmi->pebs);
    }
    if (!pmi->samples) {
        pebs_stop(pmi->pebs);
        return;
    }
    if (pebs_drain(pmi->pebs, SIZE_MAX, pmi->samples, pmi->samples_context, &count) != DS_OK)
        pmi->sampled.bad++;
    pmi->sampled.records += count;
}

/* In the order in which the processor serves them: PEBS before BTS. */
static void drain(struct service *s)
{
    for (unsigned i = 0; i < 2; i++)
        if (s->causes[i] & CAUSE_SAMPLES)
            drain_samples(s->pmi[i]);
    for (unsigned i = 0; i < 2; i++)
        if (s->causes[i] & CAUSE_BRANCHES)
            drain_branches(s->pmi[i]);
    for (unsigned i = 0; i < 2; i++)
        if (s->causes[i] & CAUSE_COUNTERS) {
            s->pmi[i]->overflows++;
            if (s->pmi[i]->overflow)
                s->pmi[i]->overflow(s->pmi[i]->overflow_context,
                                    s->status & s->pmi[i]->counters);
        }
}

/* --- the whole of it */

/* A trace whose records nobody takes stays off, so that they are not overwritten. */
static bool branches_go_on(const struct service *s)
{
    for (unsigned i = 0; i < 2; i++)
        if (s->causes[i] & CAUSE_BRANCHES && (!s->pmi[i]->sink || s->pmi[i]->one_shot))
            return false;
    return true;
}

/* Disabling comes first and the old settings come last, in the manual's order. */
static void take(struct service *s)
{
    uint64_t bits = broker_bits(BROKER_BTS);

    /* Even with an empty mask: we may be an NMI inside a start that is not published yet. */
    bool stop = bits & DEBUGCTL_TR || (s->causes[0] | s->causes[1]) & CAUSE_BRANCHES;

    if (stop)
        broker_set(BROKER_BTS, bits & ~DEBUGCTL_TR);
    clear_status(s);
    drain(s);
    unmask(s);
    if (s->counting)
        broker_release_counters();
    if (stop && branches_go_on(s))
        broker_set(BROKER_BTS, bits);
}

/*
 * An interrupt that was on its way when somebody reset the index finds nothing, yet leaves the
 * entry masked: unmask it, or no other would ever come.
 */
static void not_ours(struct service *s)
{
    struct pmi *armed = NULL;

    clear_status(s);
    for (unsigned i = 0; i < 2; i++) {
        if (!s->pmi[i])
            continue;
        s->pmi[i]->foreign++;
        armed = armed || !s->pmi[i]->armed ? armed : s->pmi[i];
    }
    if (armed && apic_lvt_perf_read() & LVT_MASKED) {
        armed->rearmed++;
        unmask(s);
    }
    if (s->counting)
        broker_release_counters();
}

/* The reader stopped what it reads, so unmasking now cannot bring a second one. */
static void defer(struct service *s)
{
    clear_status(s);
    unmask(s);
    if (s->counting)
        broker_release_counters();
}

static enum pmi_verdict verdict_of(unsigned causes)
{
    if (causes & ~(unsigned)CAUSE_LATER)
        return PMI_CLAIMED;
    return causes ? PMI_DEFERRED : PMI_FOREIGN;
}

enum pmi_verdict pmi_handle_both(struct pmi *one, struct pmi *other,
                                 enum pmi_verdict verdicts[2])
{
    struct service s = {.pmi = {one, other}};
    enum pmi_verdict verdict;

    begin(&s);
    verdict = verdict_of(s.causes[0] | s.causes[1]);
    for (unsigned i = 0; i < 2; i++) {
        if (s.causes[i] & CAUSE_LATER)
            s.pmi[i]->deferred++;
        if (s.causes[i] & CAUSE_BRANCHES)
            s.pmi[i]->claimed++;
        if (verdicts)
            verdicts[i] = verdict_of(s.causes[i]);
    }
    if (verdict == PMI_CLAIMED)
        take(&s);
    else if (verdict == PMI_DEFERRED)
        defer(&s);
    else
        not_ours(&s);
    return verdict;
}

enum pmi_verdict pmi_handle(struct pmi *pmi)
{
    return pmi_handle_both(pmi, NULL, NULL);
}

bool pmi_poll(struct pmi *pmi)
{
    struct service s = {.pmi = {pmi}};

    begin(&s);
    if (!(s.causes[0] & (CAUSE_BRANCHES | CAUSE_SAMPLES))) {
        if (s.counting)
            broker_release_counters();
        return false;
    }
    pmi->polled++;
    take(&s);
    return true;
}
