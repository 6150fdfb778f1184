/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Common instructions that fall through, carried out by software.
 *
 * Only for speed: a switch into the guest costs as much as a dozen of these. Whatever is
 * unusual (a fault to come, memory that is no RAM, a prefix out of the ordinary) is refused
 * before anything changes, and the processor does it. 64-bit code only.
 */
#include "hw/model/emulate/emulate.h"

#define SIGN(bytes) (1ull << (8 * (bytes)-1))

/* --- operands */

static unsigned reg_field(const struct insn *insn)
{
    return (insn->modrm >> 3 & 7) | (insn->rex & REX_R ? 8 : 0);
}

static unsigned rm_field(const struct insn *insn)
{
    return (insn->modrm & 7) | (insn->rex & REX_B ? 8 : 0);
}

/* AH, CH, DH, BH: byte registers 4-7 when there is no REX prefix. */
static bool is_high_byte(const struct insn *insn, unsigned number, unsigned bytes)
{
    return bytes == 1 && !insn->has_rex && number >= 4 && number < 8;
}

static uint64_t get(const struct model_cpu *cpu, const struct insn *insn, unsigned number,
                    unsigned bytes)
{
    if (is_high_byte(insn, number, bytes))
        return cpu->gpr[number - 4] >> 8 & 0xFF;
    return truncate_to(cpu->gpr[number], bytes);
}

static void put(struct model_cpu *cpu, const struct insn *insn, unsigned number, unsigned bytes,
                uint64_t value)
{
    uint64_t *reg = &cpu->gpr[number];

    if (is_high_byte(insn, number, bytes)) {
        reg = &cpu->gpr[number - 4];
        *reg = (*reg & ~0xFF00ull) | (value & 0xFF) << 8;
    } else if (bytes >= 4) {
        *reg = truncate_to(value, bytes);
    } else {
        *reg = (*reg & ~(SIGN(bytes) * 2 - 1)) | truncate_to(value, bytes);
    }
}

/* The r/m operand: a register, or a place in RAM. */
struct place {
    uint8_t *memory; /* NULL: a register */
    unsigned number;
    unsigned bytes;
};

static bool find_linear(struct model_cpu *cpu, uint64_t linear, unsigned bytes, unsigned access,
                        struct place *place)
{
    uint64_t physical;

    place->bytes = bytes;
    if ((linear & 4095) + bytes > 4096 ||
        !guest_translate(cpu, linear, access | guest_user_access(cpu), &physical) ||
        !guest_is_ram(cpu, physical))
        return false;
    place->memory = guest_physical(cpu, physical);
    return true;
}

static bool find(struct model_cpu *cpu, const struct insn *insn, unsigned bytes,
                 unsigned access, struct place *place)
{
    if (insn->modrm >= 0xC0) {
        *place = (struct place){.number = rm_field(insn), .bytes = bytes};
        return true;
    }
    return insn->segment == SEGMENT_NONE &&
           find_linear(cpu, effective_address(cpu, insn), bytes, access, place);
}

static uint64_t load_bytes(const uint8_t *at, unsigned bytes)
{
    switch (bytes) {
    case 1:
        return *at;
    case 2:
        return *(const loose16 *)at;
    case 4:
        return *(const loose32 *)at;
    }
    return *(const loose64 *)at;
}

static uint64_t load(const struct model_cpu *cpu, const struct insn *insn,
                     const struct place *place)
{
    if (!place->memory)
        return get(cpu, insn, place->number, place->bytes);
    return load_bytes(place->memory, place->bytes);
}

static void store(struct model_cpu *cpu, const struct insn *insn, const struct place *place,
                  uint64_t value)
{
    if (!place->memory) {
        put(cpu, insn, place->number, place->bytes, value);
        return;
    }
    switch (place->bytes) {
    case 1:
        *place->memory = (uint8_t)value;
        break;
    case 2:
        *(loose16 *)place->memory = (uint16_t)value;
        break;
    case 4:
        *(loose32 *)place->memory = (uint32_t)value;
        break;
    default:
        *(loose64 *)place->memory = value;
    }
}

/* --- arithmetic */

