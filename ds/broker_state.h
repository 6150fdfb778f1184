/* SPDX-License-Identifier: BSD-2-Clause */
/* The broker's own state of one processor. For ds/broker*.c only. */
#ifndef DS_BROKER_STATE_H
#define DS_BROKER_STATE_H

#include "ds/broker.h"

/* An NMI can force a retry; more than this many in one call means that something is broken. */
#define BROKER_TRIES 1000u

/* Volatile: an NMI changes these under the code that it interrupts, never from elsewhere. */
struct broker_cpu {
    volatile uint64_t bits[BROKER_CLIENTS];
    volatile uint64_t unowned; /* DEBUGCTL bits found set that no client may wish */
    volatile uint64_t shadow;
    volatile uint64_t writes; /* committed writes of DEBUGCTL; only ever grows */
    volatile uint64_t counters[BROKER_CLIENTS];
    volatile uint64_t global;   /* control bits found set that no client has */
    volatile uint64_t sampling; /* what IA32_PEBS_ENABLE holds, or is about to */
    volatile bool counting;     /* the global control may hold a bit of a client */
    volatile unsigned held;     /* holds of all counters, one inside the other */
    volatile unsigned depth;    /* broker calls in progress, one inside the other */
    volatile bool moving_area;
    struct ds_area *volatile area;
    volatile uint32_t rearm; /* bit per client */
    uint64_t found_debugctl;
    uint64_t found_ds_area;
    uint64_t found_pebs;
    bool has_debugctl;
    bool has_ds_area;
};

struct broker_cpu *broker_cpu(void);
/* One more than the highest index that called broker_init. */
extern unsigned broker_processors;

/* What DEBUGCTL should hold now. */
uint64_t broker_value(const struct broker_cpu *cpu);

/*
 * Writes DEBUGCTL with client's mask as bits and publishes the mask; 0 or the vector of the
 * fault, then with the mask as before. Interrupts are off and cpu->depth is raised.
 */
int broker_commit(struct broker_cpu *cpu, enum broker_client client, uint64_t bits);

/* Every counter of ours off, at once and for good: the masks become empty. */
void broker_drop_counters(struct broker_cpu *cpu);

#endif
