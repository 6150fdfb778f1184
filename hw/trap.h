/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Exceptions, interrupts and system calls: one frame, one table of C handlers.
 * Entry code: hw/entry.asm (vectors) and hw/syscall.asm.
 */
#ifndef HW_TRAP_H
#define HW_TRAP_H

#include <stdbool.h>
#include <stdint.h>

/* Vectors, SDM Vol. 3, "Exception and Interrupt Reference". */
enum {
    VECTOR_DE = 0,
    VECTOR_DB = 1,
    VECTOR_NMI = 2,
    VECTOR_BP = 3,
    VECTOR_OF = 4,
    VECTOR_BR = 5,
    VECTOR_UD = 6,
    VECTOR_NM = 7,
    VECTOR_DF = 8,
    VECTOR_TS = 10,
    VECTOR_NP = 11,
    VECTOR_SS = 12,
    VECTOR_GP = 13,
    VECTOR_PF = 14,
    VECTOR_MF = 16,
    VECTOR_AC = 17,
    VECTOR_MC = 18,
    VECTOR_SYSCALL_INT = 0x80, /* INT 0x80 from ring 3 */
    /* Ours sit above TPR 0xD0, so that a vector firmware left in IRR never reaches us. */
    VECTOR_TIMER = 0xE0,
    VECTOR_IPI = 0xE1,
    VECTOR_PMI = 0xE2,
    VECTOR_TEST = 0xE3,
    VECTOR_GUARD = 0xE4, /* the tick of the processor on guard */
    VECTOR_SPURIOUS = 0xEF,
    VECTOR_COUNT = 256,
    TRAP_SYSCALL = 0x100, /* trap_frame.vector when entered by SYSCALL */
};

/* As the entry stubs build it; hw/trap_frame.inc carries the same offsets for NASM. */
struct trap_frame {
    uint64_t r15, r14, r13, r12, r11, r10, r9, r8;
    uint64_t rbp, rdi, rsi, rdx, rcx, rbx, rax;
    uint64_t vector;
    uint64_t error;
    uint64_t rip, cs, rflags, rsp, ss;
};
_Static_assert(sizeof(struct trap_frame) == 22 * 8, "frame shared with hw/entry.asm");

static inline bool trap_from_user(const struct trap_frame *f)
{
    return (f->cs & 3) != 0;
}

/* Returns true when handled: the interrupted code goes on with the (perhaps edited) frame. */
typedef bool (*trap_handler)(struct trap_frame *frame, void *arg);

/*
 * Installs a handler (NULL handler = none) for vector 0..255 or TRAP_SYSCALL on every
 * processor; returns what was there, for restoring. Vectors >= 32 are EOIed by the entry path
 * before the handler runs when they came through the local APIC (0x80 is not).
 */
struct trap_slot {
    trap_handler handler;
    void *arg;
};
struct trap_slot trap_set(unsigned vector, trap_handler handler, void *arg);
struct trap_slot trap_get(unsigned vector);

/* The interrupt descriptor table in use: VECTOR_COUNT gates of 16 bytes. */
void *trap_idt(void);

/*
 * Called for anything no handler took. It must not return: the harness unwinds to the running
 * check (hw_unwind), boot prints and stops when no check is running.
 */
extern void (*trap_unexpected)(struct trap_frame *frame);

/*
 * Set by the processor on guard right before it sends an NMI that is to end what runs here: the
 * NMI then goes to trap_cut_short instead of its handler, whoever installed one. It returns
 * when there is nothing to end.
 */
extern volatile bool trap_cut;
extern void (*trap_cut_short)(struct trap_frame *frame);

/* Interrupts that arrived on a vector nobody handles, EOIed and counted. */
uint64_t trap_stray_count(void);

/* Linear addresses that a trace shows. */
uint64_t trap_entry_address(unsigned vector); /* first instruction of the vector's stub */
uint64_t trap_iretq_address(void);            /* the one IRETQ that leaves every trap */
uint64_t syscall_entry_address(void);         /* what LSTAR holds */
uint64_t syscall_sysret_address(void);        /* the one SYSRETQ */

/*
 * SYSCALL from either ring runs on the RSP0 stack; so ring 0 may execute it on its main stack,
 * not in a handler of a trap out of ring 3. It leaves through SYSRETQ when the frame still
 * satisfies SYSRET's rules and this is false; true forces IRETQ (needed while stepping, where
 * the two restore TF differently).
 */
extern bool syscall_return_by_iret;

#endif
