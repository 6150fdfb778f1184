/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Straight-line filler: integer instructions of every length, with register operands and with
 * every form of address, on the first data page. Source: SDM Vol. 2, "Opcode Map".
 */
#include "harness/fuzz/generate_code.h"

enum form_traits {
    BYTES = 1 << 0,       /* opcode bit 0 clear means byte operands */
    BYTE_ALWAYS = 1 << 1, /* byte operands at least in r/m */
    IMM8 = 1 << 2,
    IMM = 1 << 3,       /* of operand size, at most 4 bytes */
    MEMORY = 1 << 4,    /* no register as r/m */
    LOCKABLE = 1 << 5,  /* with memory as r/m */
    CONDITION = 1 << 6, /* the low four bits of the opcode */
    ALU = 1 << 7,       /* bits 5:3 of the opcode choose the operation */
};

/*
 * extensions: which values of ModRM.reg name an instruction of this form, a bit each; 0 when
 * the field names a register.
 */
struct form {
    uint8_t map, opcode, traits, extensions;
};

/* In the order of enum fill_sort, from the back: each sort takes all from its place on. */
static const struct form forms[] = {
    {0, 0x69, IMM, 0},                 /* IMUL */
    {0, 0x6B, IMM8, 0},                /* IMUL */
    {0x0F, 0xAF, 0, 0},                /* IMUL */
    {0, 0xC0, BYTES | IMM8, 0xBF},     /* shifts and rotates; /6 is not documented */
    {0, 0xD0, BYTES, 0xBF},            /* by 1 */
    {0, 0xD2, BYTES, 0xBF},            /* by CL */
    {0, 0xF6, BYTES, 0x30},            /* MUL, IMUL */
    {0x0F, 0xA4, IMM8, 0},             /* SHLD */
    {0x0F, 0xAC, IMM8, 0},             /* SHRD */
    {0x0F, 0xBA, IMM8, 0xF0},          /* BT, BTS, BTR, BTC */
    {0x0F, 0xBC, 0, 0},                /* BSF */
    {0x0F, 0xBD, 0, 0},                /* BSR */
    {0, 0x00, BYTES | ALU, 0},         /* ADD, OR, ADC, SBB, AND, SUB, XOR, CMP: r/m, r */
    {0, 0x02, BYTES | ALU, 0},         /* the same: r, r/m */
    {0, 0x80, BYTES | IMM, 0xFF},      /* the same: r/m, imm */
    {0, 0x83, IMM8, 0xFF},             /* the same: r/m, imm8 */
    {0, 0x84, BYTES, 0},               /* TEST */
    {0, 0xF6, BYTES | IMM, 0x01},      /* TEST */
    {0, 0xF6, BYTES | LOCKABLE, 0x08}, /* NEG */
    {0, 0xFE, BYTES | LOCKABLE, 0x03}, /* INC, DEC */
    {0x0F, 0xB0, BYTES | LOCKABLE, 0}, /* CMPXCHG */
    {0x0F, 0xC0, BYTES | LOCKABLE, 0}, /* XADD */
    {0, 0x86, BYTES | LOCKABLE, 0},    /* XCHG */
    {0, 0x88, BYTES, 0},               /* MOV r/m, r */
    {0, 0x8A, BYTES, 0},               /* MOV r, r/m */
    {0, 0x8D, MEMORY, 0},              /* LEA */
    {0, 0x63, 0, 0},                   /* MOVSXD */
    {0, 0xC6, BYTES | IMM, 0x01},      /* MOV r/m, imm */
    {0, 0xF6, BYTES | LOCKABLE, 0x04}, /* NOT */
    {0x0F, 0x40, CONDITION, 0},        /* CMOVcc */
    {0x0F, 0x90, CONDITION | BYTE_ALWAYS, 0x01}, /* SETcc */
    {0x0F, 0xB6, BYTE_ALWAYS, 0},                /* MOVZX */
    {0x0F, 0xB7, 0, 0},
    {0x0F, 0xBE, BYTE_ALWAYS, 0}, /* MOVSX */
    {0x0F, 0xBF, 0, 0},
    {0x0F, 0x1F, 0, 0x01}, /* NOP */
};
static const uint8_t sort_begins[] = {0, 12, 22};

