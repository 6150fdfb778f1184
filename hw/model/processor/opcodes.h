/* SPDX-License-Identifier: BSD-2-Clause */
/* The opcode maps: what follows each opcode, and its class. Private to the decoder. */
#ifndef HW_MODEL_PROCESSOR_OPCODES_H
#define HW_MODEL_PROCESSOR_OPCODES_H

#include "hw/model/processor/decode.h"

/* What follows the opcode. z is 2 bytes at operand size 16, else 4. */
enum {
    OP_M = 1,                 /* ModRM */
    OP_I8 = 2,                /* immediate byte */
    OP_I16 = 4,               /* immediate word */
    OP_IZ = 8,                /* immediate z */
    OP_IV = 0x10,             /* immediate of full operand size */
    OP_MOFFS = 0x20,          /* address-sized offset */
    OP_FAR = 0x40,            /* z and a selector */
    OP_NOT64 = 0x80,          /* undefined in 64-bit mode */
    OP_BAD = 0x100,           /* undefined */
    OP_REGISTER_ONLY = 0x200, /* ModRM.mod is ignored: control and debug registers */
    OP_GROUP3 = 0x400,        /* immediate only for TEST (reg 0, 1) */
    OP_I8_TWICE = 0x800,      /* EXTRQ, INSERTQ */
    OP_I8_TWICE_IF = 0x1000,  /* the same opcode with 66H or F2H */
    OP_I32 = 0x2000           /* immediate doubleword whatever the operand size */
};

uint16_t opcode_one(uint8_t opcode);
uint16_t opcode_0f(uint8_t opcode);

/* The form once ModRM is known. */
uint16_t opcode_by_modrm(uint16_t form, const struct insn *insn);

uint8_t opcode_class(const struct insn *insn);

#endif
