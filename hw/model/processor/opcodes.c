/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The opcode maps as tables of what follows each opcode, and the classes.
 *
 * After SDM Vol. 2, "Opcode Map" and "Opcode Extensions For One-byte And Two-byte Opcodes";
 * additions of the processors that have SVM (3DNow!, EXTRQ) from the APM Vol. 3.
 */
#include "hw/model/processor/opcodes.h"

#define M   OP_M
#define B   OP_I8
#define W   OP_I16
#define Z   OP_IZ
#define V   OP_IV
#define O   OP_MOFFS
#define F   OP_FAR
#define N   OP_NOT64
#define X   OP_BAD
#define MB  (OP_M | OP_I8)
#define MZ  (OP_M | OP_IZ)
#define MR  (OP_M | OP_REGISTER_ONLY)
#define G3B (OP_M | OP_I8 | OP_GROUP3)
#define G3Z (OP_M | OP_IZ | OP_GROUP3)
#define MQ  (OP_M | OP_I8_TWICE_IF)

/* clang-format off */
/* Prefix bytes never reach the table. */
static const uint16_t map_one[256] = {
    M, M, M, M, B, Z, N, N, M, M, M, M, B, Z, N, 0,                         /* 00 */
    M, M, M, M, B, Z, N, N, M, M, M, M, B, Z, N, N,                         /* 10 */
    M, M, M, M, B, Z, 0, N, M, M, M, M, B, Z, 0, N,                         /* 20 */
    M, M, M, M, B, Z, 0, N, M, M, M, M, B, Z, 0, N,                         /* 30 */
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,                         /* 40 */
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,                         /* 50 */
    N, N, M | N, M, 0, 0, 0, 0, Z, MZ, B, MB, 0, 0, 0, 0,                   /* 60 */
    B, B, B, B, B, B, B, B, B, B, B, B, B, B, B, B,                         /* 70 */
    MB, MZ, MB | N, MB, M, M, M, M, M, M, M, M, M, M, M, M,                 /* 80 */
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, F | N, 0, 0, 0, 0, 0,                     /* 90 */
    O, O, O, O, 0, 0, 0, 0, B, Z, 0, 0, 0, 0, 0, 0,                         /* a0 */
    B, B, B, B, B, B, B, B, V, V, V, V, V, V, V, V,                         /* b0 */
    MB, MB, W, 0, M | N, M | N, MB, MZ, W | B, 0, W, 0, 0, B, N, 0,         /* c0 */
    M, M, M, M, B | N, B | N, N, 0, M, M, M, M, M, M, M, M,                 /* d0 */
    B, B, B, B, B, B, B, B, Z, Z, F | N, B, 0, 0, 0, 0,                     /* e0 */
    0, 0, 0, 0, 0, 0, G3B, G3Z, 0, 0, 0, 0, 0, 0, M, M,                     /* f0 */
};

static const uint16_t map_0f[256] = {
    M, M, M, M, X, 0, 0, 0, 0, 0, X, 0, X, M, 0, MB,                        /* 00 */
    M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,                         /* 10 */
    MR, MR, MR, MR, X, X, X, X, M, M, M, M, M, M, M, M,                     /* 20 */
    0, 0, 0, 0, 0, 0, X, 0, 0, X, 0, X, X, X, X, X,                         /* 30 */
    M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,                         /* 40 */
    M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,                         /* 50 */
    M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,                         /* 60 */
    MB, MB, MB, MB, M, M, M, 0, MQ, M, X, X, M, M, M, M,                    /* 70 */
    Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z,                         /* 80 */
    M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,                         /* 90 */
    0, 0, 0, M, MB, M, X, X, 0, 0, 0, M, MB, M, M, M,                       /* a0 */
    M, M, M, M, M, M, M, M, M, M, MB, M, M, M, M, M,                        /* b0 */
    M, M, MB, M, MB, MB, MB, M, 0, 0, 0, 0, 0, 0, 0, 0,                     /* c0 */
    M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,                         /* d0 */
    M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,                         /* e0 */
    M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,                         /* f0 */
};

/* clang-format on */

uint16_t opcode_one(uint8_t opcode)
{
    return map_one[opcode];
}