/* One instruction on its way out. */
struct writer {
    struct code *code;
    uint64_t *dice;
    const struct form *form;
    bool rex, wide, small; /* REX, REX.W, operand-size prefix */
    bool bytes;            /* byte operands */
    bool memory;
    uint8_t rex_bits, modrm;
    bool has_sib, rip;
    uint8_t sib, displacement_bytes;
    int32_t displacement;
};

/*
 * A register that a program leaves to filler. Without REX, 4 to 6 are AH, CH and DH; with it
 * they would be parts of RSP, RBP and RSI.
 */
static unsigned scratch(const struct writer *w, bool byte)
{
    static const uint8_t with_rex[8] = {0, 1, 2, 7, 8, 9, 10, 11};
    static const uint8_t without[8] = {0, 1, 2, 7, 0, 1, 2, 7};
    static const uint8_t byte_without[8] = {0, 1, 2, 4, 5, 6, 0, 2};

    return (w->rex ? with_rex : byte ? byte_without : without)[roll(w->dice, 8)];
}

/* [base + index * scale + displacement], any of them left out where the encoding allows it. */
static void address_by_sib(struct writer *w, unsigned base)
{
    unsigned shape = roll(w->dice, 3), scale = roll(w->dice, 4);

    w->has_sib = true;
    w->modrm |= 4;
    if (shape == 0) { /* no base: the pointer is the index */
        w->modrm &= 0x3F;
        w->sib = (uint8_t)((base & 7) << 3 | 5);
        w->rex_bits |= base & 8 ? 2 : 0;
        w->displacement_bytes = 4;
        /* r12 is an index like others, by its REX bit. */
        return;
    }
    w->sib = (uint8_t)(scale << 6 | (shape == 1 ? 4 : 6) << 3 | (base & 7));
    w->rex_bits |= base & 8 ? 1 : 0;
}

static void choose_address(struct writer *w)
{
    static const uint8_t bases[4] = {3, 5, 12, 13};
    unsigned base = bases[roll(w->dice, w->rex ? 4 : 2)], mode = roll(w->dice, 4);

    w->displacement = (int32_t)roll(w->dice, 0xC00) - 0x700;
    if (mode == 3) {
        w->rip = true;
        w->modrm |= 5;
        w->displacement_bytes = 4;
        return;
    }
    if (mode == 0 && (base & 7) == 5)
        mode = 1; /* that encoding means something else */
    w->modrm |= (uint8_t)(mode << 6);
    w->displacement_bytes = mode == 2 ? 4 : (uint8_t)mode;
    if ((base & 7) == 4 || roll(w->dice, 3) == 0) {
        address_by_sib(w, base);
    } else {
        w->modrm |= base & 7;
        w->rex_bits |= base & 8 ? 1 : 0;
    }
}

static void choose_operands(struct writer *w)
{
    const struct form *f = w->form;
    unsigned reg = roll(w->dice, 8);

    if (f->extensions) {
        while (!(f->extensions >> reg & 1))
            reg = (reg + 1) & 7;
    } else {
        reg = scratch(w, w->bytes);
        w->rex_bits |= reg & 8 ? 4 : 0;
    }
    w->modrm = (uint8_t)((reg & 7) << 3);
    w->memory = f->traits & MEMORY || roll(w->dice, 2);
    if (w->memory) {
        choose_address(w);
    } else {
        reg = scratch(w, w->bytes || f->traits & BYTE_ALWAYS);
        w->rex_bits |= reg & 8 ? 1 : 0;
        w->modrm |= (uint8_t)(0xC0 | (reg & 7));
    }
}

