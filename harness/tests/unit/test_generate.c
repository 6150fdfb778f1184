/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Generated programs: the same for the same seed, decodable to the last byte with objdump as
 * the judge, and leaving on this processor exactly the edges that were foreseen, whichever of
 * their nodes are left out.
 */
#define _GNU_SOURCE
#include "harness/tests/fakes/guest_host.h"
#include "harness/tests/fakes/judge_objdump.h"

#include "harness/fuzz/generate_code.h"

#include <unistd.h>

#define PROGRAMS 300 /* read; a third of them run */
#define RUNS     100
#define EDGE_MAX 8192

static struct generated program;
static uint8_t bytes[GENERATED_BYTES];
static struct expected_edge expected[EDGE_MAX];
static size_t edges_most, edges_total, bytes_most;
static unsigned wild, known;

static bool emit(uint64_t seed)
{
    program.base = (uint64_t)generated;
    program.data = (uint64_t)data;
    generate(&program, seed);
    return generate_emit(&program, bytes, sizeof(bytes));
}

/* --- as data */

static void deterministic(void)
{
    static struct generated first;
    static uint8_t copy[GENERATED_BYTES];
    unsigned differ = 0;

    for (uint64_t seed = 0; seed < 50; seed++) {
        memset(bytes, 0, sizeof(bytes));
        ASSERT(emit(seed));
        first = program;
        memcpy(copy, bytes, sizeof(bytes));
        memset(&program, 0xA5, sizeof(program));
        memset(bytes, 0, sizeof(bytes));
        ASSERT(emit(seed));
        EXPECT_EQ(program.count, first.count);
        EXPECT(memcmp(copy, bytes, sizeof(bytes)) == 0);
        EXPECT(emit(seed + 1));
        differ += memcmp(copy, bytes, sizeof(bytes)) != 0;
    }
    EXPECT_EQ(differ, 50);
}

/* Room is a bound, not a wish. */
static void bounded(void)
{
    ASSERT(emit(3));
    EXPECT(generate_emit(&program, bytes, program.end));
    bytes[program.end - 1] = 0xA5;
    EXPECT(!generate_emit(&program, bytes, program.end - 1u));
    EXPECT_EQ(bytes[program.end - 1], 0xA5);
}

static uint64_t judged_at; /* where objdump's next instruction must begin */
static size_t judged_bad;
static uint8_t *all;

static void judge(const struct judged *j, void *context)
{
    struct decoded d;

    (void)context;
    if (j->address != judged_at || !decode(all + j->address, 15, &d) || d.length != j->length ||
        strcmp(j->mnemonic, "(bad)") == 0) {
        if (judged_bad++ == 0)
            printf("at %lx: %s\n", j->address, j->text);
    }
    judged_at = j->address + j->length;
}

static void decodable(void)
{
    char name[] = "/tmp/generated.XXXXXX", arguments[200];
    int file = mkstemp(name);
    size_t total = 0;

    all = calloc(PROGRAMS, sizeof(bytes));
    for (uint64_t seed = 0; seed < PROGRAMS; seed++) {
        size_t length;

        ASSERT(emit(seed));
        length = (size_t)(program.end - program.origin);
        memcpy(all + total, bytes + program.origin, length);
        total += length;
    }
    ASSERT(write(file, all, total) == (ssize_t)total);
    close(file);
    snprintf(arguments, sizeof(arguments), "-D -z -b binary -m i386:x86-64 '%s'", name);
    EXPECT(judged_listing(arguments, judge, NULL));
    unlink(name);
    EXPECT_EQ(judged_bad, 0);
    EXPECT_EQ(judged_at, total);
    free(all);
}

/* --- as programs */

static void load_and_run(void)
{
    struct workload w = {.name = "generated"};

    memcpy(generated, bytes, sizeof(bytes));
    w.entry = (int32_t)(generated - code) + program.origin;
    run(&w);
}

/* One program as it stands; false when something is wrong. */
static bool runs_as_foreseen(const char *name)
{
    struct guest_place place = place_here();
    uint64_t foreseen;
    size_t count = generate_walk(&program, &place, expected, EDGE_MAX, &foreseen);

    if (!EXPECT(count <= EDGE_MAX))
        return false;
    load_and_run();
    if (count == 0) {
        wild++;
        return !trouble;
    }
    known++;
    edges_total += count;
    edges_most = count > edges_most ? count : edges_most;
    return !trouble && compare(name, expected, count) && EXPECT_EQ(result, foreseen);
}

