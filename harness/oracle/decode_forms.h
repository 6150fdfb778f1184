/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What follows each opcode byte in 64-bit mode: one letter per opcode, 16 to a row, as the
 * opcode maps are printed. Included by decode.c only.
 * Source: SDM Vol. 2, "One-Byte Opcode Map", "Two-Byte Opcode Map", "Escape Opcodes".
 *
 *   .  nothing            b  imm8               r  rel8
 *   x  undefined          w  imm16              R  rel32, whatever the operand size
 *   p  prefix or escape   z  imm16 or imm32     o  offset of address size
 *   m  ModRM              v  imm16, 32 or 64    e  imm16 and imm8
 *   B  ModRM, imm8        Z  ModRM, imm16/32    c  ModRM that names registers only
 *   F  ModRM, imm8 for /0 and /1                G  ModRM, imm16/32 for /0 and /1
 */
#ifndef HARNESS_ORACLE_DECODE_FORMS_H
#define HARNESS_ORACLE_DECODE_FORMS_H

static const char one_byte_form[256 + 1] = "mmmmbzxxmmmmbzxp"  /* 00 */
                                           "mmmmbzxxmmmmbzxx"  /* 10 */
                                           "mmmmbzpxmmmmbzpx"  /* 20 */
                                           "mmmmbzpxmmmmbzpx"  /* 30 */
                                           "pppppppppppppppp"  /* 40 REX */
                                           "................"  /* 50 */
                                           "xxpmppppzZbB...."  /* 60 */
                                           "rrrrrrrrrrrrrrrr"  /* 70 Jcc */
                                           "BZxBmmmmmmmmmmmm"  /* 80 */
                                           "..........x....."  /* 90 */
                                           "oooo....bz......"  /* A0 */
                                           "bbbbbbbbvvvvvvvv"  /* B0 */
                                           "BBw.ppBZe.w..bx."  /* C0 */
                                           "mmmmxxx.mmmmmmmm"  /* D0 */
                                           "rrrrbbbbRRxr...."  /* E0 */
                                           "p.pp..FG......mm"; /* F0 */

static const char two_byte_form[256 + 1] = "mmmmx.....x.xm.B"  /* 00 */
                                           "mmmmmmmmmmmmmmmm"  /* 10 */
                                           "ccccxxxxmmmmmmmm"  /* 20 */
                                           "......x.pxpxxxxx"  /* 30 */
                                           "mmmmmmmmmmmmmmmm"  /* 40 */
                                           "mmmmmmmmmmmmmmmm"  /* 50 */
                                           "mmmmmmmmmmmmmmmm"  /* 60 */
                                           "BBBBmmm.mmxxmmmm"  /* 70 */
                                           "RRRRRRRRRRRRRRRR"  /* 80 Jcc */
                                           "mmmmmmmmmmmmmmmm"  /* 90 */
                                           "...mBmxx...mBmmm"  /* A0 */
                                           "mmmmmmmmmmBmmmmm"  /* B0 */
                                           "mmBmBBBm........"  /* C0 */
                                           "mmmmmmmmmmmmmmmm"  /* D0 */
                                           "mmmmmmmmmmmmmmmm"  /* E0 */
                                           "mmmmmmmmmmmmmmmm"; /* F0 */

#endif
