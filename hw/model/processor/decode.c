/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The instruction decoder: prefixes, opcode tables, ModRM, immediates.
 *
 * Table-driven after SDM Vol. 2, "Opcode Map". A wrong length would make the model lose
 * branches without a trace, so the host tests compare it with a disassembler. Where vendors
 * differ (operand-size prefix on near branches) it follows the processors that have SVM.
 */
#include "hw/model/processor/decode.h"

#include "hw/model/processor/opcodes.h"

struct cursor {
    const uint8_t *bytes;
    size_t available;
    size_t used;
    bool short_of_bytes;
};

static uint8_t next_byte(struct cursor *at)
{
    if (at->used >= at->available) {
        at->short_of_bytes = true;
        return 0;
    }
    return at->bytes[at->used++];
}

static int64_t next_signed(struct cursor *at, unsigned bytes)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)next_byte(at) << (8 * i);
    unsigned shift = 64 - 8 * bytes;
    return bytes ? (int64_t)(value << shift) >> shift : 0;
}

static uint8_t segment_of_prefix(uint8_t byte)
{
    switch (byte) {
    case 0x26:
        return SEGMENT_ES;
    case 0x2E:
        return SEGMENT_CS;
    case 0x36:
        return SEGMENT_SS;
    case 0x3E:
        return SEGMENT_DS;
    case 0x64:
        return SEGMENT_FS;
    case 0x65:
        return SEGMENT_GS;
    }
    return SEGMENT_NONE;
}

/*
 * Legacy prefixes in any order, then at most one REX that counts: the one directly before
 * the opcode. Returns the first byte that is no prefix.
 */
static uint8_t take_prefixes(struct cursor *at, enum decode_mode mode, struct insn *insn)
{
    bool size16 = mode == DECODE_16, address_other = false;

    for (;;) {
        uint8_t byte = next_byte(at);

        if (at->short_of_bytes || at->used > INSN_MAX_BYTES)
            return 0;
        if (mode == DECODE_64 && (byte & 0xF0) == 0x40) {
            insn->has_rex = true;
            insn->rex = byte & 0x0F;
            continue;
        }
        uint8_t segment = segment_of_prefix(byte);
        if (segment != SEGMENT_NONE) {
            /* In 64-bit mode the four old segments are no override, nor do they cancel. */
            if (mode != DECODE_64 || segment >= SEGMENT_FS)
                insn->segment = segment;
        } else if (byte == 0x66) {
            insn->operand_prefix = true;
        } else if (byte == 0x67) {
            address_other = true;
        } else if (byte == 0xF0) {
            insn->lock = true;
        } else if (byte == 0xF2 || byte == 0xF3) {
            insn->repeat = byte;
        } else {
            insn->operand_bytes = size16 != insn->operand_prefix ? 2 : 4;
            if (insn->rex & REX_W)
                insn->operand_bytes = 8;
            insn->address_bytes = size16 != address_other ? 2 : 4;
            if (mode == DECODE_64)
                insn->address_bytes = address_other ? 4 : 8;
            return byte;
        }
        insn->has_rex = false;
        insn->rex = 0;
    }
}

static void take_memory_operand(struct cursor *at, enum decode_mode mode, struct insn *insn)
{
    unsigned mod = insn->modrm >> 6, rm = insn->modrm & 7;

    if (mod == 3)
        return;
    if (insn->address_bytes == 2) {
        unsigned bytes = mod == 1 ? 1 : mod == 2 || rm == 6 ? 2 : 0;

        insn->displacement = next_signed(at, bytes);
        return;
    }
    unsigned base = rm;
    if (rm == 4) {
        insn->sib = next_byte(at);
        base = insn->sib & 7;
    }
    if (mod == 0 && base == 5) {
        insn->rip_relative = mode == DECODE_64 && rm == 5;
        insn->displacement = next_signed(at, 4);
    } else if (mod != 0) {
        insn->displacement = next_signed(at, mod == 1 ? 1 : 4);
    }
}

static void take_immediates(struct cursor *at, uint16_t form, struct insn *insn)
{
    unsigned z_bytes = insn->operand_bytes == 2 ? 2 : 4;

    if (form & OP_MOFFS)
        insn->immediate = next_signed(at, insn->address_bytes);
    if (form & OP_FAR) {
        insn->immediate = next_signed(at, z_bytes);
        insn->immediate2 = (uint16_t)next_signed(at, 2);
    }
    if (form & OP_I16)
        insn->immediate = next_signed(at, 2);
    if (form & OP_IZ)
        insn->immediate = next_signed(at, z_bytes);
    if (form & OP_I32)
        insn->immediate = next_signed(at, 4);
    if (form & OP_IV)
        insn->immediate = next_signed(at, insn->operand_bytes);
    if (form & OP_I8) {
        int64_t value = next_signed(at, 1);

        if (form & OP_I16)
            insn->immediate2 = (uint8_t)value;
        else
            insn->immediate = value;
    }
    if (form & OP_I8_TWICE)
        insn->immediate2 = (uint16_t)next_signed(at, 2);
}

