/* SPDX-License-Identifier: BSD-2-Clause */
/* The step oracle inside a check. */
#include "harness/witness.h"

#include "harness/arena.h"
#include "harness/format.h"
#include "hw/string.h"

static struct expected_edge *pool;

struct expected_edge *witness_edges(struct run *run)
{
    if (!pool)
        pool = arena_alloc(WITNESS_EDGES * sizeof(*pool));
    NEED(run, pool, "the arena has no room for the oracle's edges");
    return pool;
}

struct oracle witness_follow(struct run *run, const struct workload *w, uint64_t argument)
{
    struct oracle oracle = {.edges = witness_edges(run), .max = WITNESS_EDGES};
    struct guest_run r = {.workload = w, .argument = argument};
    char place[48];

    if (!oracle_step(trace_guest(run), &r, &oracle)) {
        run_error(run, "the oracle lost %s at %s: %s", w->name,
                  trace_symbol(oracle.error_rip, place, sizeof(place)), oracle.error);
        run_stop(run);
    }
    NEED(run, oracle.count <= oracle.max, "%s has more edges than the oracle keeps", w->name);
    return oracle;
}

bool witness_leaves_out(const struct run *run, const struct workload *w)
{
    static const char *const families[] = {"loop.long.", "program.", "bench.straight",
                                           "recursion.deep"};

    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
        if (!run->options->soak && strncmp(w->name, families[i], strlen(families[i])) == 0)
            return true;
    return false;
}

struct witness_counts witness_counts(const struct oracle *oracle)
{
    struct witness_counts counts = {.instructions = oracle->instructions,
                                    .branches = oracle->not_taken};

    for (size_t i = 0; i < oracle->count && i < oracle->max; i++) {
        const struct expected_edge *edge = &oracle->edges[i];

        if (edge->kind == EDGE_EXCEPTION || edge->kind == EDGE_INTERRUPT) {
            counts.events++;
        } else if (!edge->cpl_before) {
            counts.returns++;
        } else {
            counts.branches++;
            counts.entries += !edge->cpl_after;
            counts.near_taken += edge->kind <= EDGE_RET;
        }
    }
    return counts;
}

static void detail(struct run *run, const char *who, const struct expected_edge *edges,
                   size_t count, size_t at)
{
    char from[48], to[48];

    if (at >= count)
        run_detail(run, "%s: nothing after edge %zu", who, count);
    else
        run_detail(run, "%s %zu: %s -> %s %s", who, at,
                   trace_symbol(edges[at].from, from, sizeof(from)),
                   trace_symbol(edges[at].to, to, sizeof(to)), edge_kind_name(edges[at].kind));
}

bool witness_agrees(struct run *run, const struct expected_edge *expected, size_t count,
                    const struct oracle *oracle, struct compare_result *result)
{
    struct guest_place place = guest_place(trace_guest(run), 3, 0);
    struct compare_options options = {
        .guest_low = place.low, .guest_high = place.high, .crossing = CROSSING_UNKNOWN};

    /* The oracle writes every event down: nothing of an open clause may be absent. */
    options.settled_present = ~0u;
    compare_edges(expected, count, oracle->edges, oracle->count, &options, result);
    return result->same;
}

bool witness_expect(struct run *run, const struct workload *w,
                    const struct expected_edge *expected, size_t count,
                    const struct oracle *oracle)
{
    struct compare_result result;

    witness_agrees(run, expected, count, oracle, &result);
    if (EXPECT(run, result.same, "%s: the oracle saw something else: %s, edge %zu of %zu",
               w->name, result.what, result.record_index, oracle->count))
        return true;
    detail(run, "expected", expected, count, result.expected_index);
    detail(run, "oracle", oracle->edges, oracle->count, result.record_index);
    return false;
}
