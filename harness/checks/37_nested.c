/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Exceptions while an exception is being delivered, and events that are held back.
 *
 * Claim: SDM Vol. 3, "Interrupt 8 - Double Fault Exception (#DF)", "Last Branch Records". The
 *   event that reaches its handler leaves a record, from the instruction that caused it;
 *   whether the one that did not reach its own leaves one is open. An interrupt inside a REP
 *   is recorded from the REP instruction. What MOV SS holds back comes behind the next branch.
 * How: the gate of #UD or #GP is marked not present, so that its delivery ends in #NP or #DF;
 *   a timer fires while long REPs run, until it has hit one in the middle.
 * Wrong if: the handler of #DF returns: the processor gives no promise for it. It goes on at
 *   another instruction, with a frame that it built itself.
 */
#define CHECK_GROUP "37 bts.nested"
#include "harness/fixture/pmi_log.h"
#include "harness/fixture/trace.h"
#include "hw/apic.h"

#define GATE_BYTES   16
#define GATE_TYPE    5 /* byte with the present bit */
#define GATE_PRESENT 0x80

static void close_gate(void *arg)
{
    *(uint8_t *)arg |= GATE_PRESENT;
}

static void open_gate(struct run *run, unsigned vector)
{
    uint8_t *type = (uint8_t *)trap_idt() + vector * GATE_BYTES + GATE_TYPE;

    run_defer(run, close_gate, type);
    *type &= (uint8_t)~GATE_PRESENT;
}

static bool resume_elsewhere(struct trap_frame *frame, void *arg)
{
    ++*(unsigned *)arg;
    frame->rip = frame->r15;
    return true;
}

static void close_double_fault(void *arg)
{
    (void)arg;
    trap_set(VECTOR_DF, NULL, NULL);
}

/* Where the workload's exceptions end instead of at their own handler. */
struct detour {
    const char *workload;
    unsigned first, second;
};

#define SOURCES_MAX 16

/* The instructions that fault, in order. */
static size_t sources_of(struct run *run, const struct workload *w, uint64_t out[SOURCES_MAX])
{
    size_t count, used = 0;
    const struct expected_edge *e = trace_expected(run, w, 3, 0, &count);

    for (size_t i = 0; i < count && used < SOURCES_MAX; i++)
        if (e[i].kind == EDGE_EXCEPTION)
            out[used++] = e[i].from;
    return used;
}

static void trace_detour(struct run *run, struct trace *t, const struct detour *d)
{
    static unsigned handled;

    trace_open(run, t, &(struct trace_setup){.records = 2048});
    trace_guest(run);
    if (d->second == VECTOR_DF) {
        trap_set(VECTOR_DF, resume_elsewhere, &handled);
        run_defer(run, close_double_fault, NULL);
    }
    open_gate(run, d->first);
    trace_workload(t, trace_find(run, d->workload), 3, NULL);
}

/* "last" or "each": whether the event that did not reach its handler is recorded, too. */
static const char *records_of(struct run *run, const struct detour *d)
{
    uint64_t sources[SOURCES_MAX];
    size_t want = sources_of(run, trace_find(run, d->workload), sources);
    size_t firsts = 0, seconds = 0;
    struct trace t;

    trace_detour(run, &t, d);
    for (size_t i = 0; i < t.count; i++) {
        firsts += t.records[i].to == trace_vector_entry(d->first);
        if (t.records[i].to != trace_vector_entry(d->second))
            continue;
        EXPECT(run, seconds < want && t.records[i].from == sources[seconds],
               "record %zu: vector %u from %lx", i, d->second, t.records[i].from);
        seconds++;
    }
    EXPECT(run, seconds == want, "%zu records of vector %u for %zu faults", seconds, d->second,
           want);
    EXPECT(run, firsts == 0 || firsts == seconds, "%zu records of vector %u, %zu of %u", firsts,
           d->first, seconds, d->second);
    trace_expect_sources(&t);
    run_deferred_now(run);
    return firsts ? "each" : "last";
}

CHECK("bts.nested.during_delivery", CHARACTERISE, "GEN-22 GEN-06", NEED_BTS)
{
    static const struct detour ud = {"fault.ud", VECTOR_UD, VECTOR_NP};

    run_observe(run, "bts.nested-records", "%s", records_of(run, &ud));
}

CHECK("bts.nested.double_fault", CHARACTERISE, "GEN-22", NEED_BTS)
{
    static const struct detour gp = {"fault.gp_address", VECTOR_GP, VECTOR_DF};

    run_observe(run, "bts.df-records", "%s", records_of(run, &gp));
}

/* --- what is held back, and what comes in the middle */

CHECK("bts.event.trap_after_mov_ss", MUST, "GEN-08", NEED_BTS)
{
    const struct workload *w = trace_find(run, "shadow.mov_ss");

    for (unsigned ring = 0; ring <= 3; ring += 3) {
        struct compare_result result;
        const struct expected_edge *e;
        struct trace t;
        size_t count;

        trace_open(run, &t, &(struct trace_setup){.records = 2048});
        trace_workload(&t, w, ring, NULL);
        e = trace_expected(run, w, ring, 0, &count);
        trace_match(&t, e, count, ring, &result);
        trace_expect_sources(&t);
        run_deferred_now(run);
    }
}

