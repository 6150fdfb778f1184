/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How a handler of the program is entered and left: the frame on its stack. Source: System V
 * ABI, AMD64 supplement, for the registers; the layout is the one that Linux's <ucontext.h> and
 * <siginfo.h> show to programs.
 */
#ifndef GUEST_PROGRAM_SIGNAL_H
#define GUEST_PROGRAM_SIGNAL_H

#include "guest/program.h"

struct signal_cause {
    unsigned number; /* of the signal */
    int32_t code;    /* si_code */
    uint64_t address;
    unsigned vector; /* of the exception; 0 with code <= 0 is none */
    uint64_t error;
};

/* stack_t */
struct signal_stack {
    uint64_t start;
    uint32_t flags, padding;
    uint64_t bytes;
};

/* Signal, code and address for the exception in the frame. */
void signal_of_fault(const struct program *p, const struct trap_frame *f,
                     struct signal_cause *cause);

/*
 * Puts the registers, with the mask that is to come back, onto the stack and makes the frame
 * one that enters the handler. False: there is no room for it.
 */
bool signal_enter(struct program *p, struct trap_frame *f, const struct signal_cause *cause,
                  uint64_t mask);
/* Takes them back. False: there is nothing of the kind at the stack pointer. */
bool signal_return(struct program *p, struct trap_frame *f);

#endif
