/* SPDX-License-Identifier: BSD-2-Clause */
/* Appending single nodes to a random program: branches, comparisons, filler. */
#include "harness/fuzz/generate_code.h"

struct generate_node *node_add(struct generated *p, enum node_op op, unsigned form,
                               uint32_t value)
{
    struct generate_node *n = &p->nodes[p->count++];

    *n = (struct generate_node){
        .op = (uint8_t)op, .form = (uint8_t)form, .value = value, .group = p->group};
    if (op >= NODE_JCC)
        p->edges += p->repeat;
    return n;
}

void node_land(struct generated *p, struct generate_node *n)
{
    n->to = p->count;
}

void node_fill(struct generated *p, enum fill_sort sort, unsigned most)
{
    unsigned count = roll(&p->dice, most + 1);

    if (p->wild && sort == FILL_ANY)
        sort = FILL_DEFINED;
    while (count > 0) {
        unsigned part = count < 4 ? count : 4;

        node_add(p, NODE_FILL, sort, (uint32_t)(p->dice >> 24))->count = (uint8_t)part;
        roll(&p->dice, 1);
        count -= part;
    }
}

uint8_t node_prefix(struct generated *p)
{
    static const uint8_t prefixes[] = {0x2E, 0x3E, 0xF2, 0x48, 0x40};
    unsigned n = roll(&p->dice, 24);

    return n < sizeof(prefixes) ? prefixes[n] : 0;
}

void node_compare_state(struct generated *p)
{
    unsigned form = roll(&p->dice, 4);
    uint32_t value = (uint32_t)(p->dice >> 16);

    if (form == 1) { /* few bits, so that ZF is worth testing */
        value = 0x80000000u >> roll(&p->dice, 30);
        value |= 0x10000000u >> roll(&p->dice, 24);
    }
    node_add(p, NODE_STEP, 0, 0);
    node_add(p, NODE_COMPARE, form, value);
}

void node_compare(struct generated *p)
{
    if (p->wild && roll(&p->dice, 2))
        node_fill(p, FILL_DEFINED, 3);
    else
        node_compare_state(p);
}

struct generate_node *node_jcc(struct generated *p, unsigned condition)
{
    struct generate_node *n = node_add(p, NODE_JCC, roll(&p->dice, 2), 0);

    n->condition = (uint8_t)condition;
    n->prefix = node_prefix(p);
    return n;
}

struct generate_node *node_loop(struct generated *p, unsigned condition)
{
    struct generate_node *n = node_add(p, NODE_LOOP, 0, 0);

    n->condition = (uint8_t)condition;
    n->prefix = roll(&p->dice, 4) ? 0 : 0x67; /* counts in ECX */
    return n;
}

static struct generate_node *transfer(struct generated *p, enum node_op op, unsigned forms)
{
    uint32_t value = (uint32_t)(p->dice >> 20);
    struct generate_node *n = node_add(p, op, roll(&p->dice, forms), value);

    n->prefix = node_prefix(p);
    return n;
}

struct generate_node *node_jump(struct generated *p)
{
    return transfer(p, NODE_JMP, VIA_SELECT);
}

struct generate_node *node_call(struct generated *p)
{
    return transfer(p, NODE_CALL, VIA_STACK);
}

void node_ret(struct generated *p, unsigned pushed)
{
    struct generate_node *n = node_add(p, NODE_RET, 0, 8 * pushed);

    /* F3: the old REP RET */
    n->prefix = roll(&p->dice, 6) ? node_prefix(p) : 0xF3;
}
