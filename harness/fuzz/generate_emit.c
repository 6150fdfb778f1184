/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From nodes to machine code. Where each node lies is known only when all before it are
 * written, so the whole is written again until nothing moves any more: first with rel8
 * wherever it was asked for, then with rel32 where that did not reach.
 */
#include "guest/abi.h"
#include "harness/fuzz/generate_code.h"
#include "hw/trap.h"

#define ROUNDS_MAX 32

const struct generate_fault generate_faults[GENERATE_FAULTS] = {
    {VECTOR_UD, 0, 0, 2, "\x0F\x0B"},                         /* ud2 */
    {VECTOR_UD, 0, 0, 3, "\x0F\xB9\xC1"},                     /* ud1 eax, ecx */
    {VECTOR_DE, 0, 2, 4, "\x31\xC9\xF7\xF1"},                 /* xor ecx, ecx; div ecx */
    {VECTOR_DE, 0, 2, 5, "\x31\xC9\x48\xF7\xF9"},             /* the same, idiv rcx */
    {VECTOR_GP, 0, 0, 1, "\xF4"},                             /* hlt */
    {VECTOR_GP, 0, 0, 1, "\xEC"},                             /* in al, dx */
    {VECTOR_GP, 0, 10, 13,                                    /* mov rcx, -1 */
     "\x48\xC7\xC1\xFF\xFF\xFF\xFF\x48\xD1\xE9\x48\x8B\x01"}, /* shr rcx; mov rax, [rcx] */
    {VECTOR_PF, 0, 0, 7, "\x48\x8B\x83\x00\x28\x00\x00"},     /* mov rax, [never] */
    {VECTOR_PF, 0, 0, 6, "\x88\x83\xFF\x2F\x00\x00"},         /* mov [never], al */
    {VECTOR_PF, 0, 0, 6, "\xFF\xB3\x34\x28\x00\x00"},         /* push qword [never] */
    {VECTOR_PF, 0, 0, 6, "\xFF\xA3\x10\x28\x00\x00"},         /* jmp [never] */
    {VECTOR_PF, 0, 0, 6, "\xFF\x93\x20\x28\x00\x00"},         /* call [never] */
    {VECTOR_BP, EDGE_INT3, 0, 1, "\xCC"},                     /* int3 */
    {VECTOR_PF, EDGE_JMP_INDIRECT, 7, 9,                      /* lea rax, [never] */
     "\x48\x8D\x83\x00\x28\x00\x00\xFF\xE0"},                 /* jmp rax */
    {VECTOR_PF, EDGE_RET, 8, 9,                               /* lea rax, [never] */
     "\x48\x8D\x83\x00\x28\x00\x00\x50\xC3"},                 /* push rax; ret */
    [FAULT_DROPS] = {VECTOR_PF, EDGE_CALL_INDIRECT, 7, 9,     /* lea rax, [never] */
                     "\x48\x8D\x83\x00\x28\x00\x00\xFF\xD0"}, /* call rax */
};
_Static_assert(DATA_NEVER - DATA_MIDDLE == 0x2800, "displacements in the table above");

void code_byte(struct code *c, unsigned byte)
{
    if (c->at < c->room)
        c->bytes[c->at] = (uint8_t)byte;
    c->at++;
}

void code_put(struct code *c, uint64_t value, unsigned bytes)
{
    for (; bytes > 0; bytes--, value >>= 8)
        code_byte(c, (uint8_t)value);
}

void code_text(struct code *c, const char *text, size_t bytes)
{
    while (bytes--)
        code_byte(c, (uint8_t)*text++);
}

/* A rel32 to this offset, from behind itself. */
static void relative(struct code *c, uint64_t offset)
{
    code_put(c, offset - c->at - 4, 4);
}

/* --- branches */

struct emitter {
    struct code code;
    struct generated *program;
    bool settled; /* no node has moved since the last round */
    bool first;   /* where nodes lie is not known at all */
};

