/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A PMI handler for checks: it counts, writes down what it finds, and does afterwards what the
 * check's question wants. ds/pmi is the driver's own; here the raw behaviour is the question.
 */
#ifndef HARNESS_PMI_LOG_H
#define HARNESS_PMI_LOG_H

#include "harness/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pmi_log {
    struct trace *trace;
    uint32_t entry;  /* what unmasking writes */
    uint32_t before; /* the LVT entry to put back */
    /* What the handler does. */
    bool stops;      /* leaves the trace off */
    bool resets;     /* resets the index */
    bool keeps_mask; /* leaves the LVT entry as delivery left it */
    unsigned limit;  /* interrupts after which the entry stays masked; 0 = none */
    /* What it found. */
    unsigned count;
    unsigned foreign; /* index below the threshold */
    size_t skid_least, skid_most;
    uint32_t lvt;      /* the entry, last time */
    uint64_t debugctl; /* last time */
    uint64_t rip, cs;  /* interrupted address, first time */
};

/* Installs the handler for the vector or for NMI, writes the entry; undone with the check. */
void pmi_log_open(struct pmi_log *log, struct trace *t, uint32_t lvt);

/* Traces bench.loop with this count in ring 0, IF = 1. */
void pmi_loop(struct pmi_log *log, unsigned count);
/* The same with IF = 0 and exactly this many records, the bracket's two included; >= 4. */
void pmi_records(struct pmi_log *log, unsigned records);
/* Opens a window for a pending interrupt. */
void pmi_swallow(void);

/* The address that a record of this vector's delivery leads to. */
uint64_t trace_vector_entry(unsigned vector);

#endif