static bool arithmetic(struct model_cpu *cpu, const struct insn *insn, unsigned operation,
                       unsigned bytes, bool to_register, uint64_t immediate, bool has_immediate)
{
    struct place place;
    bool compare = operation == 7;
    unsigned access = to_register || compare ? 0 : ACCESS_WRITE;

    if (!find(cpu, insn, bytes, access, &place))
        return false;
    uint64_t rm = load(cpu, insn, &place);
    uint64_t other =
        has_immediate ? truncate_to(immediate, bytes) : get(cpu, insn, reg_field(insn), bytes);
    uint64_t result = to_register ? alu_operate(cpu, operation, other, rm, bytes)
                                  : alu_operate(cpu, operation, rm, other, bytes);
    if (compare)
        return true;
    if (to_register)
        put(cpu, insn, reg_field(insn), bytes, result);
    else
        store(cpu, insn, &place, result);
    return true;
}

static bool shift(struct model_cpu *cpu, const struct insn *insn, unsigned bytes,
                  unsigned count)
{
    struct place place;
    unsigned kind = insn->modrm >> 3 & 7, width = 8 * bytes;

    count &= bytes == 8 ? 63 : 31;
    if (kind < 4 || kind == 6 || count > width || !find(cpu, insn, bytes, ACCESS_WRITE, &place))
        return false;
    store(cpu, insn, &place, alu_shift(cpu, kind, load(cpu, insn, &place), count, bytes));
    return true;
}

/* --- opcode groups */

static bool group_3(struct model_cpu *cpu, const struct insn *insn, unsigned bytes)
{
    struct place place;
    unsigned kind = insn->modrm >> 3 & 7;

    if (kind > 3 || !find(cpu, insn, bytes, kind > 1 ? ACCESS_WRITE : 0, &place))
        return false;
    uint64_t value = load(cpu, insn, &place);
    if (kind <= 1)
        alu_operate(cpu, 4, value, truncate_to((uint64_t)insn->immediate, bytes), bytes);
    else if (kind == 2)
        store(cpu, insn, &place, ~value);
    else
        store(cpu, insn, &place, alu_subtract(cpu, 0, value, 0, bytes, FLAG_STATUS));
    return true;
}

static bool increment(struct model_cpu *cpu, const struct insn *insn, unsigned bytes)
{
    struct place place;
    unsigned kind = insn->modrm >> 3 & 7;

    if (kind > 1 || !find(cpu, insn, bytes, ACCESS_WRITE, &place))
        return false;
    uint64_t value = load(cpu, insn, &place), mask = FLAG_STATUS & ~FLAG_CF;
    store(cpu, insn, &place,
          kind ? alu_subtract(cpu, value, 1, 0, bytes, mask)
               : alu_add(cpu, value, 1, 0, bytes, mask));
    return true;
}

static bool push(struct model_cpu *cpu, uint64_t value)
{
    struct place place;
    uint64_t rsp = cpu->gpr[RSP] - 8;

    if (!find_linear(cpu, rsp, 8, ACCESS_WRITE, &place))
        return false;
    *(loose64 *)place.memory = value;
    cpu->gpr[RSP] = rsp;
    return true;
}

static bool pop(struct model_cpu *cpu, unsigned number)
{
    struct place place;
    uint64_t rsp = cpu->gpr[RSP];

    if (!find_linear(cpu, rsp, 8, 0, &place))
        return false;
    cpu->gpr[RSP] = rsp + 8;
    cpu->gpr[number] = load_bytes(place.memory, 8);
    return true;
}

static bool move(struct model_cpu *cpu, const struct insn *insn, unsigned bytes,
                 bool to_register)
{
    struct place place;

    if (!find(cpu, insn, bytes, to_register ? 0 : ACCESS_WRITE, &place))
        return false;
    if (to_register)
        put(cpu, insn, reg_field(insn), bytes, load(cpu, insn, &place));
    else
        store(cpu, insn, &place, get(cpu, insn, reg_field(insn), bytes));
    return true;
}

static bool move_extended(struct model_cpu *cpu, const struct insn *insn, unsigned from_bytes,
                          bool is_signed)
{
    struct place place;
    unsigned bytes = insn->operand_bytes, spare = 64 - 8 * from_bytes;

    if (!find(cpu, insn, from_bytes, 0, &place))
        return false;
    uint64_t value = load(cpu, insn, &place);
    if (is_signed)
        value = (uint64_t)((int64_t)(value << spare) >> spare);
    put(cpu, insn, reg_field(insn), bytes == 1 ? 4 : bytes, value);
    return true;
}

