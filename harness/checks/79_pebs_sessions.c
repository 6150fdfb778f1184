/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sampling sessions: two owners of one area, what is refused, and interrupts in the middle.
 *
 * Claim: SDM Vol. 3, "DS Save Area": the two halves of an area come and go independently. A
 *   rule of the suite's own: a request that cannot be kept is refused with its reason, and what
 *   an NMI stops stays stopped.
 * How: requests and releases of one half are made while the other runs; an NMI suspends and
 *   resumes a session at every moment of starting and stopping it.
 * Wrong if: the storm never meets the critical step: it is repeated, and how often is printed.
 */
#define CHECK_GROUP "79 pebs.sessions"
#include "ds/broker.h"
#include "harness/check/capability.h"
#include "harness/fixture/sampling.h"
#include "harness/fixture/sessions.h"
#include "harness/fixture/witness.h"
#include "hw/apic.h"
#include "hw/irq.h"
#include "hw/string.h"

#define SAMPLER 0u
#define PERIOD  20

static uint64_t handed;

static void count_sample(void *context, session_id id, const struct pebs_sample *sample)
{
    (void)context;
    (void)id;
    (void)sample;
    handed++;
}

static session_id ask_samples(struct sessions *s, struct session_result *result)
{
    const struct pmc *pmc = s->machine.pmc;
    const struct pebs_counter sampler = {SAMPLER, PMC_INSTRUCTIONS,
                                         pebs_reset_value(pmc, SAMPLER, PERIOD)};
    struct session_sampling request = {.owner = &s->profiler,
                                       .records = 32,
                                       .threshold = 8,
                                       .counters = &sampler,
                                       .counter_count = 1,
                                       .user = true,
                                       .sampled = count_sample};

    handed = 0;
    REQUIRE(s->run, session_sample(&request, result) == DS_OK, "refused: %s", result->why);
    return result->id;
}

static uint64_t samples_of(struct run *run, uint64_t rounds)
{
    struct oracle oracle = witness_follow(run, trace_find(run, "bench.loop"), rounds);

    return oracle.instructions / (PERIOD + 1);
}

/* What is left in the buffer, added to what the handler handed over. */
static uint64_t all_samples(struct sessions *s, session_id id)
{
    static struct pebs_sample rest[32];
    size_t count = 0;

    session_suspend(id, &s->profiler);
    sessions_error(s->run, session_samples(id, &s->profiler, rest, 32, 32, &count), DS_OK,
                   "samples");
    return handed + count;
}

/* Samples of one run with nothing beside it; no more than the oracle says. */
static uint64_t samples_alone(struct sessions *s, uint64_t rounds)
{
    struct session_result result;
    session_id samples = ask_samples(s, &result);
    uint64_t alone;

    sessions_branches(s->run, "bench.loop", rounds);
    alone = all_samples(s, samples);
    session_release(samples, &s->profiler);
    EXPECT(s->run, alone > 0 && alone <= samples_of(s->run, rounds) + 1, "%lu samples alone",
           alone);
    return alone;
}

/* Each half comes and goes while the other runs, and the other never notices. */
CHECK("pebs.session.halves", SOFTWARE, "PEBS-01", NEED_PEBS | NEED_BTS)
{
    struct sessions *s = sessions_open(run, LVT_DELIVERY_NMI);
    struct session_request request = sessions_request(s, 64);
    struct session_result result;
    uint64_t alone = samples_alone(s, 70), want = 3 * alone, made;

    /* A processor that arms late need not do so by as many events each time. */
    uint64_t less = alone < samples_of(run, 70) ? want / 4 : 0;
    session_id branches, samples = ask_samples(s, &result);
    size_t count = 0;

    sessions_branches(run, "bench.loop", 70);
    branches = sessions_ask(s, &request); /* while sampling runs */
    sessions_branches(run, "bench.loop", 70);
    session_size(branches, &s->debugger, &count);
    EXPECT_EQ(run, count, 64, "branches beside sampling");
    sessions_error(run, session_release(branches, &s->debugger), DS_OK, "release of BTS");
    EXPECT(run, sessions_ds_area() != 0, "the area is gone with one half of it");
    sessions_branches(run, "bench.loop", 70);
    /* What is left of a period is kept from run to run. */
    made = all_samples(s, samples);
    EXPECT(run, made >= want - less && made <= want + less + 2,
           "%lu samples of three runs, each makes %lu", made, alone);
    sessions_error(run, session_release(samples, &s->profiler), DS_OK, "release of PEBS");
    EXPECT_EQ(run, sessions_ds_area(), 0, "IA32_DS_AREA at the end");
    EXPECT_EQ(run, s->foreign, 0, "interrupts of no session");
}

CHECK("pebs.session.halves_other_way", SOFTWARE, "PEBS-01", NEED_PEBS | NEED_BTS)
{
    struct sessions *s = sessions_open(run, LVT_DELIVERY_NMI);
    struct session_request request = sessions_request(s, 64);
    session_id branches = sessions_ask(s, &request), samples;
    struct session_result result;
    uint64_t pebs = 1;
    size_t count = 0;

    sessions_branches(run, "bench.loop", 5);
    samples = ask_samples(s, &result);
    sessions_branches(run, "bench.loop", 100);
    EXPECT(run, handed > 0, "no sample was handed over beside BTS");
    sessions_error(run, session_release(samples, &s->profiler), DS_OK, "release of PEBS");
    pmc_pebs_enable_read(&pebs);
    EXPECT_EQ(run, pebs, 0, "IA32_PEBS_ENABLE after the release");
    handed = 0;
    sessions_branches(run, "bench.loop", 100);
    EXPECT_EQ(run, handed, 0, "samples after the release");
    session_size(branches, &s->debugger, &count);
    EXPECT_EQ(run, count, 64, "branches");
    sessions_error(run, session_release(branches, &s->debugger), DS_OK, "release of BTS");
}

