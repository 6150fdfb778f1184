/* SPDX-License-Identifier: BSD-2-Clause */
/* Generated programs under three witnesses, and what is said of one on which they differ. */
#include "harness/fuzz/fuzz.h"

#include "harness/check/format.h"
#include "harness/check/out.h"
#include "harness/options/options.h"
#include "hw/regs.h"
#include "hw/string.h"

/* One array of the oracle's for both lists of edges. */
#define EDGES_MAX     (WITNESS_EDGES / 2)
#define STEP_BUDGET   200000
#define TRACE_RECORDS 16384 /* the longest program's, and those of the kernel on its events */
#define TELL_EVERY    1000  /* programs; a long silence is taken for a hang */
#define LINE_BYTES    32
#define LINES_MAX     14

_Static_assert(GENERATE_PAGES == GUEST_MADE_PAGES, "a program fills the pages made for it");

static struct workload workload_of(const struct fuzz *f)
{
    uint64_t entry = f->program.base + f->program.origin;

    return (struct workload){
        .name = "generated",
        .entry = (int32_t)(entry - trace_guest(f->run)->user.base),
        .flags = WORKLOAD_RING3,
    };
}

static enum fuzz_outcome differ(struct fuzz *f, const char *why)
{
    f->why = why;
    return FUZZ_DIFFER;
}

static enum fuzz_outcome unusable(struct fuzz *f, const char *why)
{
    f->why = why;
    return FUZZ_UNUSABLE;
}

static enum fuzz_outcome attempt_traced(struct fuzz *f, const struct workload *w,
                                        uint64_t result)
{
    struct guest_run r = {.workload = w, .ring = 3};
    struct guest *g = trace_guest(f->run);
    struct guest_call call = guest_prepare(g, &r);
    struct compare_result compared;
    uint64_t returned = 0;
    enum ds_error error = bts_bracket(&f->trace.bts, call.fn, call.arg, &returned);
    const char *why;

    guest_finish(g, &r, returned);
    NEED(f->run, error == DS_OK, "bts_bracket refused: %s", ds_strerror(error));
    trace_collect(&f->trace);
    NEED(f->run, !f->trace.wrapped, "a program leaves more records than there is room for");
    f->stored += f->trace.count;
    why = trace_difference(&f->trace, f->edges, f->edge_count, 3, &compared);
    if (why)
        return differ(f, why);
    if (r.end != GUEST_RETURNED || r.result != result)
        return differ(f, "the traced run came to another end");
    f->records += compared.matched;
    return FUZZ_AGREE;
}

enum fuzz_outcome fuzz_attempt(struct fuzz *f)
{
    static uint8_t bytes[GENERATE_PAGES * PAGE_BYTES];
    struct expected_edge *foreseen = witness_edges(f->run) + EDGES_MAX;
    struct guest *g = trace_guest(f->run);
    struct guest_place place = guest_place(g, 3, 0);
    struct compare_result compared;
    struct workload w;
    struct guest_run r = {.workload = &w};
    uint64_t result;
    size_t count;

    if (!generate_emit(&f->program, bytes, sizeof(bytes)))
        return unusable(f, "it is too long");
    NEED(f->run,
         guest_load(g, bytes + f->program.origin, f->program.origin,
                    (size_t)(f->program.end - f->program.origin)),
         "no page for the code");
    w = workload_of(f);
    f->oracle = (struct oracle){
        .edges = witness_edges(f->run), .max = EDGES_MAX, .step_budget = f->step_budget};
    if (!oracle_step(g, &r, &f->oracle))
        return unusable(f, f->oracle.error);
    count = generate_walk(&f->program, &place, foreseen, EDGES_MAX, &result);
    if (count > EDGES_MAX || f->oracle.count > EDGES_MAX)
        return unusable(f, "it takes too many branches");
    f->edges = count ? foreseen : f->oracle.edges;
    f->edge_count = count ? count : f->oracle.count;
    f->known += count > 0;
    if (count && !witness_agrees(f->run, foreseen, count, &f->oracle, &compared))
        return differ(f, "the oracle saw something else than foreseen");
    if (count && r.result != result)
        return differ(f, "the result is another one than foreseen");
    if (f->traced)
        return attempt_traced(f, &w, r.result);
    f->records += f->oracle.count;
    return FUZZ_AGREE;
}

