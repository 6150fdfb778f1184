/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ring 3 and back: SYSCALL from either ring, INT 0x80, stepping.
 *
 * Claim: SYSCALL reaches its handler with any RSP and from both rings, returns by SYSRETQ or
 *   IRETQ with the same registers; TF gives one #DB per instruction.
 * Source: SDM Vol. 2, "SYSCALL", "SYSRET"; Vol. 3, "Single-Step Exception Condition".
 * How: compares frames with labels; the stepped path is written down by labels as well.
 * Wrong if: the processor reports a step differently after REP or STI; the path has neither.
 */
#define CHECK_GROUP "00 hw"
#include "harness/check/check.h"
#include "harness/fixture/ring3.h"

#include "hw/cpu.h"
#include "hw/msr.h"
#include "hw/regs.h"
#include "hw/string.h"
#include "hw/user.h"

#define SYSCALL_BYTES 2

/* A system call's handler: what it saw, and what it should change. */
struct call_seen {
    struct trap_seen trap;
    uint64_t rflags;  /* in the handler */
    uint64_t set_rcx; /* 0: leave RCX alone */
};

static bool note_call(struct trap_frame *frame, void *arg)
{
    struct call_seen *seen = arg;

    seen->rflags = rflags_read();
    trap_note(frame, &seen->trap);
    if (seen->set_rcx)
        frame->rcx = seen->set_rcx;
    return true;
}

static void run_call(struct trap_frame *frame, struct call_seen *seen)
{
    struct trap_slot before = trap_set(TRAP_SYSCALL, note_call, seen);

    user_run(frame);
    trap_set(TRAP_SYSCALL, before.handler, before.arg);
}

static void expect_call(struct run *run, const struct call_seen *seen)
{
    uint64_t next = ring3_address(ring3_syscall) + SYSCALL_BYTES;

    EXPECT_EQ(run, seen->trap.count, 1, "system calls");
    EXPECT_EQ(run, seen->trap.frame.vector, TRAP_SYSCALL, "vector");
    EXPECT_EQ(run, seen->trap.frame.rip, next, "RIP");
    EXPECT_EQ(run, seen->trap.frame.rcx, next, "RCX");
    EXPECT_EQ(run, seen->trap.frame.cs, SELECTOR_USER_CS, "CS");
    EXPECT_EQ(run, seen->trap.frame.ss, SELECTOR_USER_SS, "SS");
    EXPECT_EQ(run, seen->rflags & (RFLAGS_IF | RFLAGS_TF | RFLAGS_DF | RFLAGS_AC | RFLAGS_NT),
              0, "flags that FMASK clears");
}

/* Twice: once through SYSRETQ, once through IRETQ. Ring 3 cannot tell them apart. */
CHECK("hw.user.syscall", SOFTWARE, "", NEED_NOTHING)
{
    struct ring3 r;

    NEED(run, ring3_open(&r), "page pool empty");
    for (unsigned by_iret = 0; by_iret < 2; by_iret++) {
        struct call_seen seen = {{0}, 0, 0};
        struct trap_frame frame = ring3_frame(ring3_syscall, true);
        uint64_t rflags;

        frame.rflags |= RFLAGS_DF | RFLAGS_AC | RFLAGS_NT | RFLAGS_CF;
        frame.rbx = 0xB0B0;
        rflags = frame.rflags;
        syscall_return_by_iret = by_iret;
        run_call(&frame, &seen);
        syscall_return_by_iret = false;
        expect_call(run, &seen);
        EXPECT_EQ(run, seen.trap.frame.rflags, rflags, "RFLAGS in the frame");
        EXPECT_EQ(run, frame.r11, rflags, "R11 after the return");
        EXPECT_EQ(run, frame.rcx, seen.trap.frame.rip, "RCX after the return");
        EXPECT_EQ(run, frame.rflags, rflags, "RFLAGS after the return");
        EXPECT_EQ(run, frame.rbx, 0xB0B0, "RBX after the return");
        EXPECT_EQ(run, frame.rsp, RING3_STACK_TOP, "RSP after the return");
        EXPECT_EQ(run, frame.ss, SELECTOR_USER_SS, "SS after the return");
    }
    ring3_close(&r);
}

/* SYSRET would put RIP into RCX: a handler's own RCX must survive, through IRETQ. */
CHECK("hw.user.syscall_edited", SOFTWARE, "", NEED_NOTHING)
{
    struct call_seen seen = {{0}, 0, 0xC0FFEE};
    struct trap_frame frame = ring3_frame(ring3_syscall, false);
    struct ring3 r;

    NEED(run, ring3_open(&r), "page pool empty");
    run_call(&frame, &seen);
    expect_call(run, &seen);
    EXPECT_EQ(run, frame.rcx, 0xC0FFEE, "RCX after the return");
    ring3_close(&r);
}

