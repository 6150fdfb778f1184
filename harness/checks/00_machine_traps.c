/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Exceptions: the frame, the stack it lies on, and going on afterwards.
 *
 * Claim: a fault's frame names the faulting instruction, a trap's the next one; error codes
 *   and CR2 are as described; each vector with a stack of its own uses it; all registers come
 *   back.
 * Source: SDM Vol. 3, "Exception and Interrupt Reference", "Interrupt Stack Table".
 * How: raises each exception once and compares the frame that the handler was given with the
 *   label of the instruction.
 * Wrong if: another source raises the same vector in between; the count would show it.
 */
#define CHECK_GROUP "00 hw"
#include "harness/check/check.h"
#include "harness/fixture/ring3.h"

#include "hw/cpu.h"
#include "hw/regs.h"
#include "hw/string.h"
#include "hw/user.h"

/* Runs from a label with one vector noted; true when ring 3 was left by INT 0x80. */
static void run_noting(struct trap_frame *frame, unsigned vector, struct trap_seen *seen)
{
    struct trap_slot before = trap_set(vector, trap_note, seen);

    user_run(frame);
    trap_set(vector, before.handler, before.arg);
}

static void expect_fault(struct run *run, const struct trap_seen *seen, unsigned vector,
                         uint64_t rip)
{
    EXPECT_EQ(run, seen->count, 1, "times the handler ran");
    EXPECT_EQ(run, seen->frame.vector, vector, "vector");
    EXPECT_EQ(run, seen->frame.rip, rip, "RIP");
    EXPECT_EQ(run, seen->frame.error, 0, "error code");
    EXPECT_EQ(run, seen->frame.cs, SELECTOR_USER_CS, "CS");
    EXPECT_EQ(run, seen->frame.ss, SELECTOR_USER_SS, "SS");
    EXPECT_EQ(run, seen->frame.rsp, RING3_STACK_TOP, "RSP");
    EXPECT(run, trap_from_user(&seen->frame), "the frame does not say ring 3");
}

CHECK("hw.trap.ud", SOFTWARE, "", NEED_NOTHING)
{
    struct trap_seen seen = {.resume_at = ring3_address(ring3_exit)};
    struct trap_frame frame = ring3_frame(ring3_ud, false);
    struct ring3 r;

    NEED(run, ring3_open(&r), "page pool empty");
    run_noting(&frame, VECTOR_UD, &seen);
    expect_fault(run, &seen, VECTOR_UD, ring3_address(ring3_ud));
    ring3_close(&r);
}

CHECK("hw.trap.de", SOFTWARE, "", NEED_NOTHING)
{
    struct trap_seen seen = {.resume_at = ring3_address(ring3_exit)};
    struct trap_frame frame = ring3_frame(ring3_de, false);
    struct ring3 r;

    NEED(run, ring3_open(&r), "page pool empty");
    run_noting(&frame, VECTOR_DE, &seen);
    expect_fault(run, &seen, VECTOR_DE, ring3_address(ring3_de_at));
    ring3_close(&r);
}

/* A trap: RIP is behind the one-byte instruction, and the handler need not move it. */
CHECK("hw.trap.bp", SOFTWARE, "", NEED_NOTHING)
{
    struct trap_seen seen = {0};
    struct trap_frame frame = ring3_frame(ring3_bp, false);
    struct ring3 r;

    NEED(run, ring3_open(&r), "page pool empty");
    run_noting(&frame, VECTOR_BP, &seen);
    expect_fault(run, &seen, VECTOR_BP, ring3_address(ring3_bp) + 1);
    ring3_close(&r);
}

/* QEMU 7.2 names the gate by its distance in the IDT, vector * 16; processors by vector * 8. */
static bool emulators_gate_error(const struct trap_seen *seen, const struct ring3_privileged *p)
{
    return p->error && seen->frame.error == (p->error & ~7u) * 2 + 2;
}

CHECK("hw.trap.privileged", SOFTWARE, "DCTL-03", NEED_NOTHING)
{
    struct ring3 r;

    NEED(run, ring3_open(&r), "page pool empty");
    for (unsigned i = 0; i < ring3_privileged_count; i++) {
        const struct ring3_privileged *p = &ring3_privileged[i];
        struct trap_seen seen = {.resume_at = ring3_address(ring3_exit)};
        struct trap_frame frame = ring3_frame(ring3_code_start + p->offset, false);
        uint64_t rip = frame.rip;

        run_noting(&frame, VECTOR_GP, &seen);
        if (EXPECT(run, seen.count == 1, "the instruction at offset %u did not fault",
                   p->offset)) {
            EXPECT_EQ(run, seen.frame.rip, rip, "RIP");
            EXPECT(run, seen.frame.error == p->error || emulators_gate_error(&seen, p),
                   "error code %lx, want %x", seen.frame.error, p->error);
        }
    }
    ring3_close(&r);
}

