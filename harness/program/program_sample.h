/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program sampled while it runs: a counter of its instructions or branches leaves a record
 * every so many events, and the interrupt puts it into the trace, with the chain of the
 * program's frame pointers as it is then.
 *
 * A period that costs more time in the interrupt than in the program is doubled, as often as it
 * takes; each sample says what it stands for, and the end how many there would have been.
 */
#ifndef HARNESS_PROGRAM_PROGRAM_SAMPLE_H
#define HARNESS_PROGRAM_PROGRAM_SAMPLE_H

#include "ds/pebs.h"
#include "ds/pmi.h"
#include "guest/program.h"
#include "harness/options/options.h"
#include "harness/program/program_record.h"

/* Of the buffer that it is given. */
#define SAMPLER_BUFFER_BYTES 6144u

struct sampler {
    /* Of the caller, before the first start. */
    struct recorder *recorder;
    const struct program *program;
    const struct pmc *pmc;
    enum option_sample event;
    uint64_t asked; /* period */
    bool stacks;

    struct pebs pebs;
    struct pmi pmi;
    uint64_t period, next_period; /* of the sample to come, and of those behind it */
    uint64_t samples, dropped, events;
    unsigned doubled;
    unsigned window; /* interrupts in it so far, and the time inside and outside */
    uint64_t inside, outside, entered, left;
};

/* Forgets everything but the caller's fields; once before the first start. */
void sampler_prepare(struct sampler *s);
/* Sets the Debug Store up in area and buffer, and starts. NULL, or why it cannot. */
const char *sampler_start(struct sampler *s, struct ds_area *area, void *buffer);
/* What is in the buffer goes into the trace. May be started again. */
void sampler_stop(struct sampler *s);
/* In the handler of the interrupt, the program's CR3 being in force. */
void sampler_interrupt(struct sampler *s);
/* The record that says what became of it, once, behind the last sample. */
void sampler_finish(struct sampler *s);

#endif
