/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PEBS: the long groups of an adaptive record, vector registers and last branches.
 *
 * Claim: SDM Vol. 3, "Adaptive PEBS", "PEBS Record Format". By bits of MSR_PEBS_DATA_CFG a
 *   record holds the sixteen XMM registers, and so many entries of the last-branch stack,
 * newest first, as they are when the sampled instruction is done (before it where the trap bit
 * is clear). How: the oracle steps a workload and writes down the vector registers after each
 * step; each record must be a step. Of the branches each record must be a place on the oracle's
 * path: what was taken before that place, in its order, as far back as the path goes. Wrong if:
 * the stack leaves out what the oracle lists: it is told to keep all that ends in ring 3. Flags
 * share the entries with the addresses: only the 48 low bits are compared.
 */
#define CHECK_GROUP "77 pebs.groups"
#include "ds/broker.h"
#include "harness/check/arena.h"
#include "harness/check/capability.h"
#include "harness/fixture/hidden_feature.h"
#include "harness/fixture/sampling.h"
#include "harness/fixture/witness.h"
#include "hw/fpu.h"
#include "hw/string.h"
#include "hw/trap.h"

#define ADDRESS  0x0000FFFFFFFFFFFFull
#define XMM_AT   160 /* of XMM0 in an FXSAVE image */
#define STEPS    128
#define ENTRIES  8
#define RECORDS  64
#define STACK    32u
#define UNLIKELY 0x00005A5A00000000ull

/* Records with these groups are to be had, or the check ends as a SKIP. */
static void need_groups(struct run *run, uint64_t groups)
{
    int vector;

    if (!capability()->pmc.pebs_baseline)
        gate_pebs(run, "4"); /* a stand-in can have it for once */
    vector = pmc_pebs_data_write(groups);
    pmc_pebs_data_write(0);
    if (!vector)
        return;
    run_skip(run, "MSR_PEBS_DATA_CFG does not take %lx", groups);
    run_stop(run);
}

/* --- vector registers */

struct vector_step {
    uint64_t at;
    struct pebs_xmm xmm[PEBS_XMM_COUNT]; /* after it */
};

struct vector_steps {
    struct vector_step *step;
    size_t count;
};

/* The kernel uses no vector register: they are still ring 3's. */
static void keep_vectors(struct oracle *oracle, uint64_t at, const struct trap_frame *after)
{
    struct vector_steps *steps = oracle->listener;
    struct fpu_image image;

    (void)after;
    if (steps->count == STEPS)
        return;
    fpu_save(&image);
    steps->step[steps->count].at = at;
    memcpy(steps->step[steps->count].xmm, image.bytes + XMM_AT, PEBS_XMM_COUNT * 16);
    steps->count++;
}

/* The first pass leaves the registers as the sampled run will find them. */
static struct vector_steps vector_steps(struct run *run, const struct workload *w)
{
    static struct vector_step *pool;
    struct vector_steps steps = {0};

    if (!pool)
        pool = arena_alloc(STEPS * sizeof(*pool));
    NEED(run, pool, "the arena has no room for the oracle's steps");
    steps.step = pool;
    for (unsigned pass = 0; pass < 2; pass++) {
        struct oracle oracle = {.on_step = keep_vectors,
                                .listener = &steps,
                                .edges = witness_edges(run),
                                .max = WITNESS_EDGES};
        struct guest_run r = {.workload = w};

        steps.count = 0;
        NEED(run, oracle_step(trace_guest(run), &r, &oracle), "the oracle lost %s: %s", w->name,
             oracle.error);
    }
    return steps;
}

/* Whether the record is that of step number k. */
static bool same_vectors(const struct pebs_sample *sample, const struct vector_steps *steps,
                         size_t k, bool trap)
{
    const struct vector_step *state = &steps->step[trap ? k : k - 1];

    if (sample->eventing_ip != steps->step[k].at || (!trap && k == 0))
        return false;
    for (unsigned i = 0; i < PEBS_XMM_COUNT; i++) {
        struct pebs_xmm xmm = pebs_sample_xmm(sample, i);

        if (xmm.low != state->xmm[i].low || xmm.high != state->xmm[i].high)
            return false;
    }
    return true;
}

