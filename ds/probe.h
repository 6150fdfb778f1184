/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The gate: does this processor really have BTS? CPUID and MISC_ENABLE promise it; hypervisors
 * and emulators are known to promise it falsely, and TR with a bad DS area can take a real
 * machine down. So nothing is believed that did not read back, and TR comes last.
 * Source: SDM Vol. 3, "Debug Store (DS) Mechanism", "BTS and DS Save Area".
 */
#ifndef DS_PROBE_H
#define DS_PROBE_H

#include <stdbool.h>
#include <stdint.h>

enum ds_probe_result {
    DS_PROBE_PRESENT,
    DS_PROBE_NO_DS,           /* CPUID does not enumerate DS */
    DS_PROBE_NO_MISC_ENABLE,  /* IA32_MISC_ENABLE cannot be read */
    DS_PROBE_BTS_UNAVAILABLE, /* IA32_MISC_ENABLE says that BTS is absent */
    DS_PROBE_NO_DEBUGCTL,     /* IA32_DEBUGCTL cannot be read */
    DS_PROBE_IN_USE,          /* TR is set already: somebody else traces */
    DS_PROBE_BTS_FAULTS,      /* writing bit 7 faults */
    DS_PROBE_BTS_DROPPED,     /* bit 7 does not read back */
    DS_PROBE_DS_AREA_FAULTS,  /* IA32_DS_AREA faults on a good address */
    DS_PROBE_DS_AREA_DROPPED, /* IA32_DS_AREA does not read back */
    DS_PROBE_AREA_UNUSABLE,   /* the probe's own area is not mapped as it must be */
    DS_PROBE_TR_FAULTS,       /* writing bit 6 faults */
    DS_PROBE_TR_DROPPED,      /* bits 6 and 7 do not read back together */
    DS_PROBE_RESULTS,
};

struct ds_probe_report {
    enum ds_probe_result result;
    const char *reason; /* one line, for a SKIP */
    unsigned stage;     /* the stage that decided: 0 enumeration, 1 bit 7 alone, 2 with TR */
    int vector;         /* of the fault, for the results that speak of one */
    bool dtes64;
    bool ds_cpl;
    uint64_t misc_enable; /* valid from DS_PROBE_BTS_UNAVAILABLE on */
    uint64_t debugctl;    /* what read back in the deciding step */
    uint64_t moved;       /* bytes that the index moved in stage 2, though nothing branched: a
                             finding for a check, not for the gate */
};

/*
 * Asks this processor, with interrupts masked for the time of stage 2. DEBUGCTL, DS_AREA and
 * the LVT performance entry are afterwards as before. Needs broker_init. One processor at a
 * time: the area it uses is its own static page.
 */
enum ds_probe_result ds_probe(struct ds_probe_report *report);

/*
 * The first record on a machine, behind a gate that said DS_PROBE_PRESENT: one branch between
 * two writes, in the gate's own buffer with room for more, so that a machine that cannot bear
 * to be traced shows it here. What was stored is told, not judged.
 */
struct ds_first_record {
    enum ds_probe_result result; /* anything but DS_PROBE_PRESENT: it did not come to that */
    uint64_t bytes;              /* that the index moved */
    bool expected;               /* one record, of that branch */
};
void ds_probe_first_record(struct ds_first_record *found);

/* The reason of a result, as a SKIP shows it. */
const char *ds_probe_reason(enum ds_probe_result result);

#endif
