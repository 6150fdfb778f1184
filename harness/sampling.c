/* SPDX-License-Identifier: BSD-2-Clause */
/* Sampling inside a check. */
#include "harness/sampling.h"

#include "ds/broker.h"
#include "harness/arena.h"
#include "harness/witness.h"
#include "hw/regs.h"
#include "hw/string.h"

#define BRANCHES 64 /* room in the BTS half */

static void need_format(struct sampling *s, uint64_t groups)
{
    const struct pmc *pmc = &s->counting.pmc;

    s->format = pebs_format_find(&ds_layout_64, pmc->pebs_format);
    s->record_bytes = s->format ? pebs_format_bytes(s->format, groups) : 0;
    if (s->record_bytes)
        return;
    run_skip(s->run, "PEBS record format %u is not known", pmc->pebs_format);
    run_stop(s->run);
}

/* The buffer of a second trace has canaries and guards around it; its content is set here. */
static void open_buffer(struct sampling *s, const struct sampling_setup *setup)
{
    uint64_t bytes =
        (setup->records ? setup->records : 64) * s->record_bytes + setup->extra_bytes;

    trace_open(s->run, &s->buffer,
               &(struct trace_setup){.records = bytes / sizeof(struct bts_record) + 1,
                                     .keep = 1,
                                     .break_rules = true});
    s->base = s->buffer.base;
    s->end = s->base + bytes;
    s->buffer.end = s->end; /* what lies between is canary too */
    memset((void *)(uintptr_t)s->base, CANARY_BYTE,
           s->buffer.window + s->buffer.pages * PAGE_BYTES - s->base);
}

static void close_sampling(void *arg)
{
    (void)arg;
    pmc_global_control_write(0);
    pmc_pebs_enable_write(0);
}

#define LATE_FIRST 10u /* events to the overflow */
#define LATE_AGAIN 4096u
#define LATE_MOST                                                                              \
    64u /* more than that is no delay of arming, and the checks say what it is                 \
         */

/*
 * How many events the record comes late by: one counter samples, the fixed one tells how many
 * events there were in all. Only a plain answer counts: one record, and a counter that was
 * reloaded not long after its overflow. A processor that is wrong otherwise has none.
 */
static unsigned measure_late(struct sampling *s)
{
    struct pmc *pmc = &s->counting.pmc;
    uint64_t events, since, left;

    if (!pmc_exists(pmc, PMC_FIXED))
        return 0;
    sampling_add(s, 0, PMC_INSTRUCTIONS, PMC_USR, LATE_FIRST, LATE_AGAIN);
    counting_add(&s->counting, PMC_FIXED, PMC_INSTRUCTIONS, PMC_USR);
    sampling_loop(s, (LATE_FIRST + LATE_MOST) / 2);
    events = counting_read(&s->counting, PMC_FIXED);
    left = pmc_mask(pmc, 0) + 1 - counting_read(&s->counting, 0);
    since = left <= LATE_AGAIN ? LATE_AGAIN - left : events;
    if (sampling_count(s) != 1 || since + LATE_FIRST + 1 > events)
        events = since + LATE_FIRST + 1;
    s->trace.area->pebs_reset[0] = 0;
    sampling_restart(s);
    return (unsigned)(events - since - LATE_FIRST - 1);
}

void sampling_need_exact(struct sampling *s)
{
    if (!s->late)
        return;
    run_skip(s->run, "a record comes %u events after the next, this asks for the next",
             s->late);
    run_stop(s->run);
}

void sampling_expect_count(struct sampling *s, uint64_t exact, const char *what)
{
    size_t count = sampling_count(s);

    EXPECT(s->run, count == exact || (s->late && count < exact), "%s: %zu, expected %llu%s",
           what, count, (unsigned long long)exact, s->late ? " at most" : "");
}

void sampling_open(struct run *run, struct sampling *s, const struct sampling_setup *setup)
{
    uint64_t groups = setup->groups | (setup->bare ? 0 : PEBS_GROUP_GPRS);
    struct ds_area *area;

    memset(s, 0, sizeof(*s));
    s->run = run;
    s->groups = groups;
    trace_open(run, &s->trace,
               &(struct trace_setup){.records = BRANCHES,
                                     .interrupt = setup->btint,
                                     .threshold_records = setup->threshold_branches});
    counting_open(run, &s->counting);
    need_format(s, groups);
    open_buffer(s, setup);
    run_defer(run, close_sampling, s);
    if (s->counting.pmc.pebs_baseline)
        NEED(run, pmc_pebs_data_write(groups) == 0, "the groups of a record are refused");
    area = s->trace.area;
    area->pebs_base = area->pebs_index = s->base;
    area->pebs_maximum = s->end;
    area->pebs_threshold = setup->threshold_records
                               ? s->base + setup->threshold_records * s->record_bytes
                               : s->end + s->record_bytes;
    NEED(run, broker_set_ds_area(area) == DS_OK, "the area is refused");
    memcpy(&s->before, area, sizeof(s->before));
    s->late = measure_late(s);
}

