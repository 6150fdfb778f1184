/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The grammar of random programs: bodies inside branches, loops and functions. Every backward
 * branch counts, so every program ends.
 */
#include "harness/fuzz/generate.h"

#include "guest/abi.h"
#include "harness/fuzz/generate_code.h"
#include "hw/paging.h"
#include "hw/string.h"

#define DEPTH_MAX   6
#define REPEAT_MAX  64   /* product of the counts of nested loops */
#define ROOM_NEEDED 72   /* nodes that may still be added once a body has begun something */
#define EVENTS_MAX  48   /* an event's handler leaves many records of its own */
#define EDGES_MAX   2500 /* before a body begins something more */
#define CALL_DEPTH  12   /* of recursion */

static void body(struct generated *p);

static void skip(struct generated *p)
{
    struct generate_node *n;

    node_compare(p);
    node_fill(p, FILL_NEUTRAL, 2);
    n = node_jcc(p, roll(&p->dice, 16));
    body(p);
    node_land(p, n);
}

static void count_down(struct generated *p, uint16_t top)
{
    static const uint8_t conditions[] = {5, 7, 15, 9, 3, 13}; /* NZ, A, G, NS, AE, GE */
    struct generate_node *out;

    switch (roll(&p->dice, 4)) {
    case 0:
        node_loop(p, 2)->to = top;
        break;
    case 1:
        node_compare_state(p);
        node_loop(p, roll(&p->dice, 2))->to = top;
        break;
    case 2:
        node_add(p, NODE_DECREMENT, 0, 0);
        node_jcc(p, conditions[roll(&p->dice, sizeof(conditions))])->to = top;
        break;
    default:
        node_add(p, NODE_DECREMENT, 0, 0);
        out = node_loop(p, 3);
        node_jump(p)->to = top;
        node_land(p, out);
    }
}

static void iterate(struct generated *p)
{
    unsigned outside = p->repeat, count = 1 + roll(&p->dice, REPEAT_MAX / outside);
    uint16_t top;

    node_add(p, NODE_COUNT, 0, count);
    top = p->count;
    node_add(p, NODE_PUSH, 0, 0);
    p->repeat *= count + 1; /* some conditions let it run once more */
    body(p);
    node_add(p, NODE_POP, 0, 0);
    count_down(p, top);
    p->repeat = (uint16_t)outside;
}

/* The function lies before or behind its call. */
static void call_function(struct generated *p)
{
    unsigned arguments = roll(&p->dice, 3) ? 0 : 1 + roll(&p->dice, 3);
    bool before = roll(&p->dice, 2);
    struct generate_node *over = before ? node_jump(p) : NULL, *from = NULL;
    uint16_t function = p->count;

    if (!before) {
        for (unsigned i = 0; i < arguments; i++)
            node_add(p, NODE_PUSH, 0, 0);
        from = node_call(p);
        over = node_jump(p);
        node_land(p, from);
    }
    body(p);
    node_ret(p, arguments);
    node_land(p, over);
    if (before) {
        for (unsigned i = 0; i < arguments; i++)
            node_add(p, NODE_PUSH, 0, 0);
        node_call(p)->to = function;
    }
}

static void recurse(struct generated *p)
{
    struct generate_node *first, *over, *deeper;
    uint16_t function;

    node_add(p, NODE_COUNT, 0, 1 + roll(&p->dice, CALL_DEPTH));
    first = node_call(p);
    over = node_jump(p);
    node_land(p, first);
    function = p->count;
    deeper = node_loop(p, 2);
    node_ret(p, 0);
    node_land(p, deeper);
    node_call(p)->to = function;
    node_ret(p, 0);
    node_land(p, over);
}

/* Forward, back, and forward over both. */
static void hop(struct generated *p)
{
    struct generate_node *there = node_jump(p), *on;
    uint16_t back = p->count;

    node_fill(p, FILL_ANY, 1);
    on = node_jump(p);
    node_fill(p, FILL_ANY, 3);
    node_land(p, there);
    node_jump(p)->to = back;
    node_land(p, on);
}

/* Branches to the next instruction. */
static void zero(struct generated *p)
{
    struct generate_node *n;

    switch (roll(&p->dice, 4)) {
    case 0:
        n = node_jump(p);
        break;
    case 1:
        node_compare(p);
        n = node_jcc(p, roll(&p->dice, 16));
        break;
    case 2:
        n = node_call(p);
        break;
    default:
        node_add(p, NODE_COUNT, 0, roll(&p->dice, 2));
        n = node_loop(p, 2 + roll(&p->dice, 2));
    }
    node_land(p, n);
    if (n->op == NODE_CALL)
        node_add(p, NODE_DROP, 0, 0);
}

