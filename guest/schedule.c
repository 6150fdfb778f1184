/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Round robin. A trap handler's frame is the interrupted task's registers: switching is putting
 * another task's in their place before the handler returns.
 */
#include "guest/schedule.h"

#include "guest/abi.h"
#include "hw/apic.h"
#include "hw/regs.h"
#include "hw/string.h"
#include "hw/user.h"

#define SCHEDULE_DONE 1

static struct task *next_ready(struct schedule *s, const struct task *after)
{
    unsigned from = after ? after->slot + 1 : 0;

    for (unsigned i = 0; i < TASKS_MOST; i++) {
        struct task *task = &s->tasks[(from + i) % TASKS_MOST];

        if (task->state == TASK_READY)
            return task;
    }
    return NULL;
}

static void told(struct schedule *s, struct task *from, struct task *to)
{
    if (s->switched)
        s->switched(s->context, from, to);
}

void schedule_depart(struct schedule *s)
{
    struct task *from = s->current;

    if (!from)
        return;
    fpu_save(&from->fpu);
    s->current = NULL;
    told(s, from, NULL);
    paging_load(s->outer_cr3);
}

/* The hook comes last: from there on the new task may be traced. */
static void arrive(struct schedule *s, struct task *from, struct task *to)
{
    fpu_load(&to->fpu);
    paging_load(to->space.cr3);
    apic_timer_oneshot(s->slice_ticks);
    s->current = to;
    to->slices++;
    to->frame.rflags &= ~RFLAGS_TF;
    if (task_step(to) != STEP_NONE)
        to->frame.rflags |= RFLAGS_TF;
    told(s, from, to);
}

/*
 * Puts the next ready task's registers into frame. The current one, when there is one still,
 * has the frame for its own; does not return when there is nobody.
 */
static bool switch_away(struct schedule *s, struct trap_frame *frame)
{
    struct task *from = s->current, *to;

    if (from)
        from->frame = *frame;
    to = next_ready(s, from);
    if (!to || s->switches >= s->most_switches) {
        schedule_depart(s);
        user_leave(frame, SCHEDULE_DONE);
    }
    if (from)
        fpu_save(&from->fpu);
    s->switches++;
    arrive(s, from, to);
    *frame = to->frame;
    return true;
}

static bool ours(const struct schedule *s, const struct trap_frame *frame)
{
    return s->current && trap_from_user(frame);
}

static bool on_timer(struct trap_frame *frame, void *arg)
{
    return ours(arg, frame) && switch_away(arg, frame);
}

static bool on_fault(struct trap_frame *frame, void *arg)
{
    struct schedule *s = arg;

    if (!ours(s, frame))
        return false;
    task_end(s, s->current, TASK_FAULTED, frame->rip);
    return switch_away(s, frame);
}

/* Whoever wished the step decides how it goes on; nobody wishes: the task's own TF. */
static bool on_debug(struct trap_frame *frame, void *arg)
{
    struct schedule *s = arg;

    if (!ours(s, frame))
        return false;
    if (s->debugged)
        s->debugged(s->context);
    dr6_write(dr6_read() & ~DR6_BS);
    s->current->steps++;
    s->current->frame = *frame; /* for who is told */
    task_tell(s->current, TASK_STEPPED, frame->rip);
    *frame = s->current->frame;
    frame->rflags &= ~RFLAGS_TF;
    if (task_step(s->current) != STEP_NONE)
        frame->rflags |= RFLAGS_TF;
    return s->current->state == TASK_READY || switch_away(s, frame);
}

static void clone(struct schedule *s, struct trap_frame *frame)
{
    struct task *child = task_clone(s, s->current, frame);

    frame->rax = child ? child->id : UINT64_MAX;
    if (child)
        task_tell(s->current, TASK_CLONED, child->id);
}

static bool kill(struct schedule *s, struct trap_frame *frame)
{
    struct task *victim = task_find(s, (uint32_t)frame->rdi);

    frame->rax = victim ? 0 : UINT64_MAX;
    if (victim)
        task_end(s, victim, TASK_KILLED, 0);
    return s->current || switch_away(s, frame);
}

static bool wait(struct schedule *s, struct trap_frame *frame)
{
    frame->rax = s->current->events;
    s->current->events = 0;
    if (frame->rax)
        return true;
    s->current->state = TASK_WAITING;
    return switch_away(s, frame);
}

static bool on_service(struct trap_frame *frame, void *arg)
{
    struct schedule *s = arg;

    if (!ours(s, frame))
        return false;
    switch (frame->rax) {
    case SERVICE_EXIT:
        task_end(s, s->current, TASK_EXITED, frame->rdi);
        return switch_away(s, frame);
    case SERVICE_TASK_SELF:
        frame->rax = s->current->id;
        return true;
    case SERVICE_TASK_CLONE:
        clone(s, frame);
        return true;
    case SERVICE_TASK_YIELD:
        frame->rax = 0;
        return switch_away(s, frame);
    case SERVICE_TASK_KILL:
        return kill(s, frame);
    case SERVICE_TASK_WAIT:
        return wait(s, frame);
    default:
        if (!s->service || !s->service(s->context, s->current, frame))
            frame->rax = UINT64_MAX;
        /* It may have stopped, or ended, whoever called. */
        return (s->current && s->current->state == TASK_READY) || switch_away(s, frame);
    }
}

static const struct {
    uint16_t vector;
    trap_handler handler;
} handlers[TASK_VECTORS] = {
    {VECTOR_DE, on_fault},      {VECTOR_BP, on_fault},    {VECTOR_OF, on_fault},
    {VECTOR_BR, on_fault},      {VECTOR_UD, on_fault},    {VECTOR_NM, on_fault},
    {VECTOR_TS, on_fault},      {VECTOR_NP, on_fault},    {VECTOR_SS, on_fault},
    {VECTOR_GP, on_fault},      {VECTOR_PF, on_fault},    {VECTOR_AC, on_fault},
    {VECTOR_DB, on_debug},      {VECTOR_TIMER, on_timer}, {VECTOR_SYSCALL_INT, on_service},
    {TRAP_SYSCALL, on_service},
};

void schedule_open(struct schedule *s, uint32_t slice_ticks)
{
    memset(s, 0, sizeof(*s));
    s->slice_ticks = slice_ticks;
    s->outer_cr3 = paging_current();
    for (unsigned i = 0; i < TASK_VECTORS; i++)
        s->outer[i] = trap_set(handlers[i].vector, handlers[i].handler, s);
}

void schedule_close(struct schedule *s)
{
    for (unsigned i = 0; i < TASKS_MOST; i++)
        task_end(s, &s->tasks[i], TASK_KILLED, 0);
    apic_timer_oneshot(0);
    for (unsigned i = 0; i < TASK_VECTORS; i++)
        trap_set(handlers[i].vector, s->outer[i].handler, s->outer[i].arg);
}

void schedule_run(struct schedule *s, uint64_t most_switches)
{
    struct task *first = next_ready(s, NULL);
    static struct trap_frame frame;
    static struct fpu_image outer;

    if (!first)
        return;
    fpu_save(&outer);
    s->switches = 0;
    s->most_switches = most_switches;
    arrive(s, NULL, first);
    frame = first->frame;
    user_run(&frame);
    apic_timer_oneshot(0);
    fpu_load(&outer);
}