/* --- what is refused */

static void expect_refused(struct sessions *s, const struct pebs_counter *counters,
                           size_t count, enum ds_error error, const char *why)
{
    struct session_sampling request = {.owner = &s->profiler,
                                       .records = 32,
                                       .threshold = SESSION_NO_THRESHOLD,
                                       .counters = counters,
                                       .counter_count = count,
                                       .user = true};
    struct session_result result;
    size_t used = pool_used(&s->pool);
    uint64_t area = sessions_ds_area();

    sessions_error(s->run, session_sample(&request, &result), error, why);
    EXPECT(s->run, strcmp(result.why, why) == 0, "refused because '%s', not '%s'", result.why,
           why);
    EXPECT(s->run, pool_used(&s->pool) == used && sessions_ds_area() == area,
           "a refused request (%s) changed something", why);
}

CHECK("pebs.session.refused", SOFTWARE, "PEBS-03 PEBS-10", NEED_PEBS)
{
    struct sessions *s = sessions_open(run, LVT_DELIVERY_NMI);
    const struct pmc *pmc = s->machine.pmc;
    const uint64_t good = pebs_reset_value(pmc, SAMPLER, 100);
    const struct pebs_counter zero = {SAMPLER, PMC_INSTRUCTIONS, 0},
                              positive = {SAMPLER, PMC_INSTRUCTIONS, 100},
                              wide = {SAMPLER, PMC_INSTRUCTIONS, -100ull},
                              absent = {PMC_GENERAL_MAX - 1, PMC_INSTRUCTIONS, good},
                              twice[] = {{SAMPLER, PMC_INSTRUCTIONS, good},
                                         {SAMPLER, PMC_BRANCHES, good}};

    expect_refused(s, NULL, 0, DS_EINVAL, "no counter given");
    expect_refused(s, &zero, 1, DS_EINVAL, "the counter reset is 0");
    expect_refused(s, &positive, 1, DS_EINVAL, "the counter reset is not negative");
    if (pmc->perfmon.general_bits < 64)
        expect_refused(s, &wide, 1, DS_EINVAL, "the counter reset is wider than the counter");
    if (!pmc_exists(pmc, absent.counter))
        expect_refused(s, &absent, 1, DS_EINVAL, "the processor has no such counter");
    expect_refused(s, twice, 2, DS_EINVAL, "a counter is given twice");
}

CHECK("pebs.session.no_pebs", SOFTWARE, "ENUM-02", NEED_PMC)
{
    struct sessions *s = sessions_open(run, LVT_DELIVERY_NMI);
    const struct pebs_counter sampler = {SAMPLER, PMC_INSTRUCTIONS,
                                         pebs_reset_value(s->machine.pmc, SAMPLER, 100)};
    struct pmc pmc = *s->machine.pmc;

    pmc.has_pebs = false;
    s->machine.pmc = &pmc;
    sessions_restart(s, capability()->have & NEED_BTS, true);
    expect_refused(s, &sampler, 1, DS_EOPNOTSUPP, "the processor has no PEBS");
    pmc.has_pebs = true;
    pmc.pebs_format = 15;
    expect_refused(s, &sampler, 1, DS_EOPNOTSUPP, "the PEBS record format is not known");
    s->machine.pmc = NULL;
    sessions_restart(s, capability()->have & NEED_BTS, true);
    expect_refused(s, &sampler, 1, DS_EOPNOTSUPP, "the processor has no PEBS");
}

/* --- interrupts in the middle */

struct storm {
    struct sessions *s;
    session_id id;
    unsigned ran, wrong;
};

/* Off and on again, or off for good: what the register holds is what is wanted, either way. */
static bool on_nmi(struct trap_frame *frame, void *arg)
{
    struct storm *storm = arg;
    uint64_t enabled = 0;

    (void)frame;
    storm->ran++;
    storm->wrong += session_suspend(storm->id, &storm->s->profiler) != DS_OK;
    pmc_pebs_enable_read(&enabled);
    storm->wrong += enabled != 0;
    storm->wrong += session_resume(storm->id, &storm->s->profiler) != DS_OK;
    return true;
}

/* Seen in the field: a value computed before an NMI that throttled, and loaded after it. */
CHECK("pebs.session.storm", SOFTWARE, "PEBS-10", NEED_PEBS)
{
    struct sessions *s = sessions_open(run, LVT_DELIVERY_FIXED | VECTOR_PMI);
    unsigned rounds = run_count_of(run, 1000, 125);
    struct session_result result;
    struct storm storm = {.s = s};
    struct trap_slot outer;

    storm.id = ask_samples(s, &result);
    outer = trap_set(VECTOR_NMI, on_nmi, &storm);
    for (unsigned i = 0; i < rounds; i++) {
        uint64_t enabled = 0;

        apic_self_nmi(); /* arrives somewhere in what follows */
        session_suspend(storm.id, &s->profiler);
        pmc_pebs_enable_read(&enabled);
        storm.wrong += enabled != 0;
        session_resume(storm.id, &s->profiler);
        pmc_pebs_enable_read(&enabled);
        storm.wrong += enabled != broker_counters(BROKER_PEBS) || enabled != 1u << SAMPLER;
    }
    trap_set(VECTOR_NMI, outer.handler, outer.arg);
    EXPECT_EQ(run, storm.wrong, 0, "times that register and wish differed");
    EXPECT(run, storm.ran > 0, "no NMI came");
    session_suspend(storm.id, &s->profiler);
}