static void as_foreseen(void)
{
    char name[40];

    for (uint64_t seed = 0; seed < RUNS; seed++) {
        snprintf(name, sizeof(name), "seed %lu", seed);
        ASSERT(emit(seed));
        bytes_most = program.end - program.origin > (int)bytes_most
                         ? (size_t)(program.end - program.origin)
                         : bytes_most;
        if (!runs_as_foreseen(name))
            return;
        EXPECT(program.wild || expected[0].to == (uint64_t)generated + program.origin);
    }
    printf("# %u known, %u wild, %zu edges, at most %zu; at most %zu bytes\n", known, wild,
           edges_total, edges_most, bytes_most);
    EXPECT(known > RUNS / 2 && wild > RUNS / 10);
}

/* Left out by chance: the walk gives up or it is right. */
static void in_parts(void)
{
    uint64_t dice = 1, result_ignored;
    struct guest_place place = place_here();
    unsigned checked = 0;
    char name[60];

    for (uint64_t seed = 0; seed < RUNS; seed++) {
        unsigned one_in = 2 + roll(&dice, 40);

        ASSERT(emit(seed));
        for (unsigned i = 0; i + 1 < program.count; i++)
            program.nodes[i].off = roll(&dice, one_in) == 0;
        ASSERT(generate_emit(&program, bytes, sizeof(bytes)));
        if (!generate_walk(&program, &place, expected, EDGE_MAX, &result_ignored))
            continue;
        checked++;
        snprintf(name, sizeof(name), "seed %lu without one in %u", seed, one_in);
        if (!runs_as_foreseen(name))
            return;
    }
    printf("# %u programs in parts\n", checked);
    EXPECT(checked > 15);
}

/* Every kind of node and edge is there, and every Jcc both ways. */
static void complete(void)
{
    unsigned ops[NODE_OP_COUNT] = {0}, via[2][VIA_COUNT] = {{0}}, faults[GENERATE_FAULTS] = {0};
    unsigned taken[16] = {0}, passed[16] = {0}, kinds[EDGE_KIND_COUNT] = {0}, far = 0;
    struct guest_place place = place_here();
    uint64_t ignored;

    for (uint64_t seed = 0; seed < PROGRAMS; seed++) {
        size_t count;

        ASSERT(emit(seed));
        count = generate_walk(&program, &place, expected, EDGE_MAX, &ignored);
        for (unsigned i = 0; i < program.count; i++) {
            const struct generate_node *n = &program.nodes[i];

            ops[n->op]++;
            far += n->op == NODE_LOOP && n->far_away;
            if (n->op == NODE_JMP || n->op == NODE_CALL)
                via[n->op == NODE_CALL][n->form]++;
            if (n->op == NODE_FAULT)
                faults[n->form]++;
            if (n->op == NODE_JCC && count) {
                bool jumped = false;

                for (size_t k = 0; k < count && !jumped; k++)
                    jumped = expected[k].from == program.base + n->branch;
                (jumped ? taken : passed)[n->condition]++;
            }
        }
        for (size_t k = 0; k < count; k++)
            kinds[expected[k].kind]++;
    }
    for (unsigned i = 0; i < NODE_OP_COUNT; i++)
        EXPECT(ops[i] > 0);
    for (unsigned i = 0; i < VIA_COUNT; i++) {
        EXPECT(via[0][i] > 0);
        EXPECT(i >= VIA_STACK || via[1][i] > 0);
    }
    for (unsigned i = 0; i < GENERATE_FAULTS; i++)
        EXPECT(faults[i] > 0);
    for (unsigned i = 0; i < 16; i++)
        EXPECT(taken[i] > 0 && passed[i] > 0);
    for (unsigned i = EDGE_JCC; i <= EDGE_RET; i++)
        EXPECT(kinds[i] > 0);
    EXPECT(kinds[EDGE_IRET] > 0 && kinds[EDGE_SYSCALL] > 0 && kinds[EDGE_SYSRET] > 0);
    EXPECT(kinds[EDGE_INT] > 0 && kinds[EDGE_INT3] > 0 && kinds[EDGE_EXCEPTION] > 0);
    EXPECT(far > 0);
}

int main(void)
{
    set_up();
    RUN(deterministic);
    RUN(bounded);
    RUN(decodable);
    RUN(as_foreseen);
    RUN(in_parts);
    RUN(complete);
    UNIT_END();
}
