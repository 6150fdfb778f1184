/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The path of a generated program, foreseen from its nodes: no byte of code is read here and no
 * flag asked of a processor. What the walk cannot know it does not guess: it gives up.
 */
#include "guest/abi.h"
#include "harness/fuzz/generate_code.h"
#include "hw/trap.h"

#define STACK_MAX 128
#define STEPS_MAX 100000

/* What a stack slot holds: a value of rcx, or the node that a RET goes on with. */
struct slot {
    uint32_t value;
    bool address, known;
};

enum flags { FLAG_CF = 1, FLAG_PF = 2, FLAG_ZF = 4, FLAG_SF = 8, FLAG_OF = 16 };

struct walker {
    const struct generated *program;
    const struct guest_place *place;
    struct expected_edge *out;
    size_t max, count;
    unsigned now, next; /* nodes */
    uint32_t state, rcx;
    unsigned flags;
    bool rcx_known, flags_known;
    bool opened[2]; /* the page on demand, the read-only page */
    struct slot stack[STACK_MAX];
    unsigned depth;
    bool lost;
};

/* --- edges */

static uint64_t address(const struct walker *w, uint32_t offset)
{
    return w->program->base + offset;
}

static uint64_t start_of(const struct walker *w, unsigned node)
{
    return address(w, w->program->nodes[node].start);
}

static struct expected_edge *edge(struct walker *w, enum edge_kind kind, uint64_t from,
                                  uint64_t to)
{
    static struct expected_edge beyond;
    struct expected_edge *e = w->count < w->max ? &w->out[w->count] : &beyond;

    w->count++;
    *e = (struct expected_edge){
        .from = from, .to = to, .kind = (uint8_t)kind, .cpl_before = 3, .cpl_after = 3};
    return e;
}

static void branch(struct walker *w, enum edge_kind kind, unsigned to)
{
    edge(w, kind, address(w, w->program->nodes[w->now].branch), start_of(w, to));
    w->next = to;
}

/* Into the kernel and out again. */
static void excursion(struct walker *w, enum edge_kind kind, unsigned vector, uint64_t from,
                      uint64_t back)
{
    bool syscall = kind == EDGE_SYSCALL;
    struct expected_edge *e =
        edge(w, kind, from, syscall ? syscall_entry_address() : trap_entry_address(vector));

    e->cpl_after = 0;
    if (kind == EDGE_INT || kind == EDGE_INT3) {
        e->flags = EDGE_FROM_ALT;
        e->from_alt = from + (kind == EDGE_INT ? 2 : 1);
    } else if (syscall) {
        e->flags = EDGE_OPTIONAL;
    }
    e = edge(w, syscall ? EDGE_SYSRET : EDGE_IRET,
             syscall ? syscall_sysret_address() : trap_iretq_address(), back);
    e->cpl_before = 0;
    e->flags = EDGE_OPTIONAL;
}

/* --- the machine */

/* Flags of a 32-bit CMP, TEST, ADD or SUB, by its number in struct generate_node. */
static unsigned flags_of(unsigned operation, uint32_t a, uint32_t b)
{
    uint32_t r = operation == 1 ? a & b : operation == 2 ? a + b : a - b;
    uint32_t parity = r & 0xFF;
    unsigned flags = r ? 0 : FLAG_ZF;

    parity ^= parity >> 4;
    flags |= 0x6996 >> (parity & 15) & 1 ? 0 : FLAG_PF;
    flags |= r >> 31 ? FLAG_SF : 0;
    if (operation == 1)
        return flags;
    if (operation == 2)
        b = ~b; /* overflows as the subtraction of -b - 1 with a borrow */
    flags |= ((a ^ b) & (a ^ r)) >> 31 ? FLAG_OF : 0;
    return flags | ((operation == 2 ? r < a : a < b) ? FLAG_CF : 0);
}

/* Whether a condition, numbered as in the opcode of Jcc, holds. */
static bool holds(struct walker *w, unsigned condition)
{
    static const uint8_t any[8] = {FLAG_OF, FLAG_CF, FLAG_ZF, FLAG_CF | FLAG_ZF,
                                   FLAG_SF, FLAG_PF, 0,       FLAG_ZF};
    unsigned pair = condition >> 1;
    bool yes = (w->flags & any[pair]) != 0;

    w->lost |= !w->flags_known;
    if (pair >= 6) /* less, less or equal */
        yes |= !(w->flags & FLAG_SF) != !(w->flags & FLAG_OF);
    return yes != (condition & 1);
}

static void push(struct walker *w, uint32_t value, bool is_address, bool known)
{
    if (w->depth == STACK_MAX)
        w->lost = true;
    else
        w->stack[w->depth++] = (struct slot){value, is_address, known};
}

static struct slot pop(struct walker *w)
{
    if (w->depth == 0) {
        w->lost = true;
        return (struct slot){0};
    }
    return w->stack[--w->depth];
}

static void set_rcx(struct walker *w, uint32_t value)
{
    w->rcx = value;
    w->rcx_known = true;
}

static void compute(struct walker *w, uint32_t *a, unsigned operation, uint32_t b)
{
    w->flags = flags_of(operation, *a, b);
    w->flags_known = true;
    *a = operation == 2 ? *a + b : operation == 3 ? *a - b : *a;
}

static void walk_loop(struct walker *w, const struct generate_node *n)
{
    bool jumps = n->condition == 3 ? w->rcx == 0 : --w->rcx != 0;
    uint64_t from = address(w, n->branch), behind = from + (n->prefix ? 3 : 2);

    w->lost |= !w->rcx_known;
    if (n->condition < 2) /* LOOPNE wants ZF clear, LOOPE set: as the conditions NZ and Z */
        jumps &= holds(w, 5 - n->condition);
    if (!n->far_away) {
        if (jumps)
            branch(w, EDGE_LOOP, n->to);
        return;
    }
    if (!jumps) {
        edge(w, EDGE_JMP, behind, behind + 7);
        return;
    }
    edge(w, EDGE_LOOP, from, behind + 2);
    edge(w, EDGE_JMP, behind + 2, start_of(w, n->to));
    w->next = n->to;
}

