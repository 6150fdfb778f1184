/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The grammar of random programs: bodies inside branches, loops and functions. Every backward
 * branch counts, so every program ends.
 */
#include "guest/generate.h"

#include "guest/abi.h"
#include "guest/generate_code.h"
#include "hw/paging.h"
#include "hw/string.h"

#define DEPTH_MAX   6
#define REPEAT_MAX  64   /* product of the counts of nested loops */
#define ROOM_NEEDED 72   /* nodes that may still be added once a body has begun something */
#define EVENTS_MAX  16   /* an event's handler leaves many records of its own */
#define EDGES_MAX   2500 /* before a body begins something more */
#define CALL_DEPTH  12   /* of recursion */

static void body(struct generated *p);

static struct generate_node *add(struct generated *p, enum node_op op, unsigned form,
                                 uint32_t value)
{
    struct generate_node *n = &p->nodes[p->count++];

    *n = (struct generate_node){
        .op = (uint8_t)op, .form = (uint8_t)form, .value = value, .group = p->group};
    if (op >= NODE_JCC)
        p->edges += p->repeat;
    return n;
}

/* The node added next is the one that this one leads to. */
static void land(struct generated *p, struct generate_node *n)
{
    n->to = p->count;
}

static void fill(struct generated *p, enum fill_sort sort, unsigned most)
{
    unsigned count = roll(&p->dice, most + 1);

    if (p->wild && sort == FILL_ANY)
        sort = FILL_DEFINED;
    while (count > 0) {
        unsigned part = count < 4 ? count : 4;

        add(p, NODE_FILL, sort, (uint32_t)(p->dice >> 24))->count = (uint8_t)part;
        roll(&p->dice, 1);
        count -= part;
    }
}

static uint8_t prefix(struct generated *p)
{
    static const uint8_t prefixes[] = {0x2E, 0x3E, 0xF2, 0x48, 0x40};
    unsigned n = roll(&p->dice, 24);

    return n < sizeof(prefixes) ? prefixes[n] : 0;
}

/* Flags that can be foreseen. Keeps rcx. */
static void compare_state(struct generated *p)
{
    unsigned form = roll(&p->dice, 4);
    uint32_t value = (uint32_t)(p->dice >> 16);

    if (form == 1) /* few bits, so that ZF is worth testing */
        value = 0x80000000u >> roll(&p->dice, 30) | 0x10000000u >> roll(&p->dice, 24);
    add(p, NODE_STEP, 0, 0);
    add(p, NODE_COMPARE, form, value);
}

/* Flags that the branch that follows will test. */
static void compare(struct generated *p)
{
    if (p->wild && roll(&p->dice, 2))
        fill(p, FILL_DEFINED, 3);
    else
        compare_state(p);
}

static struct generate_node *jcc(struct generated *p, unsigned condition)
{
    struct generate_node *n = add(p, NODE_JCC, roll(&p->dice, 2), 0);

    n->condition = (uint8_t)condition;
    n->prefix = prefix(p);
    return n;
}

static struct generate_node *loop(struct generated *p, unsigned condition)
{
    struct generate_node *n = add(p, NODE_LOOP, 0, 0);

    n->condition = (uint8_t)condition;
    n->prefix = roll(&p->dice, 4) ? 0 : 0x67; /* counts in ECX */
    return n;
}

static struct generate_node *transfer(struct generated *p, enum node_op op, unsigned forms)
{
    struct generate_node *n = add(p, op, roll(&p->dice, forms), (uint32_t)(p->dice >> 20));

    n->prefix = prefix(p);
    return n;
}

static struct generate_node *jump(struct generated *p)
{
    return transfer(p, NODE_JMP, VIA_SELECT);
}

static struct generate_node *call(struct generated *p)
{
    return transfer(p, NODE_CALL, VIA_STACK);
}

static void ret(struct generated *p, unsigned pushed)
{
    struct generate_node *n = add(p, NODE_RET, 0, 8 * pushed);

    /* F3: the old REP RET */
    n->prefix = roll(&p->dice, 6) ? prefix(p) : 0xF3;
}

/* --- one function for each construct */

static void skip(struct generated *p)
{
    struct generate_node *n;

    compare(p);
    fill(p, FILL_NEUTRAL, 2);
    n = jcc(p, roll(&p->dice, 16));
    body(p);
    land(p, n);
}

static void count_down(struct generated *p, uint16_t top)
{
    static const uint8_t conditions[] = {5, 7, 15, 9, 3, 13}; /* NZ, A, G, NS, AE, GE */
    struct generate_node *out;

    switch (roll(&p->dice, 4)) {
    case 0:
        loop(p, 2)->to = top;
        break;
    case 1:
        compare_state(p);
        loop(p, roll(&p->dice, 2))->to = top;
        break;
    case 2:
        add(p, NODE_DECREMENT, 0, 0);
        jcc(p, conditions[roll(&p->dice, sizeof(conditions))])->to = top;
        break;
    default:
        add(p, NODE_DECREMENT, 0, 0);
        out = loop(p, 3);
        jump(p)->to = top;
        land(p, out);
    }
}