static uint16_t offset_of(const struct emitter *e, unsigned node)
{
    return e->program->nodes[node].start;
}

/* opcode and a rel8, or false when that does not reach: nothing is written then. */
static bool short_branch(struct emitter *e, struct generate_node *n, unsigned opcode)
{
    uint64_t away = offset_of(e, n->to) - (e->code.at + 2);

    if (away + 128 > 255 && !e->first)
        n->far_away = true;
    if (n->far_away)
        return false;
    code_byte(&e->code, opcode);
    code_byte(&e->code, (unsigned)away);
    return true;
}

static void begin_branch(struct emitter *e, struct generate_node *n)
{
    n->branch = (uint16_t)e->code.at;
    if (n->prefix)
        code_byte(&e->code, n->prefix);
}

static void emit_jcc(struct emitter *e, struct generate_node *n)
{
    begin_branch(e, n);
    if (n->form == VIA_REL8 && short_branch(e, n, 0x70 + n->condition))
        return;
    code_byte(&e->code, 0x0F);
    code_byte(&e->code, 0x80 + n->condition);
    relative(&e->code, offset_of(e, n->to));
}

/* There is no LOOP with rel32: it leads to a JMP then, and another JMP leads past that. */
static void emit_loop(struct emitter *e, struct generate_node *n)
{
    begin_branch(e, n);
    if (short_branch(e, n, 0xE0 + n->condition))
        return;
    code_byte(&e->code, 0xE0 + n->condition);
    CODE(&e->code, "\x02\xEB\x05\xE9");
    relative(&e->code, offset_of(e, n->to));
}

/*
 * How an indirect branch finds its target, which is in rax: a quadword of the data page or the
 * register itself. Both texts go on with the displacement `slot`, if any.
 */
struct via {
    uint8_t store_bytes, modrm_bytes;
    bool slot;
    char store[4], modrm[2];
};

static const struct via vias[VIA_COUNT] = {
    [VIA_REGISTER] = {0, 1, false, "", "\xC0"},
    [VIA_MEMORY] = {3, 1, true, "\x48\x89\x43", "\x43"},        /* [rbx + slot] */
    [VIA_INDEX] = {4, 2, true, "\x48\x89\x44\x33", "\x44\x33"}, /* [rbx + rsi + slot] */
    [VIA_RIP] = {3, 1, true, "\x48\x89\x43", "\x05"},
    [VIA_STACK] = {1, 0, false, "\x50", ""}, /* push rax */
    [VIA_SELECT] = {0, 1, false, "", "\xC0"},
};

/* rax = the address of a node */
static void load_target(struct emitter *e, unsigned node)
{
    CODE(&e->code, "\x48\x8D\x05"); /* lea rax, [rip + ...] */
    relative(&e->code, offset_of(e, node));
}

static void emit_indirect(struct emitter *e, struct generate_node *n)
{
    struct code *c = &e->code;
    const struct via *via = &vias[n->form];
    uint8_t slot = (uint8_t)(n->value & 0x78);

    load_target(e, n->to);
    if (n->form == VIA_SELECT) {
        CODE(c, "\x48\x89\xC2"); /* mov rdx, rax */
        load_target(e, (unsigned)(n - e->program->nodes) + 1);
        code_put(c, 0xC2400F48u + (n->condition << 16), 4); /* cmovcc rax, rdx */
    }
    code_text(c, via->store, via->store_bytes);
    if (via->slot)
        code_byte(c, slot);
    begin_branch(e, n);
    if (n->form == VIA_STACK) {
        code_byte(c, 0xC3);
        return;
    }
    code_byte(c, 0xFF);
    /* /2 for CALL, /4 for JMP */
    code_byte(c, (uint8_t)via->modrm[0] + (n->op == NODE_CALL ? 0x10u : 0x20u));
    if (n->form == VIA_RIP) {
        relative(c, c->data + DATA_MIDDLE + slot - c->linear);
        return;
    }
    code_text(c, via->modrm + 1, via->modrm_bytes - 1u);
    if (via->slot)
        code_byte(c, slot);
}