static void walk_jump(struct walker *w, const struct generate_node *n)
{
    enum edge_kind kind = EDGE_JMP_INDIRECT;

    if (n->form == VIA_STACK)
        kind = EDGE_RET;
    else if (n->form <= VIA_REL32)
        kind = EDGE_JMP;
    branch(w, kind, n->form != VIA_SELECT || holds(w, n->condition) ? n->to : w->next);
}

static void walk_ret(struct walker *w, const struct generate_node *n)
{
    struct slot to = pop(w);

    if (!to.address) {
        w->lost = true;
        return;
    }
    for (unsigned i = 0; i < n->value / 8; i++)
        pop(w);
    branch(w, EDGE_RET, to.value);
}

static void walk_fault(struct walker *w, const struct generate_node *n)
{
    const struct generate_fault *f = &generate_faults[n->form];
    uint64_t from = address(w, n->branch);
    enum edge_kind kind = f->kind == EDGE_INT3 ? EDGE_INT3 : EDGE_EXCEPTION;

    if (f->kind && kind == EDGE_EXCEPTION) {
        edge(w, f->kind, from, w->place->data + DATA_NEVER);
        from = w->place->data + DATA_NEVER;
    }
    if (n->form >= FAULT_DROPS)
        push(w, 0, false, false);
    excursion(w, kind, f->vector, from, start_of(w, n->to));
    w->next = n->to;
}

static void walk_touch(struct walker *w, const struct generate_node *n)
{
    bool read_only = n->value >= DATA_READ_ONLY - DATA_MIDDLE;
    uint64_t from = address(w, n->branch);

    if (w->opened[read_only] || (read_only && n->form == 0))
        return;
    w->opened[read_only] = true;
    excursion(w, EDGE_EXCEPTION, VECTOR_PF, from, from);
}

/* Nodes that compute something the path may depend on. */
static void walk_value(struct walker *w, const struct generate_node *n)
{
    struct slot slot;

    switch (n->op) {
    case NODE_STEP:
        w->state = w->state * 109 + 89;
        break;
    case NODE_COMPARE:
        compute(w, &w->state, n->form, n->value);
        break;
    case NODE_COUNT:
        set_rcx(w, n->value);
        break;
    case NODE_DRAW:
        set_rcx(w, w->state >> n->value);
        break;
    case NODE_DECREMENT:
        w->lost |= !w->rcx_known;
        compute(w, &w->rcx, 3, 1);
        break;
    case NODE_PUSH:
        push(w, w->rcx, false, w->rcx_known);
        break;
    case NODE_POP:
        slot = pop(w);
        w->rcx = slot.value;
        w->rcx_known = slot.known && !slot.address;
        break;
    case NODE_DROP:
        pop(w);
        break;
    }
}

static void walk_transfer(struct walker *w, const struct generate_node *n)
{
    uint64_t from = address(w, n->branch);

    switch (n->op) {
    case NODE_JCC:
        if (holds(w, n->condition))
            branch(w, EDGE_JCC, n->to);
        break;
    case NODE_LOOP:
        walk_loop(w, n);
        break;
    case NODE_JMP:
        walk_jump(w, n);
        break;
    case NODE_CALL:
        push(w, w->next, true, true);
        branch(w, n->form <= VIA_REL32 ? EDGE_CALL : EDGE_CALL_INDIRECT, n->to);
        break;
    case NODE_RET:
        walk_ret(w, n);
        break;
    case NODE_FAULT:
        walk_fault(w, n);
        break;
    case NODE_TOUCH:
        walk_touch(w, n);
        break;
    case NODE_SERVICE:
        excursion(w, n->form ? EDGE_INT : EDGE_SYSCALL, VECTOR_SYSCALL_INT, from, from + 2);
        break;
    }
}

/* What a node leaves behind in flags and rcx that this walk does not compute. */
static void forget(struct walker *w, const struct generate_node *n)
{
    static const uint32_t flags = 1 << NODE_STEP | 1 << NODE_DRAW | 1 << NODE_FILL |
                                  1 << NODE_STRING | 1 << NODE_FAULT | 1 << NODE_TOUCH |
                                  1 << NODE_SERVICE;
    bool spoils = flags >> n->op & 1;

    if (n->op != NODE_FILL || n->form != FILL_NEUTRAL)
        w->flags_known &= !spoils;
    if (n->op != NODE_STEP && n->op != NODE_DRAW)
        w->rcx_known &= !spoils;
}

size_t generate_walk(const struct generated *p, const struct guest_place *place,
                     struct expected_edge *out, size_t max, uint64_t *result)
{
    struct walker w = {.program = p, .place = place, .out = out, .max = max, .state = p->state};
    const struct generate_node *n;

    *edge(&w, 0, 0, 0) = edge_entry(place, p->base + p->origin);
    for (unsigned steps = 0;; steps++, w.now = w.next) {
        n = &p->nodes[w.now];
        w.next = w.now + 1;
        if (n->off)
            continue;
        if (n->op == NODE_END)
            break;
        walk_value(&w, n);
        walk_transfer(&w, n);
        forget(&w, n);
        if (w.lost || steps > STEPS_MAX)
            return 0;
    }
    if (w.depth > 0)
        return 0;
    edge(&w, EDGE_RET, address(&w, n->branch), place->back);
    *edge(&w, 0, 0, 0) = edge_exit(place);
    *result = w.state;
    return w.count;
}
