/* SPDX-License-Identifier: BSD-2-Clause */
/* Entering ring 3 and leaving it, and guarded calls: two uses of one saved context. */
#include "hw/user.h"

#include "hw/context.h"
#include "hw/cpu.h"
#include "hw/regs.h"
#include "hw/string.h"

/*
 * A context together with what is "innermost" at that point. Whoever resumes it drops every
 * trap, ring-3 run and guarded call that began later, so all three links go back with it.
 */
struct resume_point {
    struct kernel_context context;
    struct trap_frame *frame;
    struct user_return *user;
    void *try_frame;
};

struct user_return {
    struct resume_point point;
    struct trap_frame *registers; /* the caller's frame, written when ring 3 is left */
};

static uint64_t run_to(struct resume_point *point, void (*fn)(void *), void *arg)
{
    uint64_t code = context_run(&point->context, fn, arg);
    struct cpu *cpu = cpu_this();

    cpu->frame = point->frame;
    cpu->user = point->user;
    cpu->try_frame = point->try_frame;
    return code;
}

static struct resume_point links(const struct cpu *cpu)
{
    return (struct resume_point){
        .frame = cpu->frame, .user = cpu->user, .try_frame = cpu->try_frame};
}

static void enter(void *frame)
{
    trap_return(frame);
}

uint64_t user_run(struct trap_frame *frame)
{
    struct cpu *cpu = cpu_this();
    struct user_return here = {links(cpu), frame};

    cpu->user = &here;
    return run_to(&here.point, enter, frame);
}

void user_leave(struct trap_frame *frame, uint64_t code)
{
    struct user_return *user = cpu_this()->user;

    if (!user) /* nobody entered ring 3: the trap is not what its handler took it for */
        trap_unexpected(frame);
    *user->registers = *frame;
    context_resume(&user->point.context, code);
}

void user_frame_init(struct trap_frame *frame, uint64_t rip, uint64_t rsp, bool interrupts)
{
    memset(frame, 0, sizeof(*frame));
    frame->rip = rip;
    frame->rsp = rsp;
    frame->cs = SELECTOR_USER_CS;
    frame->ss = SELECTOR_USER_SS;
    frame->rflags = RFLAGS_FIXED | (interrupts ? RFLAGS_IF : 0);
}

struct guarded {
    struct resume_point point;
    uint64_t (*fn)(void *);
    void *arg;
    uint64_t result;
};

static void call_guarded(void *arg)
{
    struct guarded *g = arg;

    g->result = g->fn(g->arg);
}

uint64_t hw_try(uint64_t (*fn)(void *), void *arg, uint64_t *result)
{
    struct cpu *cpu = cpu_this();
    struct guarded here = {links(cpu), fn, arg, 0};
    uint64_t code;

    cpu->try_frame = &here;
    code = run_to(&here.point, call_guarded, &here);
    if (code == 0 && result)
        *result = here.result;
    return code;
}

void hw_unwind(uint64_t code)
{
    struct cpu *cpu = cpu_this();
    struct guarded *innermost = cpu->try_frame;

    /* Outside every guarded call there is nowhere to go; code 0 would look like success. */
    while (!innermost || code == 0)
        __asm__ volatile("cli\n\thlt");
    context_resume(&innermost->point.context, code);
}