/* Fifteen general registers and the flags, through an exception and out again. */
CHECK("hw.trap.registers", SOFTWARE, "", NEED_NOTHING)
{
    struct trap_seen seen = {.resume_at = ring3_address(ring3_exit)};
    struct trap_frame frame = ring3_frame(ring3_ud, false), start;
    uint64_t *general = &frame.r15;
    struct ring3 r;

    for (unsigned i = 0; i < 15; i++)
        general[i] = 0x1111111111111111ull * (i + 1);
    frame.rflags |= RFLAGS_DF | RFLAGS_AC | RFLAGS_CF | RFLAGS_OF | RFLAGS_NT;
    start = frame;
    NEED(run, ring3_open(&r), "page pool empty");
    run_noting(&frame, VECTOR_UD, &seen);
    EXPECT(run, memcmp(&seen.frame, &start, 15 * 8) == 0, "a register changed on the way in");
    EXPECT(run, memcmp(&frame, &start, 15 * 8) == 0, "a register changed on the way back");
    /* A fault pushes RF = 1. */
    EXPECT_EQ(run, seen.frame.rflags & ~RFLAGS_RF, start.rflags, "RFLAGS in the handler");
    EXPECT_EQ(run, frame.rflags & ~RFLAGS_RF, start.rflags, "RFLAGS after it");
    ring3_close(&r);
}

static bool on_stack(const struct trap_seen *seen, enum cpu_stack stack)
{
    return (seen->at & ~(KERNEL_STACK_BYTES - 1)) == (uint64_t)cpu_this()->stacks[stack];
}

CHECK("hw.trap.stacks", SOFTWARE, "", NEED_NOTHING)
{
    struct trap_seen ud = {.resume_at = ring3_address(ring3_exit)}, db = {0}, bp = {0};
    struct trap_frame frame = ring3_frame(ring3_ud, false);
    struct trap_slot before;
    struct ring3 r;

    NEED(run, ring3_open(&r), "page pool empty");
    run_noting(&frame, VECTOR_UD, &ud);
    EXPECT(run, on_stack(&ud, STACK_RSP0), "#UD of ring 3 is not on the RSP0 stack");

    frame = ring3_frame(ring3_cs, false);
    frame.rflags |= RFLAGS_TF;
    run_noting(&frame, VECTOR_DB, &db);
    EXPECT(run, on_stack(&db, STACK_DB), "#DB is not on its own stack");

    before = trap_set(VECTOR_BP, trap_note, &bp);
    __asm__ volatile("int3");
    trap_set(VECTOR_BP, before.handler, before.arg);
    EXPECT(run, on_stack(&bp, STACK_MAIN), "#BP of ring 0 left the stack in use");
    EXPECT_EQ(run, bp.frame.cs, SELECTOR_KERNEL_CS, "CS of the ring-0 frame");
    ring3_close(&r);
}

static struct trap_seen double_fault;

static bool note_and_unwind(struct trap_frame *frame, void *seen)
{
    trap_note(frame, seen);
    hw_unwind(VECTOR_DF);
}

/* No stack to push the #UD's frame on: #PF while delivering it, which makes a double fault. */
static uint64_t lose_stack(void *bad)
{
    __asm__ volatile("mov %0, %%rsp\n\tud2" : : "r"(bad) : "memory");
    return 0;
}

CHECK("hw.trap.double_fault", SOFTWARE, "", NEED_NOTHING)
{
    struct trap_slot before = trap_set(VECTOR_DF, note_and_unwind, &double_fault);
    uint64_t bad = KERNEL_WINDOW + WINDOW_BYTES - KERNEL_STACK_BYTES, code;
    struct paging_walk walk;

    double_fault = (struct trap_seen){0};
    NEED(run, !paging_walk(paging_current(), bad - 8, &walk), "the bad stack is mapped");
    code = hw_try(lose_stack, (void *)bad, NULL);
    trap_set(VECTOR_DF, before.handler, before.arg);
    EXPECT_EQ(run, code, VECTOR_DF, "how the call ended");
    EXPECT_EQ(run, double_fault.count, 1, "double faults");
    EXPECT_EQ(run, double_fault.frame.error, 0, "error code");
    EXPECT_EQ(run, double_fault.frame.rsp, bad, "RSP");
    EXPECT(run, on_stack(&double_fault, STACK_DF), "#DF is not on its own stack");
    EXPECT_EQ(run, double_fault.cr2 & ~(PAGE_BYTES - 1), bad - PAGE_BYTES, "page of CR2");
}

/* trap_unexpected belongs to the harness; for a moment it is this check's. */
static struct trap_seen nobodys;

static void note_unexpected(struct trap_frame *frame)
{
    trap_note(frame, &nobodys);
    hw_unwind(VECTOR_UD);
}

static uint64_t execute_ud(void *arg)
{
    (void)arg;
    __asm__ volatile("ud2");
    return 0;
}

CHECK("hw.trap.unhandled", SOFTWARE, "", NEED_NOTHING)
{
    void (*before)(struct trap_frame *) = trap_unexpected;
    uint64_t code;

    nobodys = (struct trap_seen){0};
    trap_unexpected = note_unexpected;
    code = hw_try(execute_ud, NULL, NULL);
    trap_unexpected = before;
    EXPECT_EQ(run, code, VECTOR_UD, "how the call ended");
    EXPECT_EQ(run, nobodys.count, 1, "calls of trap_unexpected");
    EXPECT_EQ(run, nobodys.frame.vector, VECTOR_UD, "vector");
    EXPECT(run, !cpu_this()->frame, "a trap is still in progress after the unwinding");
}