/*
 * VEX, EVEX and XOP: payload bytes, opcode, ModRM, perhaps an immediate. None of them is a
 * branch. first is C4H, C5H, 62H or 8FH.
 */
static void take_vector(struct cursor *at, enum decode_mode mode, uint8_t first,
                        struct insn *insn)
{
    unsigned opcode_map = 1;

    if (first == 0xC5) {
        next_byte(at);
    } else {
        opcode_map = next_byte(at) & (first == 0x62 ? 0x07 : 0x1F);
        next_byte(at);
        if (first == 0x62)
            next_byte(at);
    }
    insn->map = MAP_VECTOR;
    insn->opcode = next_byte(at);
    if (first == 0xC5 || first == 0xC4) {
        if (opcode_map == 1 && insn->opcode == 0x77)
            return; /* VZEROUPPER, VZEROALL */
    }
    insn->has_modrm = true;
    insn->modrm = next_byte(at);
    take_memory_operand(at, mode, insn);
    if (first == 0x8F)
        take_immediates(at, opcode_map == 8 ? OP_I8 : opcode_map == 10 ? OP_I32 : 0, insn);
    else if (opcode_map == 3 || (opcode_map == 1 && opcode_0f(insn->opcode) & OP_I8))
        take_immediates(at, OP_I8, insn);
}

/* Whether the byte opens a VEX, EVEX or XOP prefix here rather than an old instruction. */
static bool opens_vector(const struct cursor *at, enum decode_mode mode, uint8_t byte)
{
    uint8_t next = at->used < at->available ? at->bytes[at->used] : 0;

    if (byte == 0xC4 || byte == 0xC5 || byte == 0x62)
        return mode == DECODE_64 || next >= 0xC0;
    return byte == 0x8F && (next & 0x1F) >= 8 && (next & 0x1F) <= 10;
}

static uint16_t take_opcode(struct cursor *at, struct insn *insn, uint8_t byte)
{
    insn->opcode = byte;
    if (byte != 0x0F)
        return opcode_one(byte);
    insn->map = MAP_0F;
    insn->opcode = next_byte(at);
    if (insn->opcode == 0x38 || insn->opcode == 0x3A) {
        insn->map = insn->opcode == 0x38 ? MAP_0F38 : MAP_0F3A;
        insn->opcode = next_byte(at);
        return insn->map == MAP_0F38 ? OP_M : OP_M | OP_I8;
    }
    return opcode_0f(insn->opcode);
}

enum decode_status insn_decode(const uint8_t *bytes, size_t available, enum decode_mode mode,
                               struct insn *insn)
{
    struct cursor at = {bytes, available, 0, false};

    *insn = (struct insn){.segment = SEGMENT_NONE, .class = INSN_PLAIN};
    uint8_t byte = take_prefixes(&at, mode, insn);
    uint16_t form = 0;
    insn->prefix_bytes = (uint8_t)(at.used ? at.used - 1 : 0);
    if (!at.short_of_bytes && at.used <= INSN_MAX_BYTES) {
        if (opens_vector(&at, mode, byte)) {
            take_vector(&at, mode, byte, insn);
        } else {
            form = take_opcode(&at, insn, byte);
            if (form & OP_M) {
                insn->has_modrm = true;
                insn->modrm = next_byte(&at);
                if (form & OP_REGISTER_ONLY)
                    insn->modrm |= 0xC0;
                take_memory_operand(&at, mode, insn);
                form = opcode_by_modrm(form, insn);
            }
            take_immediates(&at, form, insn);
            insn->class = opcode_class(insn);
        }
    }
    insn->length = (uint8_t)(at.used < INSN_MAX_BYTES ? at.used : INSN_MAX_BYTES);
    if (at.used > INSN_MAX_BYTES)
        return DECODE_UNDEFINED;
    if (at.short_of_bytes)
        return available >= INSN_MAX_BYTES ? DECODE_UNDEFINED : DECODE_SHORT;
    if (form & OP_BAD || (form & OP_NOT64 && mode == DECODE_64))
        return DECODE_UNDEFINED;
    return DECODE_OK;
}

bool insn_is_transfer(enum insn_class class)
{
    return class >= INSN_JCC && class <= INSN_SYSEXIT;
}