/* The LOOP group forward, on a small count. */
static void draw(struct generated *p)
{
    unsigned condition = roll(&p->dice, 4);
    struct generate_node *n;

    node_add(p, NODE_STEP, 0, 0);
    node_add(p, NODE_DRAW, 0, 30 + roll(&p->dice, 2));
    if (condition < 2)
        node_compare_state(p);
    n = node_loop(p, condition);
    node_fill(p, FILL_ANY, 6);
    node_land(p, n);
}

/* One of two places by an indirect jump. */
static void choose(struct generated *p)
{
    struct generate_node *n;

    node_compare(p);
    n = node_add(p, NODE_JMP, VIA_SELECT, 0);
    n->condition = (uint8_t)roll(&p->dice, 16);
    n->prefix = node_prefix(p);
    node_fill(p, FILL_ANY, 4);
    node_land(p, n);
}

static void fault(struct generated *p)
{
    struct generate_node *n = node_add(p, NODE_FAULT, roll(&p->dice, GENERATE_FAULTS), 0);

    node_fill(p, FILL_ANY, 2); /* never executed */
    node_land(p, n);
    if (n->form >= FAULT_DROPS)
        node_add(p, NODE_DROP, 0, 0);
}

static void touch(struct generated *p)
{
    unsigned form = roll(&p->dice, 4);
    uint32_t where = DATA_DEMAND - DATA_MIDDLE - 3 + roll(&p->dice, PAGE_BYTES - 8);

    if (form == 3)
        where = DATA_DEMAND - DATA_MIDDLE - 16 + roll(&p->dice, 16);
    else if (roll(&p->dice, 2))
        where = DATA_READ_ONLY - DATA_MIDDLE + roll(&p->dice, PAGE_BYTES - 8);
    node_add(p, NODE_TOUCH, form, where);
}

static void event(struct generated *p)
{
    if (p->events < p->repeat)
        return;
    p->events -= p->repeat;
    switch (roll(&p->dice, 5)) {
    case 0:
        touch(p);
        break;
    case 1 ... 2:
        node_add(p, NODE_SERVICE, roll(&p->dice, 2), 0);
        break;
    default:
        fault(p);
    }
}

static void leaf(struct generated *p)
{
    uint32_t value = (uint32_t)(p->dice >> 24);

    switch (roll(&p->dice, 13)) {
    case 0:
        if (p->repeat <= 4)
            recurse(p);
        break;
    case 1 ... 2:
        zero(p);
        break;
    case 3 ... 4:
        draw(p);
        break;
    case 5:
        choose(p);
        break;
    case 6:
        hop(p);
        break;
    case 7:
        node_add(p, NODE_STRING, roll(&p->dice, 8), value);
        break;
    case 8 ... 9:
        event(p);
        break;
    default:
        node_fill(p, FILL_ANY, roll(&p->dice, 32) ? 8 : 60);
    }
}

/* A few constructs in a row; the deeper, the fewer. */
static void body(struct generated *p)
{
    unsigned row = 1 + roll(&p->dice, p->depth ? 4 : 16);
    uint8_t outside = p->group;

    p->depth++;
    for (; row > 0 && p->count < GENERATE_NODES - ROOM_NEEDED && p->edges < EDGES_MAX; row--) {
        unsigned kind = p->depth < DEPTH_MAX ? roll(&p->dice, 10) : 9;

        p->group = ++p->groups;
        node_fill(p, FILL_ANY, 3);
        if (kind < 3)
            skip(p);
        else if (kind < 4 && p->repeat < REPEAT_MAX / 2)
            iterate(p);
        else if (kind < 6)
            call_function(p);
        else
            leaf(p);
    }
    p->depth--;
    p->group = outside;
}

void generate(struct generated *p, uint64_t seed)
{
    uint64_t base = p->base, data = p->data;

    memset(p, 0, sizeof(*p));
    p->base = base;
    p->data = data;
    p->dice = seed * 0x9E3779B97F4A7C15u;
    roll(&p->dice, 1);
    p->origin = (uint16_t)roll(&p->dice, PAGE_BYTES);
    p->state = roll(&p->dice, UINT32_MAX);
    p->wild = roll(&p->dice, 4) == 0;
    p->events = EVENTS_MAX;
    p->repeat = 1;
    /* Long paths through little code: emulators translate code once. */
    if (roll(&p->dice, 3))
        iterate(p);
    body(p);
    node_add(p, NODE_END, 0, 0);
}
