/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shrinking on made-up witnesses: they differ while certain nodes are there, at once or now and
 * then, and call programs unusable that lack others.
 */
#include "harness/check/out.h"
#include "harness/fuzz/fuzz.h"
/* A check's own. */
#undef EXPECT
#undef EXPECT_EQ
#include "harness/tests/fakes/unit.h"

static struct fuzz fuzz;
static unsigned attempts, every; /* one attempt in that many differs */
static bool needed[GENERATE_NODES];
static int partner[GENERATE_NODES]; /* a program with one of the two makes no sense; -1 */
static const char *const ways[] = {"in this way", "in that way"};
static bool other_way; /* an empty program differs too, but otherwise */

enum fuzz_outcome fuzz_attempt(struct fuzz *f)
{
    bool differs = true, empty = true;

    attempts++;
    f->stored += 10;
    for (unsigned i = 0; i + 1 < f->program.count; i++) {
        const struct generate_node *n = &f->program.nodes[i];

        if (partner[i] >= 0 && n->off != f->program.nodes[partner[i]].off)
            return FUZZ_UNUSABLE;
        empty &= n->off;
        if (needed[i])
            differs &= !n->off;
    }
    f->why = ways[!differs];
    differs |= empty && other_way;
    return differs && attempts % every == 0 ? FUZZ_DIFFER : FUZZ_AGREE;
}

void out_line(const char *format, ...)
{
    (void)format;
}

static void begin(unsigned nodes)
{
    static const struct check check = {.name = "made.up"};
    static struct run run = {.check = &check};

    memset(&fuzz, 0, sizeof(fuzz));
    fuzz.run = &run;
    memset(needed, 0, sizeof(needed));
    attempts = 0;
    every = 1;
    other_way = false;
    fuzz.program.count = (uint16_t)nodes;
    for (unsigned i = 0; i < nodes; i++) {
        partner[i] = -1;
        fuzz.program.nodes[i] = (struct generate_node){.op = NODE_FILL, .count = 1};
    }
    fuzz.program.nodes[nodes - 1].op = NODE_END;
}

/* Whether those that are needed, and no others, are left. */
static bool only_needed(void)
{
    for (unsigned i = 0; i + 1 < fuzz.program.count; i++)
        if (fuzz.program.nodes[i].off == needed[i])
            return false;
    return !fuzz.program.nodes[fuzz.program.count - 1].off;
}

static void down_to_what_matters(void)
{
    for (unsigned first = 0; first < 150; first += 7)
        for (unsigned second = first; second < 150; second += 31) {
            begin(151);
            needed[first] = needed[second] = true;
            EXPECT(fuzz_shrink(&fuzz) < 200);
            EXPECT(only_needed());
            EXPECT(fuzz_again(&fuzz));
        }
}

static void nothing_matters(void)
{
    begin(GENERATE_NODES);
    EXPECT(fuzz_shrink(&fuzz) < 600);
    EXPECT(only_needed());
}

/* Two far apart that go only together, because they are of one group. */
static void groups(void)
{
    begin(101);
    needed[40] = true;
    partner[3] = 77;
    partner[77] = 3;
    fuzz.program.nodes[3].group = fuzz.program.nodes[77].group = 9;
    fuzz.program.groups = 12;
    fuzz_shrink(&fuzz);
    EXPECT(only_needed());
}

static void same_difference(void)
{
    begin(60);
    needed[20] = other_way = true;
    fuzz_shrink(&fuzz);
    EXPECT(only_needed());
}

static void now_and_then(void)
{
    begin(60);
    needed[11] = needed[48] = true;
    every = 37;
    EXPECT(fuzz_shrink(&fuzz) <= 2000);
    EXPECT(!fuzz.program.nodes[11].off && !fuzz.program.nodes[48].off);
    EXPECT(fuzz.program.nodes[0].off && fuzz.program.nodes[30].off);
    EXPECT(fuzz_again(&fuzz));
    every = 1000000;
    EXPECT(!fuzz_again(&fuzz));
    EXPECT(attempts < 4500);
}

static void cut_short(void)
{
    begin(3);
    needed[0] = needed[1] = true;
    fuzz.program.nodes[0].count = 4;
    fuzz.program.nodes[1] = (struct generate_node){.op = NODE_COUNT, .value = 30};
    fuzz_shrink(&fuzz);
    EXPECT_EQ(fuzz.program.nodes[0].count, 1);
    EXPECT_EQ(fuzz.program.nodes[1].value, 1);
}

int main(void)
{
    RUN(down_to_what_matters);
    RUN(nothing_matters);
    RUN(groups);
    RUN(same_difference);
    RUN(now_and_then);
    RUN(cut_short);
    UNIT_END();
}
