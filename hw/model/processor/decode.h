/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Instruction lengths, and what a model must know of each instruction.
 *
 * Every instruction gets a length and a class. Only control transfers and the few
 * instructions that the model carries out itself have a class of their own.
 */
#ifndef HW_MODEL_PROCESSOR_DECODE_H
#define HW_MODEL_PROCESSOR_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INSN_MAX_BYTES 15 /* SDM Vol. 2, "Instruction Format": longer ones fault */

enum decode_mode { DECODE_16, DECODE_32, DECODE_64 };

enum decode_status {
    DECODE_OK,
    DECODE_SHORT,    /* the bytes end before the instruction does */
    DECODE_UNDEFINED /* no such opcode, or longer than the limit */
};

enum insn_class {
    INSN_PLAIN,   /* falls through, or faults */
    INSN_BARRIER, /* falls through, but may change what the next bytes mean */
    INSN_JCC,
    INSN_LOOP, /* LOOPNE, LOOPE, LOOP */
    INSN_JCXZ,
    INSN_JMP,
    INSN_CALL,
    INSN_JMP_INDIRECT,
    INSN_CALL_INDIRECT,
    INSN_RET,
    INSN_JMP_FAR, /* through memory */
    INSN_CALL_FAR,
    INSN_JMP_FAR_DIRECT, /* pointer in the instruction; not in 64-bit mode */
    INSN_CALL_FAR_DIRECT,
    INSN_RET_FAR,
    INSN_IRET,
    INSN_INT,
    INSN_INT3,
    INSN_INTO,
    INSN_INT1,
    INSN_SYSCALL,
    INSN_SYSRET,
    INSN_SYSENTER,
    INSN_SYSEXIT,
    INSN_PUSHF,
    INSN_POPF,
    INSN_CLI,
    INSN_STI,
    INSN_HLT,
    INSN_MOV_SS,
    INSN_POP_SS,
    INSN_CLASS_COUNT
};

enum { SEGMENT_ES, SEGMENT_CS, SEGMENT_SS, SEGMENT_DS, SEGMENT_FS, SEGMENT_GS, SEGMENT_NONE };

/* Opcode maps: which table the last opcode byte belongs to. */
enum { MAP_ONE, MAP_0F, MAP_0F38, MAP_0F3A, MAP_VECTOR };

enum { REX_B = 1, REX_X = 2, REX_R = 4, REX_W = 8 };

struct insn {
    uint8_t length;
    uint8_t class;        /* enum insn_class */
    uint8_t prefix_bytes; /* before the opcode */
    uint8_t map;
    uint8_t opcode;
    bool has_modrm;
    uint8_t modrm;
    uint8_t sib;
    uint8_t rex;     /* low four bits of the REX prefix in force, else 0 */
    bool has_rex;    /* a REX prefix is in force, 40H included */
    uint8_t segment; /* override, else SEGMENT_NONE */
    uint8_t repeat;  /* F2H, F3H or 0 */
    bool lock;
    bool operand_prefix;   /* 66H is present */
    uint8_t operand_bytes; /* 2, 4, 8: by prefixes and mode alone */
    uint8_t address_bytes; /* 2, 4, 8 */
    bool rip_relative;
    int64_t displacement;
    int64_t immediate;   /* sign-extended; a branch's displacement */
    uint16_t immediate2; /* second immediate: ENTER's depth, a far pointer's selector */
};

/*
 * Decode the instruction at bytes, of which available may be read. DECODE_SHORT is never
 * returned when available >= INSN_MAX_BYTES. On DECODE_UNDEFINED only length is set: the
 * bytes looked at, a lower bound.
 */
enum decode_status insn_decode(const uint8_t *bytes, size_t available, enum decode_mode mode,
                               struct insn *insn);

/* True for classes that can move RIP elsewhere than to the next instruction. */
bool insn_is_transfer(enum insn_class class);

#endif
