/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sampling a program: counter and buffer, samples as records, and the period that it can bear.
 */
#include "harness/program/program_sample.h"

#include "hw/apic.h"
#include "hw/regs.h"
#include "hw/string.h"
#include "hw/trap.h"

#define CHAIN_MOST 64u /* return addresses */
#define BATCH      16u /* records an interrupt, where no stack is wanted */
#define WINDOW     64u /* interrupts after which their cost is looked at */
#define COST_MOST  3u  /* times as long in the interrupt as in the program */

/* The overflow takes as many events as the reset says, and the one behind it is recorded. */
#define EXTRA        1u
#define PERIOD_LEAST (EXTRA + 1)
#define PERIOD_MOST  (1ull << 31)

void sampler_prepare(struct sampler *s)
{
    s->period = s->asked < PERIOD_LEAST ? PERIOD_LEAST : s->asked;
    s->next_period = s->period;
    s->samples = s->dropped = s->events = 0;
    s->doubled = s->period > s->asked;
    s->window = 0;
    s->inside = s->outside = s->left = 0;
}

/* --- the stack */

static bool is_code(const struct program *p, uint64_t address)
{
    for (unsigned i = 0; i < p->plan.count; i++) {
        const struct elf_segment *segment = &p->plan.segments[i];

        if (segment->flags & ELF_EXECUTE && address - segment->start < segment->bytes)
            return true;
    }
    return false;
}

/*
 * From frame to frame, as long as each lies above the last one and in the program's stack and
 * returns into its code. Bounded, and nothing that it reads is trusted: where no frame pointer
 * is kept, rbp holds anything.
 */
static unsigned walk(const struct sampler *s, const struct pebs_sample *sample, uint64_t *chain)
{
    uint64_t low = sample->gprs[PEBS_RSP], frame = sample->gprs[PEBS_RBP];
    unsigned count = 0;

    while (count < CHAIN_MOST && frame >= low && frame % 8 == 0 &&
           frame <= PROGRAM_STACK_TOP - 16) {
        uint64_t pair[2]; /* the caller's frame, the return address */

        if (paging_read(frame, pair, sizeof(pair)) != sizeof(pair) ||
            !is_code(s->program, pair[1]))
            break;
        chain[count++] = pair[1];
        low = frame + 16;
        frame = pair[0];
    }
    return count;
}

/* --- samples as records */

struct body {
    struct wtr_samples head;
    struct wtr_sample sample;
    struct wtr_registers registers;
    uint64_t chain[CHAIN_MOST];
};

static void fill(const struct sampler *s, const struct pebs_sample *sample, struct body *body)
{
    struct wtr_registers *r = &body->registers;

    *r = (struct wtr_registers){.ip = sample->ip, .flags = sample->flags};
    memcpy(r->gprs, sample->gprs, sizeof(r->gprs));
    if (s->stacks) {
        paging_read(sample->gprs[PEBS_RSP], r->stack, sizeof(r->stack));
        body->sample.chain = walk(s, sample, body->chain);
    }
    body->head.payload =
        (uint32_t)(sizeof(body->sample) + sizeof(*r) + body->sample.chain * sizeof(uint64_t));
}

static void take(void *context, const struct pebs_sample *sample)
{
    static struct body body;
    struct sampler *s = context;

    body.head = (struct wtr_samples){.count = 1,
                                     .period = s->period,
                                     .event = s->event - OPTION_SAMPLE_INSTRUCTIONS,
                                     .form = WTR_SAMPLES_REGISTERS};
    body.sample = (struct wtr_sample){
        .ip = pebs_sample_address(sample),
        .tsc = sample->valid & PEBS_TSC ? sample->tsc : tsc_read(),
    };
    fill(s, sample, &body);
    s->events += s->period;
    s->period = s->next_period;
    if (!s->recorder->dropping && recorder_put(s->recorder, WTR_SAMPLES, &body,
                                               sizeof(body.head) + body.head.payload, NULL, 0))
        s->samples++;
    else
        s->dropped++;
}

/* --- what it costs */

static void slow_down(struct sampler *s)
{
    uint64_t period = s->next_period * 2;

    if (period > PERIOD_MOST ||
        pebs_set_reset(&s->pebs, 0, pebs_reset_value(s->pmc, 0, period - EXTRA), NULL) != DS_OK)
        return;
    s->next_period = period;
    s->doubled++;
}

void sampler_interrupt(struct sampler *s)
{
    s->entered = tsc_read();
    if (s->left)
        s->outside += s->entered - s->left;
    pmi_handle(&s->pmi);
    if (++s->window == WINDOW) {
        if (s->inside > COST_MOST * s->outside)
            slow_down(s);
        s->window = 0;
        s->inside = s->outside = 0;
    }
    s->left = tsc_read();
    s->inside += s->left - s->entered;
}

/* --- on and off */

const char *sampler_start(struct sampler *s, struct ds_area *area, void *buffer)
{
    enum pmc_event event = s->event == OPTION_SAMPLE_BRANCHES ? PMC_BRANCHES : PMC_INSTRUCTIONS;
    const struct pebs_counter counter = {
        .event = event, .reset = pebs_reset_value(s->pmc, 0, s->next_period - EXTRA)};
    const struct pebs_format *format = pebs_format_find(&ds_layout_64, s->pmc->pebs_format);
    struct pebs_config config = {
        .pmc = s->pmc,
        .base = (uintptr_t)buffer,
        .threshold_records = s->stacks ? 1 : BATCH,
        .user = true,
        .counters = &counter,
        .counter_count = 1,
        .groups = format && !format->record_bytes ? PEBS_GROUP_GPRS : 0,
        .tables = &s->program->space.cr3,
        .table_count = 1,
    };
    size_t bytes = format ? pebs_format_bytes(format, config.groups) : 0;
    const char *why = "the PEBS record format is not known";

    config.bytes = bytes ? SAMPLER_BUFFER_BYTES / bytes * bytes : 0;
    if (pebs_setup(&s->pebs, area, &config, &why) != DS_OK)
        return why;
    s->period = s->next_period;
    s->left = 0;
    s->pmi = (struct pmi){.pebs = &s->pebs, .samples = take, .samples_context = s};
    if (pmi_arm(&s->pmi, LVT_DELIVERY_FIXED | VECTOR_PMI) != DS_OK)
        return "the local APIC refuses the performance entry";
    return pebs_start(&s->pebs) == DS_OK ? NULL : "the counter cannot be started";
}

void sampler_stop(struct sampler *s)
{
    pebs_stop(&s->pebs);
    pebs_drain(&s->pebs, SIZE_MAX, take, s, NULL);
    pmi_disarm(&s->pmi);
    pebs_teardown(&s->pebs);
}

void sampler_finish(struct sampler *s)
{
    uint64_t all = s->samples + s->dropped, wanted = s->events / s->asked;
    struct wtr_sampling body = {
        .asked = s->asked,
        .period = s->next_period,
        .samples = s->samples,
        .skipped = wanted > all ? wanted - all : 0,
        .dropped = s->dropped,
        .event = s->event - OPTION_SAMPLE_INSTRUCTIONS,
        .doubled = s->doubled,
    };

    recorder_put(s->recorder, WTR_SAMPLING, &body, sizeof(body), NULL, 0);
}