CHECK("pebs.groups.vector_registers", MUST, "PEBS-07 ENUM-09", NEED_PEBS)
{
    const struct workload *w = trace_find(run, "vector.registers");
    struct vector_steps steps;
    struct sampling s;
    size_t k = 0, matched = 0;

    need_groups(run, PEBS_GROUP_XMMS);
    sampling_open(run, &s, &(struct sampling_setup){.groups = PEBS_GROUP_XMMS, .bare = true});
    steps = vector_steps(run, w);
    sampling_add(&s, 0, PMC_INSTRUCTIONS, PMC_USR, 1, 1);
    sampling_workload(&s, w, 3, NULL);
    sampling_expect_untouched(&s, "after records with vector registers");
    sampling_drop_last(&s); /* may be the SYSCALL that leaves, which is no step */
    for (size_t i = 0; i < sampling_count(&s); i++) {
        struct pebs_sample sample = sampling_record(&s, i);
        size_t from = k;

        while (k < steps.count && !same_vectors(&sample, &steps, k, s.counting.pmc.pebs_trap))
            k++;
        if (k == steps.count && !s.counting.pmc.pebs_trap && from == 0) {
            k = 0; /* of the first step: nobody wrote down what was before it */
            continue;
        }
        REQUIRE(run, k < steps.count,
                "record %zu of %lx: its vector registers are those of no step", i,
                sample.eventing_ip);
        k++;
        matched++;
    }
    EXPECT(run, matched > (s.late ? 0u : 20u), "only %zu records were compared", matched);
}

/* --- last branches */

static void close_stack(void *arg)
{
    (void)arg;
    msr_write_try(MSR_LBR_SELECT, 0);
    broker_clear(BROKER_LBR);
    broker_resync();
}

/* All entries, and the number of the newest. Returns how many there are. */
static unsigned fill_stack(uint64_t from, uint64_t to)
{
    unsigned depth = 0;

    while (depth < STACK && msr_write_try(MSR_LASTBRANCH_0_FROM_IP + depth, from) == 0 &&
           msr_write_try(MSR_LASTBRANCH_0_TO_IP + depth, to) == 0)
        depth++;
    return depth;
}

/* On, empty, and for what ends in ring 3 alone; or the check ends as a SKIP. */
static void open_stack(struct run *run)
{
    uint64_t debugctl = 0;
    unsigned depth = fill_stack(0, 0);

    run_defer(run, close_stack, NULL);
    broker_set(BROKER_LBR, DEBUGCTL_LBR);
    broker_raw_read_debugctl(&debugctl);
    if (depth && debugctl & DEBUGCTL_LBR &&
        msr_write_try(MSR_LBR_SELECT, LBR_SELECT_CPL_0) == 0)
        return;
    run_skip(run, "there is no last-branch stack to be had");
    run_stop(run);
}

static bool same_branch(const struct pebs_branch *branch, const struct expected_edge *edge)
{
    return !((branch->from ^ edge->from) & ADDRESS) && !((branch->to ^ edge->to) & ADDRESS);
}

/* Entries that are the edges before number next, newest first; edge 0 is the way in. */
static unsigned same_history(const struct pebs_sample *sample,
                             const struct expected_edge *edges, size_t next)
{
    unsigned same = 0;

    for (; same < sample->lbr_count && same + 1 < next; same++) {
        struct pebs_branch branch = pebs_sample_branch(sample, same);

        if (!same_branch(&branch, &edges[next - 1 - same]))
            break;
    }
    return same;
}

struct place {
    size_t step, next; /* edges[next] is the first one that is not behind this step */
};

/* Moves on to the step whose address and branches the record has; false: there is none. */
static bool find_place(const struct pebs_sample *sample, const struct sampled_steps *steps,
                       const struct oracle *oracle, struct place *place, unsigned *itself)
{
    for (; place->step < steps->count; place->step++) {
        const struct sampled_step *step = &steps->steps[place->step];
        const struct expected_edge *edge = &oracle->edges[place->next];
        bool branched =
            place->next < oracle->count && edge->from == step->at && edge->to == step->rip;

        for (unsigned with = 0; with <= branched && step->at == sample->eventing_ip; with++) {
            size_t behind = place->next + with - 1; /* edges on the path so far */
            size_t want = sample->lbr_count < behind ? sample->lbr_count : behind;

            if (same_history(sample, oracle->edges, place->next + with) == want) {
                *itself += with;
                place->step++;
                place->next += branched;
                return true;
            }
        }
        place->next += branched;
    }
    return false;
}