static unsigned immediate_bytes(const struct writer *w)
{
    if (w->form->traits & IMM8)
        return 1;
    if (!(w->form->traits & IMM))
        return 0;
    return w->bytes ? 1 : w->small && !w->wide ? 2 : 4;
}

static void write(struct writer *w, unsigned opcode)
{
    struct code *c = w->code;
    unsigned immediate = immediate_bytes(w);
    uint64_t target = c->data + DATA_MIDDLE + (uint64_t)(int64_t)w->displacement;

    if (w->memory && w->form->traits & LOCKABLE && roll(w->dice, 4) == 0)
        code_byte(c, 0xF0);
    if (w->small)
        code_byte(c, 0x66);
    if (roll(w->dice, 16) == 0)
        code_byte(c, 0x3E); /* a segment prefix without effect */
    if (w->rex)
        code_byte(c, 0x40u | w->rex_bits | (w->wide ? 8 : 0));
    if (w->form->map)
        code_byte(c, w->form->map);
    code_byte(c, opcode);
    code_byte(c, w->modrm);
    if (w->has_sib)
        code_byte(c, w->sib);
    if (w->rip)
        code_put(c, target - c->linear - c->at - 4 - immediate, 4);
    else
        code_put(c, (uint32_t)w->displacement, w->displacement_bytes);
    code_put(c, roll(w->dice, UINT32_MAX), immediate);
}

static void fill_by_form(struct code *c, uint64_t *dice, const struct form *form)
{
    struct writer w = {.code = c, .dice = dice, .form = form};
    unsigned opcode = form->opcode, shape = roll(dice, 32);

    if (form->traits & CONDITION)
        opcode += roll(dice, 16);
    if (form->traits & ALU)
        opcode += 8 * roll(dice, 8);
    if (form->traits & BYTES)
        opcode += shape >> 4;
    w.bytes = form->traits & BYTES && !(opcode & 1);
    w.rex = shape & 1;
    w.wide = w.rex && shape & 2;
    w.small = !w.bytes && (shape & 12) == 4;
    choose_operands(&w);
    write(&w, opcode);
}

/* Instructions without ModRM; those from the fourth on leave the flags alone. */
static void fill_plainly(struct code *c, uint64_t *dice, enum fill_sort sort)
{
    static const uint8_t plain[] = {0xF5, 0xF8, 0xF9,             /* CMC, CLC, STC */
                                    0xFC, 0x90, 0x98, 0x99, 0xD7, /* CLD, NOP, CBW, CWD, XLAT */
                                    0x91, 0x92, 0x97};            /* XCHG with eax */
    unsigned reg = roll(dice, 3);

    switch (roll(dice, 4)) {
    case 0:
        code_byte(c, 0x48); /* mov r64, imm64 */
        code_byte(c, 0xB8 + reg);
        code_put(c, *dice, 8);
        break;
    case 1:
        code_byte(c, 0x50 + reg); /* push; pop of another */
        code_byte(c, 0x58 + roll(dice, 3));
        break;
    case 2:
        code_put(c, 0xC80F + (reg << 8), 2); /* bswap */
        break;
    default:
        reg = sort == FILL_NEUTRAL ? 3 : 0;
        code_byte(c, plain[reg + roll(dice, sizeof(plain) - reg)]);
    }
}

void code_fill(struct code *c, uint64_t seed, unsigned count, enum fill_sort sort)
{
    uint64_t dice = seed;
    unsigned first = sort_begins[sort], forms_left = sizeof(forms) / sizeof(forms[0]) - first;

    roll(&dice, 1);
    for (; count > 0; count--) {
        if (roll(&dice, 6) == 0)
            fill_plainly(c, &dice, sort);
        else
            fill_by_form(c, &dice, &forms[first + roll(&dice, forms_left)]);
    }
}