/* Opcodes without ModRM whose low bits name a register, and pushes of immediates. */
static bool by_low_bits(struct model_cpu *cpu, const struct insn *insn)
{
    unsigned full = insn->operand_bytes;
    unsigned low = (insn->opcode & 7) | (insn->rex & REX_B ? 8 : 0);
    uint64_t immediate = (uint64_t)insn->immediate;

    switch (insn->opcode) {
    case 0x50 ... 0x57:
        return full != 2 && push(cpu, cpu->gpr[low]);
    case 0x58 ... 0x5F:
        return full != 2 && pop(cpu, low);
    case 0x68:
    case 0x6A:
        return full != 2 && push(cpu, immediate);
    case 0x90:
        return !(insn->rex & REX_B);
    case 0xB0 ... 0xB7:
        put(cpu, insn, low, 1, immediate);
        return true;
    case 0xB8 ... 0xBF:
        put(cpu, insn, low, full, immediate);
        return true;
    }
    return false;
}

static bool one_byte(struct model_cpu *cpu, const struct insn *insn)
{
    unsigned opcode = insn->opcode, full = insn->operand_bytes;
    unsigned bytes = opcode & 1 ? full : 1;
    uint64_t immediate = (uint64_t)insn->immediate;
    struct place place;

    switch (opcode) {
    case 0x00 ... 0x3F:
        if ((opcode & 7) < 4)
            return arithmetic(cpu, insn, opcode >> 3, bytes, opcode & 2, 0, false);
        if ((opcode & 7) > 5)
            return false;
        immediate = alu_operate(cpu, opcode >> 3, get(cpu, insn, RAX, bytes),
                                truncate_to(immediate, bytes), bytes);
        if (opcode >> 3 != 7)
            put(cpu, insn, RAX, bytes, immediate);
        return true;
    case 0x63:
        return full == 8 && move_extended(cpu, insn, 4, true);
    case 0x80:
    case 0x81:
    case 0x83:
        return arithmetic(cpu, insn, insn->modrm >> 3 & 7, opcode == 0x80 ? 1 : full, false,
                          immediate, true);
    case 0x84:
    case 0x85:
        if (!find(cpu, insn, bytes, 0, &place))
            return false;
        alu_operate(cpu, 4, load(cpu, insn, &place), get(cpu, insn, reg_field(insn), bytes),
                    bytes);
        return true;
    case 0x88:
    case 0x89:
        return move(cpu, insn, bytes, false);
    case 0x8A:
    case 0x8B:
        return move(cpu, insn, bytes, true);
    case 0x8D:
        if (insn->modrm >= 0xC0)
            return false;
        put(cpu, insn, reg_field(insn), full, effective_address(cpu, insn));
        return true;
    case 0xA8:
    case 0xA9:
        alu_operate(cpu, 4, get(cpu, insn, RAX, bytes), truncate_to(immediate, bytes), bytes);
        return true;
    case 0xC0:
    case 0xC1:
        return shift(cpu, insn, bytes, (unsigned)immediate & 0xFF);
    case 0xD0:
    case 0xD1:
        return shift(cpu, insn, bytes, 1);
    case 0xC6:
    case 0xC7:
        if ((insn->modrm >> 3 & 7) != 0 || !find(cpu, insn, bytes, ACCESS_WRITE, &place))
            return false;
        store(cpu, insn, &place, immediate);
        return true;
    case 0xF6:
    case 0xF7:
        return group_3(cpu, insn, bytes);
    case 0xFE:
    case 0xFF:
        return increment(cpu, insn, bytes);
    }
    return by_low_bits(cpu, insn);
}

static bool two_byte(struct model_cpu *cpu, const struct insn *insn)
{
    switch (insn->opcode) {
    case 0x1F: /* NOP with an operand: no access */
        return true;
    case 0xB6:
    case 0xBE:
        return move_extended(cpu, insn, 1, insn->opcode == 0xBE);
    case 0xB7:
    case 0xBF:
        return move_extended(cpu, insn, 2, insn->opcode == 0xBF);
    }
    return false;
}

bool carry_out_simple(struct model_cpu *cpu, const struct insn *insn)
{
    if (insn->repeat || insn->lock || insn->address_bytes != 8 || !guest_long_code(cpu))
        return false;
    bool done = insn->map == MAP_ONE  ? one_byte(cpu, insn)
                : insn->map == MAP_0F ? two_byte(cpu, insn)
                                      : false;
    if (!done)
        return false;
    cpu->vmcb->save.rip += insn->length;
    cpu->vmcb->save.rflags &= ~FLAG_RF;
    cpu->shadow = false;
    return true;
}