static void emit_transfer(struct emitter *e, struct generate_node *n)
{
    bool call = n->op == NODE_CALL;

    if (n->form >= VIA_REGISTER) {
        emit_indirect(e, n);
        return;
    }
    begin_branch(e, n);
    if (n->form == VIA_REL8 && !call && short_branch(e, n, 0xEB))
        return;
    code_byte(&e->code, call ? 0xE8 : 0xE9);
    relative(&e->code, offset_of(e, n->to));
}

static void emit_ret(struct emitter *e, struct generate_node *n)
{
    begin_branch(e, n);
    code_byte(&e->code, n->value ? 0xC2 : 0xC3);
    if (n->value)
        code_put(&e->code, n->value, 2);
}

/* --- events */

static void emit_fault(struct emitter *e, struct generate_node *n)
{
    const struct generate_fault *f = &generate_faults[n->form];

    CODE(&e->code, "\x4C\x8D\x3D"); /* lea r15, [rip + to] */
    relative(&e->code, offset_of(e, n->to));
    n->branch = (uint16_t)(e->code.at + f->before);
    code_text(&e->code, f->text, f->bytes);
}

static void emit_touch(struct emitter *e, struct generate_node *n)
{
    struct code *c = &e->code;

    if (n->form == 3) {
        CODE(c, "\x48\x8D\xBB"); /* lea rdi, [rbx + value]: before the end of its page */
        code_put(c, n->value, 4);
        CODE(c, "\xB9\x20\x00\x00\x00"); /* mov ecx, 32 */
        n->branch = (uint16_t)c->at;
        CODE(c, "\xF3\xAA"); /* rep stosb */
        return;
    }
    n->branch = (uint16_t)c->at;
    if (n->form == 0)
        CODE(c, "\x48\x8B\x83"); /* mov rax, [rbx + value] */
    else if (n->form == 1)
        CODE(c, "\x48\x89\x83"); /* mov [rbx + value], rax */
    else
        CODE(c, "\x01\x83"); /* add [rbx + value], eax */
    code_put(c, n->value, 4);
}

static void emit_service(struct emitter *e, struct generate_node *n)
{
    code_byte(&e->code, 0xB8); /* mov eax, SERVICE_NOP */
    code_put(&e->code, SERVICE_NOP, 4);
    n->branch = (uint16_t)e->code.at;
    if (n->form)
        CODE(&e->code, "\xCD\x80");
    else
        CODE(&e->code, "\x0F\x05\x41\x89\xC3"); /* then mov r11d, eax: it would show TF */
}

/* --- the rest */

static void emit_string(struct emitter *e, const struct generate_node *n)
{
    static const uint8_t opcodes[][2] = {{0xF3, 0xAA}, {0xF3, 0xAB}, {0xF3, 0xA4},
                                         {0xF3, 0xA5}, {0xF3, 0xAD}, {0xF3, 0xA6},
                                         {0xF2, 0xAE}, {0xF2, 0xA7}};
    struct code *c = &e->code;
    const uint8_t *opcode = opcodes[n->form & 7];

    CODE(c, "\x48\x8D\xBB"); /* lea rdi, [rbx + ...] */
    code_put(c, (n->value >> 6 & 0x3FF) - 0x700, 4);
    CODE(c, "\x48\x8D\xB3"); /* lea rsi, [rbx + ...] */
    code_put(c, n->value >> 16 & 0x3FF, 4);
    code_byte(c, 0xB9); /* mov ecx, ... */
    code_put(c, n->value & 31, 4);
    code_byte(c, opcode[0]);
    if (n->value & 32)
        code_byte(c, 0x48);
    code_byte(c, opcode[1]);
    code_byte(c, 0xBE); /* mov esi, ... */
    code_put(c, n->value & 31, 4);
}

