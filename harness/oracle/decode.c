/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The oracle's decoder: where a 64-bit-mode instruction ends, and whether it transfers control.
 * It walks prefixes, opcode, ModRM and immediates and interprets nothing else.
 *
 * Near branches ignore the operand-size prefix, as Intel processors do in 64-bit mode: 66 E9
 * still carries rel32. AMD processors take rel16 there, so such code is not portable and no
 * workload has it.
 */
#include "harness/oracle/decode.h"
#include "harness/oracle/decode_forms.h"

#define LENGTH_MAX 15

struct cursor {
    const uint8_t *bytes;
    uint8_t at, end;
    bool operand16, address32, repeat, lock, rex, rex_w;
    uint8_t modrm;
};

static bool take(struct cursor *c, uint8_t *byte)
{
    if (c->at >= c->end)
        return false;
    *byte = c->bytes[c->at++];
    return true;
}

static bool skip(struct cursor *c, unsigned count)
{
    if (count > (unsigned)(c->end - c->at))
        return false;
    c->at += count;
    return true;
}

static bool legacy_prefix(struct cursor *c, uint8_t byte)
{
    switch (byte) {
    case 0x66:
        return c->operand16 = true;
    case 0x67:
        return c->address32 = true;
    case 0xF2:
    case 0xF3:
        return c->repeat = true;
    case 0xF0:
        return c->lock = true;
    case 0x26:
    case 0x2E:
    case 0x36:
    case 0x3E:
    case 0x64:
    case 0x65:
        return true;
    default:
        return false;
    }
}

/* Stops with the first opcode byte in *opcode. A REX that is not the last prefix is void. */
static bool take_prefixes(struct cursor *c, uint8_t *opcode)
{
    while (take(c, opcode)) {
        if ((*opcode & 0xF0) == 0x40) {
            c->rex = true;
            c->rex_w = (*opcode & 8) != 0;
        } else if (legacy_prefix(c, *opcode)) {
            c->rex = c->rex_w = false;
        } else {
            return true;
        }
    }
    return false;
}

static unsigned modrm_mod(const struct cursor *c)
{
    return c->modrm >> 6;
}

static unsigned modrm_reg(const struct cursor *c)
{
    return c->modrm >> 3 & 7;
}

/* ModRM, SIB and displacement; 32-bit addressing has the same shape as 64-bit addressing. */
static bool take_modrm(struct cursor *c)
{
    uint8_t rm, sib;

    if (!take(c, &c->modrm))
        return false;
    if (modrm_mod(c) == 3)
        return true;
    rm = c->modrm & 7;
    if (rm == 4) {
        if (!take(c, &sib))
            return false;
        rm = sib & 7; /* base 5 without mod means disp32, as rm 5 does */
    }
    switch (modrm_mod(c)) {
    case 0:
        return rm != 5 || skip(c, 4);
    case 1:
        return skip(c, 1);
    default:
        return skip(c, 4);
    }
}

static bool take_relative(struct cursor *c, unsigned bytes, struct decoded *out)
{
    uint32_t value = 0;

    if (bytes > (unsigned)(c->end - c->at))
        return false;
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint32_t)c->bytes[c->at++] << (8 * i);
    out->direct = true;
    out->displacement = bytes == 1 ? (int8_t)value : (int32_t)value;
    return true;
}

/* imm16 or imm32: REX.W outranks the operand-size prefix and still means 32 bits. */
static unsigned word_bytes(const struct cursor *c)
{
    return c->operand16 && !c->rex_w ? 2 : 4;
}

static bool take_operands(struct cursor *c, char form, struct decoded *out)
{
    switch (form) {
    case '.':
        return true;
    case 'm':
        return take_modrm(c);
    case 'c':
        return take(c, &c->modrm);
    case 'b':
        return skip(c, 1);
    case 'w':
        return skip(c, 2);
    case 'e':
        return skip(c, 3);
    case 'z':
        return skip(c, word_bytes(c));
    case 'v':
        return skip(c, c->rex_w ? 8 : word_bytes(c));
    case 'o':
        return skip(c, c->address32 ? 4 : 8);
    case 'B':
        return take_modrm(c) && skip(c, 1);
    case 'Z':
        return take_modrm(c) && skip(c, word_bytes(c));
    case 'F':
        return take_modrm(c) && (modrm_reg(c) > 1 || skip(c, 1));
    case 'G':
        return take_modrm(c) && (modrm_reg(c) > 1 || skip(c, word_bytes(c)));
    case 'r':
        return take_relative(c, 1, out);
    case 'R':
        return take_relative(c, 4, out);
    default:
        return false;
    }
}

/* Opcode FF: near and far indirect branches share it with INC, DEC and PUSH. */
static bool classify_group5(const struct cursor *c, struct decoded *out)
{
    static const uint8_t class[8] = {
        [2] = BRANCH_CALL_INDIRECT,
        [3] = BRANCH_FAR_CALL,
        [4] = BRANCH_JMP_INDIRECT,
        [5] = BRANCH_FAR_JMP,
    };

    out->branch = class[modrm_reg(c)];
    /* A far pointer lies in memory. */
    if ((modrm_reg(c) == 3 || modrm_reg(c) == 5) && modrm_mod(c) == 3)
        return false;
    return modrm_reg(c) != 7;
}