static void iterate(struct generated *p)
{
    unsigned outside = p->repeat, count = 1 + roll(&p->dice, REPEAT_MAX / outside);
    uint16_t top;

    add(p, NODE_COUNT, 0, count);
    top = p->count;
    add(p, NODE_PUSH, 0, 0);
    p->repeat *= count + 1; /* some conditions let it run once more */
    body(p);
    add(p, NODE_POP, 0, 0);
    count_down(p, top);
    p->repeat = (uint16_t)outside;
}

/* The function lies before or behind its call. */
static void call_function(struct generated *p)
{
    unsigned arguments = roll(&p->dice, 3) ? 0 : 1 + roll(&p->dice, 3);
    bool before = roll(&p->dice, 2);
    struct generate_node *over = before ? jump(p) : NULL, *from = NULL;
    uint16_t function = p->count;

    if (!before) {
        for (unsigned i = 0; i < arguments; i++)
            add(p, NODE_PUSH, 0, 0);
        from = call(p);
        over = jump(p);
        land(p, from);
    }
    body(p);
    ret(p, arguments);
    land(p, over);
    if (before) {
        for (unsigned i = 0; i < arguments; i++)
            add(p, NODE_PUSH, 0, 0);
        call(p)->to = function;
    }
}

static void recurse(struct generated *p)
{
    struct generate_node *first, *over, *deeper;
    uint16_t function;

    add(p, NODE_COUNT, 0, 1 + roll(&p->dice, CALL_DEPTH));
    first = call(p);
    over = jump(p);
    land(p, first);
    function = p->count;
    deeper = loop(p, 2);
    ret(p, 0);
    land(p, deeper);
    call(p)->to = function;
    ret(p, 0);
    land(p, over);
}

/* Forward, back, and forward over both. */
static void hop(struct generated *p)
{
    struct generate_node *there = jump(p), *on;
    uint16_t back = p->count;

    fill(p, FILL_ANY, 1);
    on = jump(p);
    fill(p, FILL_ANY, 3);
    land(p, there);
    jump(p)->to = back;
    land(p, on);
}

/* Branches to the next instruction. */
static void zero(struct generated *p)
{
    struct generate_node *n;

    switch (roll(&p->dice, 4)) {
    case 0:
        n = jump(p);
        break;
    case 1:
        compare(p);
        n = jcc(p, roll(&p->dice, 16));
        break;
    case 2:
        n = call(p);
        break;
    default:
        add(p, NODE_COUNT, 0, roll(&p->dice, 2));
        n = loop(p, 2 + roll(&p->dice, 2));
    }
    land(p, n);
    if (n->op == NODE_CALL)
        add(p, NODE_DROP, 0, 0);
}

/* The LOOP group forward, on a small count. */
static void draw(struct generated *p)
{
    unsigned condition = roll(&p->dice, 4);
    struct generate_node *n;

    add(p, NODE_STEP, 0, 0);
    add(p, NODE_DRAW, 0, 30 + roll(&p->dice, 2));
    if (condition < 2)
        compare_state(p);
    n = loop(p, condition);
    fill(p, FILL_ANY, 6);
    land(p, n);
}

/* One of two places by an indirect jump. */
static void choose(struct generated *p)
{
    struct generate_node *n;

    compare(p);
    n = add(p, NODE_JMP, VIA_SELECT, 0);
    n->condition = (uint8_t)roll(&p->dice, 16);
    n->prefix = prefix(p);
    fill(p, FILL_ANY, 4);
    land(p, n);
}

static void fault(struct generated *p)
{
    struct generate_node *n = add(p, NODE_FAULT, roll(&p->dice, GENERATE_FAULTS), 0);

    fill(p, FILL_ANY, 2); /* never executed */
    land(p, n);
    if (n->form >= FAULT_DROPS)
        add(p, NODE_DROP, 0, 0);
}

static void touch(struct generated *p)
{
    unsigned form = roll(&p->dice, 4);
    uint32_t where = DATA_DEMAND - DATA_MIDDLE - 3 + roll(&p->dice, PAGE_BYTES - 8);

    if (form == 3)
        where = DATA_DEMAND - DATA_MIDDLE - 16 + roll(&p->dice, 16);
    else if (roll(&p->dice, 2))
        where = DATA_READ_ONLY - DATA_MIDDLE + roll(&p->dice, PAGE_BYTES - 8);
    add(p, NODE_TOUCH, form, where);
}

static void event(struct generated *p)
{
    if (p->events < p->repeat)
        return;
    p->events -= p->repeat;
    switch (roll(&p->dice, 4)) {
    case 0:
        touch(p);
        break;
    case 1:
        add(p, NODE_SERVICE, roll(&p->dice, 2), 0);
        break;
    default:
        fault(p);
    }
}

static void leaf(struct generated *p)
{
    switch (roll(&p->dice, 12)) {
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
        add(p, NODE_STRING, roll(&p->dice, 8), (uint32_t)(p->dice >> 24));
        break;
    case 8:
        event(p);
        break;
    default:
        fill(p, FILL_ANY, roll(&p->dice, 32) ? 8 : 60);
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
        fill(p, FILL_ANY, 3);
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
    add(p, NODE_END, 0, 0);
}
