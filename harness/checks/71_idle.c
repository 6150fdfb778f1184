/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Traces between sleeps.
 *
 * Claim: SDM Vol. 3, "Branch Trace Store (BTS)". Every branch leaves its record, also the first
 *   ones after the processor has slept. Published errata name that place: the source of the
 *   first branch behind a change of frequency or a sleep state.
 * How: every processor that is there, at most MOST of them, at once and in turn traces a short
 *   loop and halts until its own timer wakes it. Each trace must be the bracket's call, the
 *   rounds of the loop and the return, record by record. The long count is for a soak.
 * Wrong if: HLT enters no deep state here, as under every emulator; how often it slept is
 *   printed, how deep cannot be known.
 */
#define CHECK_GROUP "71 bts.idle"
#include "ds/bracket.h"
#include "ds/broker.h"
#include "harness/fixture/trace.h"
#include "hw/apic.h"
#include "hw/regs.h"

#define MOST      8
#define LOOPS     24u
#define RECORDS   (LOOPS + 1) /* the call, all rounds but the last, the return */
#define NAP_TICKS 2000u

struct part {
    struct trace trace;
    unsigned rounds, wrong, refused, naps;
    uint64_t top; /* where each round begins */
};

/* LOOPS - 1 taken branches to the address that it returns. */
static uint64_t loop(void *arg)
{
    uint64_t rounds = LOOPS, top;

    (void)arg;
    __asm__ volatile("lea 1f(%%rip), %1\n1:\tdec %0\n\tjnz 1b"
                     : "+r"(rounds), "=&r"(top)
                     :
                     : "cc");
    return top;
}

static bool as_expected(const struct part *p)
{
    const struct bts_record *r = (const void *)p->trace.base;

    if (p->trace.area->bts_index - p->trace.base != RECORDS * sizeof(*r))
        return false;
    for (unsigned i = 1; i + 1 < RECORDS; i++)
        if (r[i].to != p->top || r[i].from != r[1].from || r[i].from < p->top)
            return false;
    return r[0].from == (uintptr_t)ds_bracket_call &&
           r[RECORDS - 1].to == (uintptr_t)ds_bracket_return;
}

/* Another interrupt may end the sleep; then it was short, no more. */
static void nap(struct part *p)
{
    apic_timer_oneshot_on(VECTOR_TEST, NAP_TICKS);
    __asm__ volatile("sti\n\thlt\n\tcli" ::: "memory");
    apic_timer_oneshot_on(VECTOR_TEST, 0);
    __asm__ volatile("sti\n\tnop\n\tcli" ::: "memory"); /* a tick that came meanwhile */
    p->naps++;
}

static uint64_t trace_and_nap(void *arg)
{
    struct part *p = arg;

    cr3_write(cr3_read()); /* windows were mapped anew since this processor looked */
    for (unsigned i = 0; i < p->rounds; i++) {
        if (bts_bracket(&p->trace.bts, loop, NULL, &p->top) == DS_OK)
            p->wrong += !as_expected(p);
        else
            p->refused++;
        bts_reset(&p->trace.bts);
        nap(p);
    }
    broker_set_ds_area(NULL);
    return 0;
}

static bool woken(struct trap_frame *frame, void *arg)
{
    (void)frame;
    (void)arg;
    return true;
}

static struct trap_slot before;

static void put_back(void *arg)
{
    (void)arg;
    trap_set(VECTOR_TEST, before.handler, before.arg);
}

CHECK("bts.idle.churn", MUST, "GEN-21", NEED_BTS)
{
    static struct part parts[MOST];
    unsigned rounds = run_count(run, 5000), count = 1;

    while (count < MOST && run->platform->other(count))
        count++;
    before = trap_set(VECTOR_TEST, woken, NULL);
    run_defer(run, put_back, NULL);
    for (unsigned i = 0; i < count; i++) {
        parts[i] = (struct part){.rounds = rounds};
        trace_open(run, &parts[i].trace, &(struct trace_setup){.records = 2 * RECORDS});
    }
    for (unsigned i = 1; i < count; i++)
        NEED(run, run->platform->other_run(i, trace_and_nap, &parts[i]), "processor %u is busy",
             i);
    trace_and_nap(&parts[0]);
    for (unsigned i = 1; i < count; i++) {
        uint64_t value;

        NEED(run, run->platform->other_wait(i, &value), "processor %u does not answer", i);
    }
    for (unsigned i = 0; i < count; i++) {
        NEED(run, !parts[i].refused, "processor %u refused %u traces", i, parts[i].refused);
        EXPECT(run, !parts[i].wrong, "processor %u: %u of %u traces are wrong", i,
               parts[i].wrong, parts[i].naps);
    }
    run_detail(run, "%u processors slept %u times each", count, rounds);
}
