/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs code on the host one instruction at a time and calls back between two of them: an NMI,
 * as near as a user process gets to one.
 */
#ifndef STEP_H
#define STEP_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <ucontext.h>

#define STEP_TF 0x100

static void (*step_visit)(ucontext_t *context);
static volatile bool step_on;

static void step_trap(int signal, siginfo_t *info, void *context)
{
    ucontext_t *ucontext = context;

    (void)signal;
    (void)info;
    if (step_on)
        step_visit(ucontext);
    /* The kernel runs handlers with TF clear and gives it back with the saved flags. */
    if (!step_on)
        ucontext->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)STEP_TF;
}

static inline void step_init(void (*visit)(ucontext_t *context))
{
    struct sigaction action = {.sa_sigaction = step_trap, .sa_flags = SA_SIGINFO};

    step_visit = visit;
    if (sigaction(SIGTRAP, &action, NULL))
        abort();
}

/* visit is called after every instruction until step_end, or until it sets step_on false. */
static inline void step_begin(void)
{
    step_on = true;
    /* Past the red zone, where the compiler may keep locals. */
    __asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\torq %0, (%%rsp)\n\tpopfq\n\t"
                     "lea 128(%%rsp), %%rsp"
                     :
                     : "i"(STEP_TF)
                     : "memory", "cc");
}

static inline void step_end(void)
{
    step_on = false;
    __asm__ volatile("" : : : "memory");
}

#endif