#define ROUNDS 5

struct arrival {
    uint64_t rip, rcx;
};

static void on_timer(struct guest_run *r, struct trap_frame *frame)
{
    struct arrival *arrival = r->listener;

    if (frame->vector == VECTOR_TIMER)
        *arrival = (struct arrival){frame->rip, frame->rcx};
}

/* F3 AC; the page of code can be read from ring 0. */
static bool in_the_middle(const struct arrival *a)
{
    const uint8_t *code = (const uint8_t *)(uintptr_t)a->rip;

    return a->rip && code[0] == 0xF3 && code[1] == 0xAC && (uint32_t)a->rcx > 0 &&
           a->rcx < 30000;
}

CHECK("bts.event.interrupt_in_repeat", MUST, "GEN-05 GEN-02", NEED_BTS)
{
    static const uint32_t ticks[] = {100, 300, 1000, 3000, 10000, 30, 500, 2000, 6000, 20000};
    const unsigned count = sizeof(ticks) / sizeof(ticks[0]);
    const struct workload *w = trace_find(run, "interrupt.repeat");
    bool hit = false;

    /* Some rounds: on a shared machine the timer is late, now and then each time. */
    for (unsigned i = 0; i < ROUNDS * count && !hit; i++) {
        struct arrival arrival = {0, 0};
        struct guest_run r = {.argument = ticks[i % count],
                              .interrupts = true,
                              .on_trap = on_timer,
                              .listener = &arrival};
        bool recorded = false;
        struct trace t;

        trace_open(run, &t, &(struct trace_setup){.records = 2048});
        trace_workload(&t, w, 3, &r);
        hit = in_the_middle(&arrival);
        for (size_t k = 0; hit && k < t.count; k++)
            recorded |= t.records[k].to == trace_vector_entry(VECTOR_TIMER) &&
                        t.records[k].from == arrival.rip;
        EXPECT(run, !hit || recorded, "no record from the REP to the timer's handler");
        if (hit)
            trace_expect_workload(&t, w, 3, NULL);
        run_deferred_now(run);
    }
    if (!hit)
        run_skip(run, "the timer came never in the middle of a REP");
}

/* --- the same, certain: a REP that lasts until its interrupt has come */

#define OWN_TICKS 20000u /* of the timer, at first: some 100 us */

struct own_repeat {
    uint64_t start, bytes, repeat;
    uint64_t rip, rcx; /* where the interrupt came */
};

/* The REP has done its work: no byte more. */
static bool end_repeat(struct trap_frame *frame, void *arg)
{
    struct own_repeat *own = arg;

    own->rip = frame->rip;
    own->rcx = frame->rcx;
    if (frame->rip == own->repeat)
        frame->rcx = 0;
    return true;
}

static uint64_t repeat_long(void *arg)
{
    struct own_repeat *own = arg;
    uint64_t at = own->start, left = own->bytes;

    __asm__ volatile("lea 1f(%%rip), %%rax\n\t"
                     "mov %%rax, %[repeat]\n\t"
                     "cld\n\t"
                     "sti\n\t"
                     "nop\n\t"
                     "1: rep lodsb\n\t"
                     "cli"
                     : "+S"(at), "+c"(left), [repeat] "=m"(own->repeat)
                     :
                     : "rax", "memory", "cc");
    return 0;
}

static void close_own(void *arg)
{
    trap_set(VECTOR_TIMER, NULL, NULL);
    apic_timer_stop();
    (void)arg;
}

CHECK("bts.event.interrupt_in_long_repeat", MUST, "GEN-05 GEN-02", NEED_BTS)
{
    struct own_repeat own = {.start = (uint64_t)(uintptr_t)run->platform->arena,
                             .bytes = run->platform->arena_bytes};
    bool hit = false;
    size_t recorded = 0;
    struct trace t;

    trap_set(VECTOR_TIMER, end_repeat, &own);
    run_defer(run, close_own, NULL);
    trace_open(run, &t, &(struct trace_setup){.records = 2048});
    /* Later and later: too early is before the REP. */
    for (uint32_t ticks = OWN_TICKS; ticks <= OWN_TICKS << 8 && !hit; ticks <<= 4) {
        apic_timer_stop(); /* one that came behind the REP before */
        own.rip = 0;
        bts_clear(&t.bts);
        apic_timer_oneshot(ticks);
        trace_call(&t, repeat_long, &own);
        hit = own.rip == own.repeat && own.rcx < own.bytes;
    }
    if (!hit) {
        run_skip(run, "the timer did not come in the middle of the REP");
        return;
    }
    for (size_t i = 0; i < t.count; i++) {
        EXPECT(run,
               t.records[i].from != own.repeat ||
                   t.records[i].to == trace_vector_entry(VECTOR_TIMER),
               "record %zu leads from the REP to %lx", i, t.records[i].to);
        recorded += t.records[i].to == trace_vector_entry(VECTOR_TIMER) &&
                    t.records[i].from == own.repeat;
    }
    EXPECT_EQ(run, recorded, 1, "records from the REP to the timer's handler");
}