/* --- what is said */

static void print_code(struct fuzz *f)
{
    const struct generated *p = &f->program;
    char hex[2 * LINE_BYTES + 1];
    unsigned lines = 0;

    for (unsigned at = p->origin; at < p->end && lines < LINES_MAX; lines++) {
        unsigned start = at;
        size_t used = 0;

        /* The guest's mapping, which is also in force here. */
        for (; at < p->end && used < 2 * LINE_BYTES; at++)
            used += fmt(hex + used, sizeof(hex) - used, "%02x",
                        *(const uint8_t *)(uintptr_t)(p->base + at));
        run_detail(f->run, "code made+%x: %s", start, hex);
    }
}

/* The same judgement once more, aloud, with the evidence for the report. */
static void show_difference(struct fuzz *f)
{
    struct workload w = workload_of(f);

    if (f->edges != f->oracle.edges &&
        !witness_expect(f->run, &w, f->edges, f->edge_count, &f->oracle))
        return;
    if (f->traced)
        trace_expect(&f->trace, f->edges, f->edge_count, 3, NULL);
}

static unsigned nodes_on(const struct generated *p)
{
    unsigned on = 0;

    for (unsigned i = 0; i < p->count; i++)
        on += !p->nodes[i].off;
    return on;
}

static void report(struct fuzz *f, unsigned number)
{
    uint64_t seed = f->run->options->seed;
    unsigned nodes = f->program.count, runs;

    run_fail(f->run, "program %u of seed %lu: %s", number, seed, f->why);
    run_detail(f->run, "that program alone: seed=%lu fuzz=1", seed + number);
    runs = fuzz_shrink(f);
    run_detail(f->run, "smallest that differs: %u of %u nodes, after %u runs",
               nodes_on(&f->program), nodes, runs);
    if (fuzz_again(f))
        show_difference(f);
    else
        run_detail(f->run, "it does not differ any more");
    print_code(f);
}

static void tell(const struct fuzz *f, unsigned programs, uint64_t start)
{
    uint64_t khz = f->run->platform->tsc_khz;

    out_line("# %s: %u programs, %u foreseen, %lu records compared, %lu ms",
             f->run->check->name, programs, f->known, f->records,
             khz ? (tsc_read() - start) / khz : 0);
}

static void begin(struct fuzz *f, struct run *run, bool traced)
{
    memset(f, 0, sizeof(*f));
    f->run = run;
    f->traced = traced;
    f->step_budget = STEP_BUDGET;
    f->program.base = guest_made_base();
    f->program.data = trace_guest(run)->data;
    if (traced)
        trace_open(run, &f->trace, &(struct trace_setup){.records = TRACE_RECORDS});
}

void fuzz_programs(struct run *run, bool traced, unsigned count)
{
    static struct fuzz f;
    uint64_t start = tsc_read();
    enum fuzz_outcome outcome = FUZZ_AGREE;
    unsigned done = 0;

    begin(&f, run, traced);
    while (done < count && outcome == FUZZ_AGREE) {
        generate(&f.program, run->options->seed + done);
        outcome = fuzz_attempt(&f);
        if (++done % TELL_EVERY == 0)
            tell(&f, done, start);
    }
    tell(&f, done, start);
    NEED(run, outcome != FUZZ_UNUSABLE, "program %u of seed %lu: %s", done - 1,
         run->options->seed, f.why);
    if (outcome == FUZZ_DIFFER)
        report(&f, done - 1);
    EXPECT(run, f.known > 0 || count < 8, "no program's edges were foreseen");
}