static uint64_t *reset_field(struct sampling *s, unsigned counter)
{
    struct ds_area *area = s->trace.area;

    if (counter < PMC_FIXED)
        return &area->pebs_reset[counter];
    /* Behind eight general ones in format 4, behind 32 in what came later. */
    return s->counting.pmc.pebs_format <= 4 ? &area->pebs_reset[8 + counter - PMC_FIXED]
                                            : &area->pebs_fixed_reset[counter - PMC_FIXED];
}

void sampling_add(struct sampling *s, unsigned counter, enum pmc_event event, unsigned flags,
                  uint64_t first, uint64_t again)
{
    /* The bit that asks for the groups is younger than the groups are. */
    if (s->counting.pmc.pebs_baseline && s->groups &&
        pmc_program(counter, event, flags | PMC_ADAPTIVE) == 0)
        flags |= PMC_ADAPTIVE;
    counting_add(&s->counting, counter, event, flags);
    counting_until(&s->counting, counter, first);
    *reset_field(s, counter) = -again & pmc_mask(&s->counting.pmc, counter);
    s->enable |= 1ull << counter;
    memcpy(&s->before, s->trace.area, sizeof(s->before));
}

void sampling_restart(struct sampling *s)
{
    counting_remove_all(&s->counting);
    s->enable = 0;
    s->trace.area->pebs_index = s->index = s->base;
    memcpy(&s->before, s->trace.area, sizeof(s->before));
    memset((void *)(uintptr_t)s->base, CANARY_BYTE, s->end - s->base);
}

uint64_t sampling_call(struct sampling *s, uint64_t (*fn)(void *), void *arg)
{
    uint64_t value;

    NEED(s->run, pmc_pebs_enable_write(s->enable) == 0, "IA32_PEBS_ENABLE refuses %llx",
         (unsigned long long)s->enable);
    value = counting_call(&s->counting, fn, arg);
    pmc_pebs_enable_write(0);
    s->index = s->trace.area->pebs_index;
    return value;
}

void sampling_workload(struct sampling *s, const struct workload *w, unsigned ring,
                       struct guest_run *with)
{
    NEED(s->run, pmc_pebs_enable_write(s->enable) == 0, "IA32_PEBS_ENABLE refuses %llx",
         (unsigned long long)s->enable);
    counting_workload(&s->counting, w, ring, with);
    pmc_pebs_enable_write(0);
    s->index = s->trace.area->pebs_index;
}

/* --- the loop */

const struct workload *sampling_loop_workload(struct run *run)
{
    return trace_find(run, "bench.loop");
}

void sampling_open_one(struct run *run, struct sampling *s, const struct sampling_setup *setup,
                       uint64_t period)
{
    sampling_open(run, s, setup);
    sampling_add(s, 0, PMC_INSTRUCTIONS, PMC_USR, period, period);
}

void sampling_loop(struct sampling *s, uint64_t rounds)
{
    struct guest_run r = {.argument = rounds};

    sampling_workload(s, sampling_loop_workload(s->run), 3, &r);
}

uint64_t sampling_loop_length(struct run *run, uint64_t rounds)
{
    struct oracle oracle = witness_follow(run, sampling_loop_workload(run), rounds);

    return oracle.instructions;
}

/* --- the result */

size_t sampling_count(const struct sampling *s)
{
    return (s->index - s->base) / s->record_bytes;
}

void sampling_drop_last(struct sampling *s)
{
    if (sampling_count(s))
        s->index -= s->record_bytes;
}

struct pebs_sample sampling_record(struct sampling *s, size_t i)
{
    struct pebs_sample sample;
    size_t at = i * s->record_bytes;

    REQUIRE(s->run,
            s->index >= s->base && s->index <= s->end &&
                (i + 1) * s->record_bytes <= s->index - s->base,
            "there is no record %zu: the index is %llx, the base %llx", i,
            (unsigned long long)s->index, (unsigned long long)s->base);
    REQUIRE(s->run,
            pebs_next(s->format, (const void *)(uintptr_t)s->base, s->index - s->base, &at,
                      &sample),
            "record %zu is none", i);
    return sample;
}

void sampling_expect_untouched(struct sampling *s, const char *when)
{
    struct ds_area now;
    uint64_t from = s->index > s->base ? s->index : s->base;
    bool clean = true;

    memcpy(&now, s->trace.area, sizeof(now));
    now.pebs_index = s->before.pebs_index;
    EXPECT(s->run, memcmp(&now, &s->before, sizeof(now)) == 0,
           "%s: a field of the DS area other than the PEBS index changed", when);
    EXPECT(s->run, s->index >= s->base && s->index <= s->end, "%s: the index left the buffer",
           when);
    for (; from < s->end && clean; from++)
        clean = *(const uint8_t *)(uintptr_t)from == CANARY_BYTE;
    EXPECT(s->run, clean, "%s: a byte behind the index was written", when);
    trace_expect_untouched(&s->buffer, when);
}