static bool classify_one_byte(const struct cursor *c, uint8_t opcode, struct decoded *out)
{
    switch (opcode) {
    case 0x70 ... 0x7F:
        out->branch = BRANCH_JCC;
        out->condition = opcode & 15;
        break;
    case 0xE0 ... 0xE3:
        out->branch = BRANCH_LOOP;
        out->condition = opcode & 3;
        out->address32 = c->address32;
        break;
    case 0xE8:
        out->branch = BRANCH_CALL;
        break;
    case 0xE9:
    case 0xEB:
        out->branch = BRANCH_JMP;
        break;
    case 0xC2:
    case 0xC3:
        out->branch = BRANCH_RET;
        break;
    case 0xCA:
    case 0xCB:
        out->branch = BRANCH_FAR_RET;
        break;
    case 0xCC:
        out->branch = BRANCH_INT3;
        break;
    case 0xCD:
        out->branch = BRANCH_INT;
        break;
    case 0xCF:
        out->branch = BRANCH_IRET;
        break;
    case 0xF1:
        out->branch = BRANCH_INT1;
        break;
    case 0xFF:
        return classify_group5(c, out);
    case 0xFE:
        return modrm_reg(c) <= 1;
    case 0x8E:
        out->shadow = modrm_reg(c) == 2;
        break;
    case 0x8F: /* the rest of the group is AMD's XOP prefix */
        return modrm_reg(c) == 0;
    case 0xC6:
    case 0xC7: /* F8: XABORT and XBEGIN, whose jump is an abort and not a branch */
        return modrm_reg(c) == 0 || c->modrm == 0xF8;
    case 0x6C ... 0x6F:
    case 0xA4 ... 0xA7:
    case 0xAA ... 0xAF:
        out->repeated = c->repeat;
        break;
    }
    return true;
}

static void classify_two_byte(uint8_t opcode, struct decoded *out)
{
    switch (opcode) {
    case 0x05:
        out->branch = BRANCH_SYSCALL;
        break;
    case 0x07:
        out->branch = BRANCH_SYSRET;
        break;
    case 0x34:
        out->branch = BRANCH_SYSENTER;
        break;
    case 0x35:
        out->branch = BRANCH_SYSEXIT;
        break;
    case 0x80 ... 0x8F:
        out->branch = BRANCH_JCC;
        out->condition = opcode & 15;
        break;
    }
}

static bool decode_two_byte(struct cursor *c, struct decoded *out)
{
    uint8_t opcode;

    if (!take(c, &opcode))
        return false;
    if (opcode == 0x38 || opcode == 0x3A) /* whole maps of one form each */
        return take(c, &c->modrm) && take_operands(c, opcode == 0x38 ? 'm' : 'B', out);
    classify_two_byte(opcode, out);
    return take_operands(c, two_byte_form[opcode], out);
}

/* Opcode and operands after a VEX or EVEX prefix: ModRM always, imm8 by map and opcode. */
static bool decode_vector(struct cursor *c, unsigned map, struct decoded *out)
{
    uint8_t opcode;
    bool immediate = map == 3;

    /* These encodings carry 66, F2, F3 and REX inside; outside they are undefined. */
    if (c->operand16 || c->repeat || c->lock || c->rex)
        return false;
    if (!take(c, &opcode))
        return false;
    if (map == 1) {
        if (opcode == 0x77) /* VZEROUPPER, VZEROALL */
            return true;
        immediate = (opcode >= 0x70 && opcode <= 0x73) || opcode == 0xC2 ||
                    (opcode >= 0xC4 && opcode <= 0xC6);
    }
    return take_operands(c, immediate ? 'B' : 'm', out);
}

static bool decode_vex(struct cursor *c, uint8_t opcode, struct decoded *out)
{
    uint8_t first, second;
    unsigned map = 1;

    if (!take(c, &first))
        return false;
    if (opcode == 0xC4) {
        map = first & 0x1F;
        if (map < 1 || map > 3 || !take(c, &second))
            return false;
    }
    return decode_vector(c, map, out);
}

static bool decode_evex(struct cursor *c, struct decoded *out)
{
    uint8_t payload[3];
    unsigned map;

    for (unsigned i = 0; i < 3; i++) {
        if (!take(c, &payload[i]))
            return false;
    }
    map = payload[0] & 15; /* bit 3 is reserved: any map above 7 is undefined */
    if (map == 0 || map == 4 || map > 6 || !(payload[1] & 4))
        return false;
    return decode_vector(c, map, out);
}

static bool decode_opcode(struct cursor *c, uint8_t opcode, struct decoded *out)
{
    switch (opcode) {
    case 0x0F:
        return decode_two_byte(c, out);
    case 0x62:
        return decode_evex(c, out);
    case 0xC4:
    case 0xC5:
        return decode_vex(c, opcode, out);
    default:
        return take_operands(c, one_byte_form[opcode], out) &&
               classify_one_byte(c, opcode, out);
    }
}

bool decode(const uint8_t *bytes, size_t available, struct decoded *out)
{
    struct cursor c = {.bytes = bytes, .end = available < LENGTH_MAX ? available : LENGTH_MAX};
    uint8_t opcode;

    *out = (struct decoded){0};
    if (!take_prefixes(&c, &opcode) || !decode_opcode(&c, opcode, out)) {
        *out = (struct decoded){0};
        return false;
    }
    out->length = c.at;
    return true;
}