static void emit_compare(struct emitter *e, const struct generate_node *n)
{
    static const uint8_t forms[4][2] = {{0x81, 0xFE}, {0xF7, 0xC6}, {0x81, 0xC6}, {0x81, 0xEE}};

    code_byte(&e->code, 0x41);
    code_byte(&e->code, forms[n->form][0]);
    code_byte(&e->code, forms[n->form][1]);
    code_put(&e->code, n->value, 4);
}

/* Nodes that are always the same code. */
static const struct {
    uint8_t bytes;
    char text[8];
} fixed[NODE_OP_COUNT] = {
    /* imul r14d, r14d, 109; add r14d, 89 */
    [NODE_STEP] = {8, "\x45\x6B\xF6\x6D\x41\x83\xC6\x59"},
    [NODE_DECREMENT] = {3, "\x83\xE9\x01"},    /* sub ecx, 1 */
    [NODE_DROP] = {5, "\x48\x8D\x64\x24\x08"}, /* lea rsp, [rsp + 8] */
    [NODE_PUSH] = {1, "\x51"},
    [NODE_POP] = {1, "\x59"},
    [NODE_COUNT] = {1, "\xB9"},                /* mov ecx, value */
    [NODE_DRAW] = {5, "\x44\x89\xF1\xC1\xE9"}, /* mov ecx, r14d; shr ecx, value */
    [NODE_END] = {3, "\x44\x89\xF0"},          /* mov eax, r14d; ret */
};

static void emit_node(struct emitter *e, struct generate_node *n)
{
    struct code *c = &e->code;

    code_text(c, fixed[n->op].text, fixed[n->op].bytes);
    switch (n->op) {
    case NODE_FILL:
        code_fill(c, n->value, n->count, n->form);
        break;
    case NODE_COMPARE:
        emit_compare(e, n);
        break;
    case NODE_COUNT:
        code_put(c, n->value, 4);
        break;
    case NODE_DRAW:
        code_byte(c, n->value);
        break;
    case NODE_JCC:
        emit_jcc(e, n);
        break;
    case NODE_LOOP:
        emit_loop(e, n);
        break;
    case NODE_JMP:
    case NODE_CALL:
        emit_transfer(e, n);
        break;
    case NODE_FAULT:
        emit_fault(e, n);
        break;
    case NODE_TOUCH:
        emit_touch(e, n);
        break;
    case NODE_SERVICE:
        emit_service(e, n);
        break;
    case NODE_STRING:
        emit_string(e, n);
        break;
    case NODE_END:
    case NODE_RET:
        emit_ret(e, n);
        break;
    }
}

static void emit_all(struct emitter *e)
{
    struct generated *p = e->program;
    struct code *c = &e->code;

    c->at = p->origin;
    CODE(c, "\x48\x8D\x9F\x00\x08\x00\x00"         /* lea rbx, [rdi + DATA_MIDDLE] */
            "\x48\x89\xDD\x49\x89\xDC\x49\x89\xDD" /* mov rbp, rbx; the same r12, r13 */
            "\x31\xF6\x41\xBE");                   /* xor esi, esi; mov r14d, state */
    code_put(c, p->state, 4);
    for (struct generate_node *n = p->nodes; n < p->nodes + p->count; n++) {
        if (n->start != c->at)
            e->settled = false;
        n->start = (uint16_t)c->at;
        if (!n->off)
            emit_node(e, n);
    }
    p->end = (uint16_t)c->at;
}

bool generate_emit(struct generated *p, uint8_t *bytes, size_t room)
{
    struct emitter e = {
        .code = {.bytes = bytes, .room = room, .linear = p->base, .data = p->data},
        .program = p,
        .first = true,
    };

    for (struct generate_node *n = p->nodes; n < p->nodes + p->count; n++)
        n->far_away = false;
    for (unsigned round = 0; round < ROUNDS_MAX && !e.settled; round++) {
        e.settled = !e.first;
        emit_all(&e);
        e.first = false;
    }
    return e.settled && e.code.at <= room;
}