/* --- what the oracle saw */

struct step_list {
    struct sampled_step *steps;
    size_t count;
};

static void keep_step(struct oracle *oracle, uint64_t at, const struct trap_frame *after)
{
    struct step_list *list = oracle->listener;
    struct sampled_step *step = &list->steps[list->count];

    if (list->count == SAMPLING_STEPS)
        return;
    list->count++;
    *step = (struct sampled_step){.at = at,
                                  .rip = after->rip,
                                  .flags = after->rflags,
                                  .gprs = {after->rax, after->rcx, after->rdx, after->rbx,
                                           after->rsp, after->rbp, after->rsi, after->rdi,
                                           after->r8, after->r9, after->r10, after->r11,
                                           after->r12, after->r13, after->r14, after->r15}};
}

struct sampled_steps sampling_steps(struct run *run, const struct workload *w,
                                    uint64_t argument)
{
    static struct sampled_step *pool;
    struct oracle oracle = {.edges = witness_edges(run), .max = WITNESS_EDGES};
    struct guest_run r = {.workload = w, .argument = argument};
    struct witness_counts counts;
    struct step_list list;

    if (!pool)
        pool = arena_alloc(SAMPLING_STEPS * sizeof(*pool));
    NEED(run, pool, "the arena has no room for the oracle's steps");
    list = (struct step_list){.steps = pool};
    oracle.on_step = keep_step;
    oracle.listener = &list;
    NEED(run, oracle_step(trace_guest(run), &r, &oracle), "the oracle lost %s: %s", w->name,
         oracle.error);
    counts = witness_counts(&oracle);
    return (struct sampled_steps){
        .steps = pool,
        .count = list.count,
        .instructions = oracle.instructions,
        .whole = !counts.events && counts.entries == 1 &&
                 (list.count == SAMPLING_STEPS || list.count + 1 == oracle.instructions)};
}

/* Bits that the oracle's own stepping sets, and the one that says nothing. */
#define FLAGS_IGNORED (RFLAGS_TF | RFLAGS_RF)

/* Name of the first thing that differs; NULL when the record is that of the step. before: the
 * step before it, NULL at the start. */
static const char *differs(const struct sampling *s, const struct pebs_sample *sample,
                           const struct sampled_step *before, const struct sampled_step *step)
{
    static const char *const names[PEBS_GPR_COUNT] = {"RAX", "RCX", "RDX", "RBX", "RSP", "RBP",
                                                      "RSI", "RDI", "R8",  "R9",  "R10", "R11",
                                                      "R12", "R13", "R14", "R15"};
    bool trap = s->counting.pmc.pebs_trap;
    const struct sampled_step *state = trap ? step : before;

    if (sample->valid & PEBS_EVENTING_IP && sample->eventing_ip != step->at)
        return "eventing IP";
    if (sample->valid & PEBS_IP && sample->ip != (trap ? step->rip : step->at))
        return "IP";
    if (!state)
        return NULL; /* registers of before the first step: nobody wrote them down */
    if (sample->valid & PEBS_FLAGS && (sample->flags ^ state->flags) & ~FLAGS_IGNORED)
        return "RFLAGS";
    for (unsigned i = 0; i < PEBS_GPR_COUNT && sample->valid & PEBS_GPRS; i++)
        if (sample->gprs[i] != state->gprs[i])
            return names[i];
    return NULL;
}

/* The thing that kept the best of all steps from being the record. */
static const char *closest(const struct sampling *s, const struct pebs_sample *sample,
                           const struct sampled_steps *list, size_t from)
{
    const char *best = "eventing IP";

    for (size_t at = from; at < list->count; at++) {
        const struct sampled_step *step = &list->steps[at];
        const char *what = differs(s, sample, at ? step - 1 : NULL, step);

        if (strcmp(what, "eventing IP") != 0 &&
            (strcmp(best, "eventing IP") == 0 || strcmp(best, "IP") == 0))
            best = what;
    }
    return best;
}

size_t sampling_match(struct sampling *s, const struct workload *w,
                      const struct sampled_steps *list)
{
    const struct sampled_step *steps = list->steps;
    size_t at = 0, records = sampling_count(s);

    for (size_t i = 0; i < records; i++) {
        struct pebs_sample sample = sampling_record(s, i);
        size_t from = at;
        char place[48];

        while (at < list->count && differs(s, &sample, at ? &steps[at - 1] : NULL, &steps[at]))
            at++;
        if (at == list->count && at == SAMPLING_STEPS)
            return i; /* beyond what was kept */
        REQUIRE(s->run, at < list->count, "%s: record %zu at %s is no step: %s", w->name, i,
                trace_symbol(pebs_sample_address(&sample), place, sizeof(place)),
                closest(s, &sample, list, from));
        at++;
    }
    run_held(s->run);
    return records;
}