CHECK("pebs.groups.branches", MUST, "PEBS-07 ENUM-09", NEED_PEBS)
{
    const struct workload *w = trace_find(run, "recursion.mutual");
    const uint64_t groups = PEBS_GROUP_BRANCHES(ENTRIES);
    struct place place = {.next = 1};
    struct sampled_steps steps;
    struct oracle oracle;
    struct sampling s;
    unsigned itself = 0;

    need_groups(run, groups);
    sampling_open(run, &s,
                  &(struct sampling_setup){.records = RECORDS, .groups = groups, .bare = true});
    steps = sampling_steps(run, w, 0);
    oracle = witness_follow(run, w, 0);
    open_stack(run);
    sampling_add(&s, 0, PMC_INSTRUCTIONS, PMC_USR, 3, 3);
    sampling_workload(&s, w, 3, NULL);
    broker_clear(BROKER_LBR);
    for (size_t i = 0; i < sampling_count(&s); i++) {
        struct pebs_sample sample = sampling_record(&s, i);

        EXPECT_EQ(run, sample.lbr_count, ENTRIES, "entries of a record");
        if (place.step == steps.count && steps.count == SAMPLING_STEPS)
            break; /* beyond what was kept */
        REQUIRE(run, find_place(&sample, &steps, &oracle, &place, &itself),
                "record %zu of %lx: its branches are those of no step", i, sample.eventing_ip);
    }
    EXPECT(run, sampling_count(&s) > (s.late ? 0u : 8u), "only %zu records",
           sampling_count(&s));
    run_observe(run, "pebs.newest-branch", itself ? "the-sampled-one" : "before-it");
}

/* With the stack off its registers keep what they hold; whether a record has it is open. */
CHECK("pebs.groups.stack_off", CHARACTERISE, "LBR-04 PEBS-07", NEED_PEBS)
{
    const struct workload *w = trace_find(run, "call.register");
    const uint64_t groups = PEBS_GROUP_BRANCHES(2 * STACK);
    unsigned depth, kept = 0, zero = 0, beyond = 0;
    struct pebs_sample sample;
    struct sampling s;

    need_groups(run, groups);
    depth = fill_stack(UNLIKELY, UNLIKELY + 1);
    if (!depth) {
        run_skip(run, "there is no last-branch stack to be had");
        return;
    }
    sampling_open(run, &s, &(struct sampling_setup){.groups = groups, .bare = true});
    sampling_add(&s, 0, PMC_INSTRUCTIONS, PMC_USR, 3, 1000);
    sampling_workload(&s, w, 3, NULL);
    fill_stack(0, 0);
    REQUIRE(run, sampling_count(&s) > 0, "no record");
    sample = sampling_record(&s, 0);
    for (unsigned i = 0; i < sample.lbr_count; i++) {
        struct pebs_branch branch = pebs_sample_branch(&sample, i);

        if (i >= depth)
            beyond += branch.from || branch.to;
        else if ((branch.from & ADDRESS) == UNLIKELY && (branch.to & ADDRESS) == UNLIKELY + 1)
            kept++;
        else
            zero += !branch.from && !branch.to;
    }
    EXPECT_EQ(run, sample.lbr_count, 2 * STACK, "entries of the record");
    EXPECT(run, kept == depth || zero == depth, "%u of %u entries are kept, %u are 0", kept,
           depth, zero);
    EXPECT_EQ(run, beyond, 0, "entries beyond the depth of the stack that are not 0");
    run_observe(run, "bts.pebs-lbr-off", kept ? "kept" : "zero");
}

/*
 * Whose branches would they be? With the stack off and empty every entry is 0, or the group is
 * refused.
 */
CHECK("pebs.record.branch_group", MUST, "PEBS-07", NEED_PEBS)
{
    const uint64_t groups = PEBS_GROUP_LBRS | 3ull << 24; /* four entries */
    const struct workload *w = trace_find(run, "call.register");
    const size_t entries = 4 * 24;
    struct counting c;
    struct sampling s;
    int vector;

    if (!capability()->pmc.pebs_baseline)
        gate_pebs(run, "4");
    fill_stack(0, 0);
    counting_open(run, &c);
    vector = pmc_pebs_data_write(groups);
    pmc_pebs_data_write(0);
    if (vector || !c.pmc.pebs_baseline) {
        EXPECT(run, vector == VECTOR_GP, "without the group the write raises vector %d",
               vector);
        return;
    }
    sampling_open(run, &s, &(struct sampling_setup){.groups = groups, .bare = true});
    sampling_add(&s, 0, PMC_INSTRUCTIONS, PMC_USR, 3, 3);
    sampling_workload(&s, w, 3, NULL);
    REQUIRE(run, sampling_count(&s) > 0, "no record");
    for (size_t i = 0; i < entries; i++)
        EXPECT(run, ((const uint8_t *)(uintptr_t)s.base)[s.record_bytes - entries + i] == 0,
               "byte %zu of the branches is not 0 with the stack off", i);
}
