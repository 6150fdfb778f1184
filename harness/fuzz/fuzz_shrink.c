/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Making a program small while its witnesses still differ: runs of nodes are left out, halves
 * first, then shorter ones, down to single nodes; then loops and filler are cut short. What no
 * longer makes sense as a program is rejected by running it.
 */
#include "harness/check/out.h"
#include "harness/fuzz/fuzz.h"

#define ATTEMPTS_MAX 2000 /* programs run, over all */
#define TELL_EVERY   250  /* attempts; a long silence is taken for a hang */
/* A difference that does not come at once may hang on a count of records. */
#define PATIENCE_RECORDS  10000
#define PATIENCE_ATTEMPTS 400

struct shrinking {
    struct fuzz *fuzz;
    unsigned attempts;
    /* In which way the program differs whenever it runs; NULL: now and then, in any way. */
    const char *always;
};

static bool differs(struct shrinking *s)
{
    struct fuzz *f = s->fuzz;
    uint64_t until = f->stored + PATIENCE_RECORDS;

    for (unsigned i = 0; i < PATIENCE_ATTEMPTS && s->attempts < ATTEMPTS_MAX; i++) {
        if (++s->attempts % TELL_EVERY == 0)
            out_line("# %s: shrinking, %u runs", f->run->check->name, s->attempts);
        switch (fuzz_attempt(f)) {
        case FUZZ_DIFFER:
            return !s->always || s->always == f->why;
        case FUZZ_UNUSABLE:
            return false;
        default:
            if (s->always || f->stored >= until)
                return false;
        }
    }
    return false;
}

/* Nodes that are tried without together: a stretch of the program or a group. */
struct selection {
    unsigned first, count;
    unsigned group; /* 0: any */
};

static bool selects(const struct selection *wanted, const struct generated *p, unsigned i)
{
    /* The last node of all stays. */
    return i - wanted->first < wanted->count && i + 1 < p->count &&
           (!wanted->group || p->nodes[i].group == wanted->group);
}

static bool leave_out(struct shrinking *s, struct selection wanted)
{
    struct generated *p = &s->fuzz->program;
    bool was_off[GENERATE_NODES], anything = false;

    for (unsigned i = 0; i < p->count; i++) {
        was_off[i] = p->nodes[i].off;
        if (selects(&wanted, p, i)) {
            anything |= !was_off[i];
            p->nodes[i].off = true;
        }
    }
    if (anything && differs(s))
        return true;
    for (unsigned i = 0; i < p->count; i++)
        p->nodes[i].off = was_off[i];
    return false;
}

/* One pass over the program, in stretches of this length; true when something could go. */
static bool pass(struct shrinking *s, unsigned chunk)
{
    bool progress = false;

    for (unsigned first = 0; first < s->fuzz->program.count; first += chunk)
        progress |= leave_out(s, (struct selection){first, chunk, 0});
    return progress;
}

static bool pass_by_groups(struct shrinking *s)
{
    bool progress = false;

    for (unsigned group = 1; group <= s->fuzz->program.groups; group++)
        progress |= leave_out(s, (struct selection){0, GENERATE_NODES, group});
    return progress;
}

/* False when a node is as short as it can be. */
static bool shorten(struct generate_node *n)
{
    if (n->op == NODE_COUNT && n->value > 1) {
        n->value = 1;
        return true;
    }
    return n->op == NODE_FILL && n->count-- > 1;
}

static void cut_short(struct shrinking *s)
{
    struct generated *p = &s->fuzz->program;

    for (struct generate_node *n = p->nodes; n < p->nodes + p->count; n++) {
        struct generate_node before = *n;

        for (; !n->off && shorten(n) && differs(s); before = *n)
            continue;
        *n = before;
    }
}

unsigned fuzz_shrink(struct fuzz *f)
{
    struct shrinking s = {.fuzz = f};
    unsigned chunk = f->program.count;

    if (fuzz_attempt(f) == FUZZ_DIFFER)
        s.always = f->why;
    /* What is left out may be the end of a loop. */
    f->step_budget = 2 * f->oracle.steps + 100;
    while (chunk > 1) {
        chunk = (chunk + 1) / 2;
        pass(&s, chunk);
    }
    cut_short(&s);
    while (pass_by_groups(&s) || pass(&s, 1))
        continue;
    return s.attempts;
}

bool fuzz_again(struct fuzz *f)
{
    struct shrinking s = {.fuzz = f};

    return differs(&s);
}
