/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs code on the host one instruction at a time and, after each, tries what happens if an
 * interruption comes just there: memory and registers are saved, the interruption runs, the
 * code runs to its end and is judged; then all is put back and the next instruction follows.
 */
#ifndef HARNESS_TESTS_FAKES_STEP_H
#define HARNESS_TESTS_FAKES_STEP_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define STEP_TF          0x100
#define STEP_STACK_BYTES 8192
#define STEP_RED_ZONE    128

/* Memory that code, interruption and judge change; NULL ends the list. */
struct step_memory {
    void *at;
    size_t bytes;
    void *copy;
};

static struct {
    struct step_memory *memory;
    void (*interruption)(void);
    uint8_t *stack_top;
    bool stepping, branched;
    gregset_t registers;
    uint8_t stack[STEP_STACK_BYTES];
    size_t stack_bytes;
    unsigned places;
} step;

static void step_copy_memory(bool save)
{
    for (struct step_memory *m = step.memory; m->at; m++)
        memcpy(save ? m->copy : m->at, save ? m->at : m->copy, m->bytes);
}

/* After one instruction. Runs on a stack of its own, so that the code's can be put back. */
static void step_trap(int signal, siginfo_t *info, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    uint8_t *low = (uint8_t *)registers[REG_RSP] - STEP_RED_ZONE;

    (void)signal;
    (void)info;
    if (step.stepping) {
        step.places++;
        step.stack_bytes = step.stack_top - low;
        if (step.stack_bytes > sizeof(step.stack))
            abort();
        memcpy(step.stack, low, step.stack_bytes);
        memcpy(step.registers, registers, sizeof(step.registers));
        step_copy_memory(true);
        step.branched = true;
        step.stepping = false;
        step.interruption();
    }
    registers[REG_EFL] &= ~(greg_t)STEP_TF;
}

/* Back to the instruction after which the code was interrupted, stepping. */
static void step_back(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    memcpy(step.stack_top - step.stack_bytes, step.stack, step.stack_bytes);
    memcpy(((ucontext_t *)context)->uc_mcontext.gregs, step.registers, sizeof(step.registers));
    step_copy_memory(false);
    step.branched = false;
    step.stepping = true;
}

static void step_init(void)
{
    static uint8_t own_stack[65536];
    stack_t stack = {.ss_sp = own_stack, .ss_size = sizeof(own_stack)};
    struct sigaction trap = {.sa_sigaction = step_trap, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    struct sigaction back = {.sa_sigaction = step_back, .sa_flags = SA_SIGINFO | SA_ONSTACK};

    if (sigaltstack(&stack, NULL) || sigaction(SIGTRAP, &trap, NULL) ||
        sigaction(SIGUSR1, &back, NULL))
        abort();
}

/* judge(interrupted) runs once for each place, and once for the code left in peace. */
static __attribute__((noinline)) void step_explore(void (*code)(void),
                                                   void (*interruption)(void),
                                                   void (*judge)(bool interrupted),
                                                   struct step_memory *memory)
{
    step.memory = memory;
    step.interruption = interruption;
    step.stack_top = __builtin_frame_address(0);
    step.stepping = true;
    __asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\torq %0, (%%rsp)\n\tpopfq\n\t"
                     "lea 128(%%rsp), %%rsp"
                     :
                     : "i"(STEP_TF)
                     : "memory", "cc");
    code();
    /* The trap after this store finds nothing to do and clears TF. */
    step.stepping = false;
    __asm__ volatile("nop" : : : "memory");
    if (step.branched) {
        judge(true);
        raise(SIGUSR1);
    }
    judge(false);
}

#endif
