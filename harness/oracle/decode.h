/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The step oracle's decoder: length and control-flow class of one 64-bit-mode instruction, and
 * whether a conditional branch is taken. Shares nothing with hw/model/'s decoder.
 * Source: SDM Vol. 2, "Instruction Format", "Opcode Map".
 */
#ifndef HARNESS_ORACLE_DECODE_H
#define HARNESS_ORACLE_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum branch_class {
    BRANCH_NONE,
    BRANCH_JCC,
    BRANCH_LOOP, /* LOOP, LOOPE, LOOPNE, JRCXZ, JECXZ */
    BRANCH_JMP,
    BRANCH_JMP_INDIRECT,
    BRANCH_CALL,
    BRANCH_CALL_INDIRECT,
    BRANCH_RET,
    BRANCH_FAR_JMP,
    BRANCH_FAR_CALL,
    BRANCH_FAR_RET,
    BRANCH_IRET,
    BRANCH_SYSCALL,
    BRANCH_SYSRET,
    BRANCH_SYSENTER,
    BRANCH_SYSEXIT,
    BRANCH_INT, /* INT n */
    BRANCH_INT3,
    BRANCH_INT1
};

struct decoded {
    uint8_t length;    /* 1..15; 0 = not an instruction, or the bytes end too early */
    uint8_t branch;    /* enum branch_class */
    uint8_t condition; /* Jcc: 0..15; LOOP group: 0 LOOPNE, 1 LOOPE, 2 LOOP, 3 JrCXZ */
    bool address32;    /* LOOP group counts in ECX */
    bool repeated;     /* REP string instruction: may trap in the middle, at its own address */
    bool shadow;       /* MOV SS: no single-step trap before the next instruction has run */
    bool direct;       /* target holds the destination */
    int64_t displacement; /* of a direct near branch, from the end of the instruction */
};

/*
 * Decodes at most `available` (<= 15 used) bytes. Returns false with length 0 when it cannot.
 * An undefined opcode whose length is clear from its map gets that length: it faults anyway.
 */
bool decode(const uint8_t *bytes, size_t available, struct decoded *out);

/*
 * Jcc: by RFLAGS before (or after, they do not change) the instruction. LOOP group: RCX and ZF
 * *after* the instruction has executed. Unconditional branches: true.
 */
bool branch_taken(const struct decoded *d, uint64_t rflags, uint64_t rcx_after);
bool loop_taken(unsigned condition, bool address32, uint64_t rflags, uint64_t rcx_after);

/* The same for condition 0..15 of a Jcc; without branches or calls, for the oracle's sake. */
static inline bool jcc_taken(unsigned condition, uint64_t rflags)
{
    unsigned f = (unsigned)rflags;
    unsigned cf = f & 1, pf = f >> 2 & 1, zf = f >> 6 & 1, sf = f >> 7 & 1, of = f >> 11 & 1;
    unsigned less = sf ^ of;
    /* The even conditions; the odd one behind each is its negation. */
    unsigned holds = of | cf << 1 | zf << 2 | (cf | zf) << 3 | sf << 4 | pf << 5 | less << 6 |
                     (less | zf) << 7;

    return (holds >> (condition >> 1) ^ condition) & 1;
}

#endif
