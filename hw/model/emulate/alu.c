/* SPDX-License-Identifier: BSD-2-Clause */
/* Arithmetic of simple instructions: results and the six status flags. */
#include "hw/model/emulate/emulate.h"

#define SIGN(bytes) (1ull << (8 * (bytes)-1))

static void set_flags(struct model_cpu *cpu, uint64_t mask, uint64_t flags)
{
    uint64_t *rflags = &cpu->vmcb->save.rflags;

    *rflags = (*rflags & ~mask) | (flags & mask);
}

static uint64_t result_flags(uint64_t result, unsigned bytes)
{
    uint64_t flags = 0;
    unsigned parity = (unsigned)(result ^ result >> 4) & 15;

    if (result == 0)
        flags |= FLAG_ZF;
    if (result & SIGN(bytes))
        flags |= FLAG_SF;
    if (0x9669 >> parity & 1)
        flags |= FLAG_PF;
    return flags;
}

uint64_t alu_add(struct model_cpu *cpu, uint64_t a, uint64_t b, uint64_t carry, unsigned bytes,
                 uint64_t mask)
{
    uint64_t result = truncate_to(a + b + carry, bytes);
    uint64_t flags = result_flags(result, bytes) | ((a ^ b ^ result) & FLAG_AF);

    if (result < a || (carry && result == a))
        flags |= FLAG_CF;
    if (~(a ^ b) & (a ^ result) & SIGN(bytes))
        flags |= FLAG_OF;
    set_flags(cpu, mask, flags);
    return result;
}

uint64_t alu_subtract(struct model_cpu *cpu, uint64_t a, uint64_t b, uint64_t borrow,
                      unsigned bytes, uint64_t mask)
{
    uint64_t result = truncate_to(a - b - borrow, bytes);
    uint64_t flags = result_flags(result, bytes) | ((a ^ b ^ result) & FLAG_AF);

    if (a < b || (borrow && a == b))
        flags |= FLAG_CF;
    if ((a ^ b) & (a ^ result) & SIGN(bytes))
        flags |= FLAG_OF;
    set_flags(cpu, mask, flags);
    return result;
}

/* The eight operations of opcodes 00-3F and of group 1, by their number. */
uint64_t alu_operate(struct model_cpu *cpu, unsigned operation, uint64_t a, uint64_t b,
                     unsigned bytes)
{
    uint64_t carry = cpu->vmcb->save.rflags & FLAG_CF;

    switch (operation) {
    case 0:
        return alu_add(cpu, a, b, 0, bytes, FLAG_STATUS);
    case 2:
        return alu_add(cpu, a, b, carry, bytes, FLAG_STATUS);
    case 3:
        return alu_subtract(cpu, a, b, carry, bytes, FLAG_STATUS);
    case 5:
    case 7:
        return alu_subtract(cpu, a, b, 0, bytes, FLAG_STATUS);
    case 1:
        a |= b;
        break;
    case 4:
        a &= b;
        break;
    default:
        a ^= b;
    }
    set_flags(cpu, FLAG_STATUS, result_flags(a, bytes));
    return a;
}

/*
 * SHL (4), SHR (5), SAR (7) by a count that is not beyond the operand's width. OF, which the
 * manual defines for a count of 1 only, comes from the last bit's step.
 */
uint64_t alu_shift(struct model_cpu *cpu, unsigned operation, uint64_t value, unsigned count,
                   unsigned bytes)
{
    unsigned spare = 64 - 8 * bytes;
    uint64_t before, result;

    if (count == 0)
        return value;
    if (operation == 4) {
        before = truncate_to(value << (count - 1), bytes);
        result = truncate_to(before << 1, bytes);
    } else if (operation == 5) {
        before = value >> (count - 1);
        result = before >> 1;
    } else {
        int64_t wide = (int64_t)(value << spare) >> spare;

        before = truncate_to((uint64_t)(wide >> (count - 1)), bytes);
        result = truncate_to((uint64_t)(wide >> (count - 1) >> 1), bytes);
    }
    uint64_t flags = result_flags(result, bytes);
    if (operation == 4 ? before & SIGN(bytes) : before & 1)
        flags |= FLAG_CF;
    if ((before ^ result) & SIGN(bytes))
        flags |= FLAG_OF;
    set_flags(cpu, FLAG_STATUS, flags);
    return result;
}