uint16_t opcode_0f(uint8_t opcode)
{
    return map_0f[opcode];
}

uint16_t opcode_by_modrm(uint16_t form, const struct insn *insn)
{
    unsigned reg = insn->modrm >> 3 & 7;

    if (form & OP_GROUP3 && reg > 1)
        form &= (uint16_t) ~(OP_I8 | OP_IZ);
    if (form & OP_I8_TWICE_IF && (insn->operand_prefix || insn->repeat == 0xF2))
        form |= OP_I8_TWICE;
    return form;
}

static uint8_t group_ff_class(unsigned reg, bool memory)
{
    switch (reg) {
    case 2:
        return INSN_CALL_INDIRECT;
    case 3:
        return memory ? INSN_CALL_FAR : INSN_PLAIN; /* register form: #UD */
    case 4:
        return INSN_JMP_INDIRECT;
    case 5:
        return memory ? INSN_JMP_FAR : INSN_PLAIN;
    }
    return INSN_PLAIN;
}

static uint8_t class_one(const struct insn *insn)
{
    unsigned reg = insn->modrm >> 3 & 7;

    switch (insn->opcode) {
    case 0x17:
        return INSN_POP_SS;
    case 0x70 ... 0x7F:
        return INSN_JCC;
    case 0x8E:
        return reg == SEGMENT_SS ? INSN_MOV_SS : INSN_PLAIN;
    case 0x9A:
        return INSN_CALL_FAR_DIRECT;
    case 0x9C:
        return INSN_PUSHF;
    case 0x9D:
        return INSN_POPF;
    case 0xC2 ... 0xC3:
        return INSN_RET;
    case 0xCA ... 0xCB:
        return INSN_RET_FAR;
    case 0xCC:
        return INSN_INT3;
    case 0xCD:
        return INSN_INT;
    case 0xCE:
        return INSN_INTO;
    case 0xCF:
        return INSN_IRET;
    case 0xE0 ... 0xE2:
        return INSN_LOOP;
    case 0xE3:
        return INSN_JCXZ;
    case 0xE8:
        return INSN_CALL;
    case 0xE9:
    case 0xEB:
        return INSN_JMP;
    case 0xEA:
        return INSN_JMP_FAR_DIRECT;
    case 0xF1:
        return INSN_INT1;
    case 0xF4:
        return INSN_HLT;
    case 0xFA:
        return INSN_CLI;
    case 0xFB:
        return INSN_STI;
    case 0xFF:
        return group_ff_class(reg, insn->modrm < 0xC0);
    }
    return INSN_PLAIN;
}

/* Groups 6 and 7: loads of the tables, INVLPG, LMSW, SVM instructions. */
static bool group_is_barrier(const struct insn *insn)
{
    unsigned reg = insn->modrm >> 3 & 7;
    bool memory = insn->modrm < 0xC0;

    if (insn->opcode == 0x00)
        return reg == 2 || reg == 3;
    return memory ? reg == 2 || reg == 3 || reg >= 6 : reg == 3 || reg == 6 || reg == 0;
}

static uint8_t class_0f(const struct insn *insn)
{
    switch (insn->opcode) {
    case 0x00:
    case 0x01:
        return group_is_barrier(insn) ? INSN_BARRIER : INSN_PLAIN;
    case 0x05:
        return INSN_SYSCALL;
    case 0x07:
        return INSN_SYSRET;
    case 0x06: /* CLTS */
    case 0x20 ... 0x23:
    case 0x30: /* WRMSR */
    case 0x32: /* RDMSR */
    case 0xA2: /* CPUID */
    case 0xAA: /* RSM */
        return INSN_BARRIER;
    case 0x34:
        return INSN_SYSENTER;
    case 0x35:
        return INSN_SYSEXIT;
    case 0x80 ... 0x8F:
        return INSN_JCC;
    }
    return INSN_PLAIN;
}

uint8_t opcode_class(const struct insn *insn)
{
    if (insn->map == MAP_ONE)
        return class_one(insn);
    return insn->map == MAP_0F ? class_0f(insn) : INSN_PLAIN;
}