/* SYSCALL leaves RSP alone, and ring 3 may have put anything there. */
CHECK("hw.user.syscall_any_rsp", SOFTWARE, "", NEED_NOTHING)
{
    const uint64_t pointers[] = {0, 1, RING3_HOLE, 0x8000000000000000ull,
                                 (uint64_t)cpu_this()->stacks[STACK_MAIN] + 64};
    struct ring3 r;

    NEED(run, ring3_open(&r), "page pool empty");
    for (unsigned i = 0; i < sizeof(pointers) / sizeof(pointers[0]); i++) {
        struct call_seen seen = {{0}, 0, 0};
        struct trap_frame frame = ring3_frame(ring3_syscall, false);
        uint64_t stack = (uint64_t)cpu_this()->stacks[STACK_RSP0];

        frame.rsp = pointers[i];
        run_call(&frame, &seen);
        expect_call(run, &seen);
        EXPECT_EQ(run, seen.trap.frame.rsp, pointers[i], "RSP in the frame");
        EXPECT_EQ(run, frame.rsp, pointers[i], "RSP after the return");
        EXPECT_EQ(run, seen.trap.at & ~(KERNEL_STACK_BYTES - 1), stack, "the handler's stack");
    }
    ring3_close(&r);
}

/* The processor does not say where a SYSCALL came from; the frame must. */
CHECK("hw.user.syscall_ring0", SOFTWARE, "", NEED_NOTHING)
{
    struct call_seen seen = {{0}, 0, 0};
    struct trap_slot before = trap_set(TRAP_SYSCALL, note_call, &seen);
    uint64_t next, rsp_before, rsp_after;
    uint16_t cs;

    __asm__ volatile("mov %%rsp, %[before]\n\t"
                     "syscall\n\t"
                     "mov %%rsp, %[after]\n\t"
                     "mov %%cs, %[cs]"
                     : [before] "=&r"(rsp_before), [after] "=&r"(rsp_after), [cs] "=&r"(cs),
                       "=c"(next)
                     :
                     : "r11", "memory", "cc");
    trap_set(TRAP_SYSCALL, before.handler, before.arg);
    EXPECT_EQ(run, seen.trap.count, 1, "system calls");
    EXPECT_EQ(run, seen.trap.frame.cs, SELECTOR_KERNEL_CS, "CS in the frame");
    EXPECT_EQ(run, seen.trap.frame.rip, next, "RIP in the frame");
    EXPECT_EQ(run, seen.trap.frame.rsp, rsp_before, "RSP in the frame");
    EXPECT_EQ(run, rsp_after, rsp_before, "RSP after the return");
    EXPECT_EQ(run, cs, SELECTOR_KERNEL_CS, "CS after the return");
}

CHECK("hw.user.int80", SOFTWARE, "", NEED_NOTHING)
{
    struct trap_frame frame = ring3_frame(ring3_exit, true);
    struct ring3 r;

    NEED(run, ring3_open(&r), "page pool empty");
    EXPECT_EQ(run, user_run(&frame), 1, "the code of user_leave");
    EXPECT_EQ(run, frame.vector, VECTOR_SYSCALL_INT, "vector");
    EXPECT_EQ(run, frame.error, 0, "error code");
    EXPECT_EQ(run, frame.rip, ring3_address(ring3_exit) + 2, "RIP");
    EXPECT(run, frame.rflags & RFLAGS_IF, "IF was not on in ring 3");
    EXPECT(run, !(rflags_read() & RFLAGS_IF), "the caller's IF was not put back");
    ring3_close(&r);
}

#define STEPS_MAX 32
struct steps {
    unsigned count, wrong_dr6;
    uint64_t rip[STEPS_MAX];
};

static bool note_step(struct trap_frame *frame, void *arg)
{
    struct steps *steps = arg;

    if (steps->count < STEPS_MAX)
        steps->rip[steps->count] = frame->rip;
    steps->count++;
    steps->wrong_dr6 += !(dr6_read() & DR6_BS);
    dr6_write(0);
    return true;
}

CHECK("hw.user.step", SOFTWARE, "", NEED_NOTHING)
{
    struct trap_frame frame = ring3_frame(ring3_walk, false);
    struct trap_slot before;
    struct steps steps = {0};
    struct ring3 r;

    NEED(run, ring3_open(&r), "page pool empty");
    frame.rflags |= RFLAGS_TF;
    before = trap_set(VECTOR_DB, note_step, &steps);
    user_run(&frame);
    trap_set(VECTOR_DB, before.handler, before.arg);
    EXPECT_EQ(run, steps.count, ring3_walk_steps, "steps");
    EXPECT_EQ(run, steps.wrong_dr6, 0, "steps without DR6.BS");
    for (unsigned i = 0; i < steps.count && i < ring3_walk_steps; i++)
        EXPECT_EQ(run, steps.rip[i] - ring3_address(ring3_walk), ring3_walk_path[i],
                  "offset after a step");
    EXPECT(run, frame.rflags & RFLAGS_TF, "TF was lost on the way");
    ring3_close(&r);
}
