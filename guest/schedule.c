/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Round robin, on each processor by itself. A trap handler's frame is the interrupted task's
 * registers: switching is putting another task's in their place before the handler returns.
 */
#include "guest/schedule.h"

#include "guest/abi.h"
#include "hw/apic.h"
#include "hw/regs.h"
#include "hw/string.h"
#include "hw/user.h"

#define SCHEDULE_DONE 1
#define SLICE_MOST    (UINT32_MAX / 2) /* that can be doubled */
#define EMPTY_MOST    8

struct turn *schedule_turn(struct schedule *s)
{
    return &s->turn[cpu_index()];
}

/* Of this processor, and to stay there. The look at whose it is comes first. */
static bool can_run(const struct task *task)
{
    return __atomic_load_n(&task->cpu, __ATOMIC_ACQUIRE) == cpu_index() &&
           task->next_cpu == cpu_index() &&
           __atomic_load_n(&task->state, __ATOMIC_ACQUIRE) == TASK_READY;
}

static struct task *next_ready(struct schedule *s, const struct task *after)
{
    unsigned from = after ? after->slot + 1 : 0;

    for (unsigned i = 0; i < TASKS_MOST; i++) {
        struct task *task = &s->tasks[(from + i) % TASKS_MOST];

        if (can_run(task))
            return task;
    }
    return NULL;
}

/* What is left of it here is in memory: from now on it may be another processor's. */
static void told(struct schedule *s, struct task *from, struct task *to)
{
    if (s->switched)
        s->switched(s->context, from, to);
    if (from)
        __atomic_store_n(&from->cpu, from->next_cpu, __ATOMIC_RELEASE);
}

void schedule_depart(struct schedule *s)
{
    struct turn *turn = schedule_turn(s);
    struct task *from = turn->current;

    if (!from)
        return;
    fpu_save(&from->fpu);
    turn->current = NULL;
    told(s, from, NULL);
    paging_load(turn->outer_cr3);
}

/* The hook comes last: from there on the new task may be traced. */
static void arrive(struct schedule *s, struct task *from, struct task *to)
{
    fpu_load(&to->fpu);
    paging_load(to->space.cr3);
    apic_timer_oneshot(s->slice_ticks);
    schedule_turn(s)->current = to;
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
    struct turn *turn = schedule_turn(s);
    struct task *from = turn->current, *to;

    if (from)
        from->frame = *frame;
    to = next_ready(s, from);
    if (!to || turn->switches >= turn->most_switches) {
        schedule_depart(s);
        user_leave(frame, SCHEDULE_DONE);
    }
    if (from)
        fpu_save(&from->fpu);
    turn->switches++;
    arrive(s, from, to);
    *frame = to->frame;
    return true;
}

static bool ours(struct schedule *s, const struct trap_frame *frame)
{
    return schedule_turn(s)->current && trap_from_user(frame);
}

/* Where a slice began: the task has not run one instruction of it. */
static bool nothing_done(const struct task *task, const struct trap_frame *frame)
{
    const struct trap_frame *began = &task->frame;

    return frame->rip == began->rip && frame->rsp == began->rsp && frame->rcx == began->rcx &&
           frame->rax == began->rax;
}

/*
 * Slices that end before their first instruction, many in a row, are too short for this
 * machine: they become longer, else tasks would take turns for ever and none would get on.
 */
static void look_at_slice(struct schedule *s, const struct trap_frame *frame)
{
    struct turn *turn = schedule_turn(s);
    uint32_t ticks = __atomic_load_n(&s->slice_ticks, __ATOMIC_RELAXED);

    turn->empty = nothing_done(turn->current, frame) ? turn->empty + 1 : 0;
    if (turn->empty < EMPTY_MOST || ticks > SLICE_MOST)
        return;
    turn->empty = 0;
    __atomic_store_n(&s->slice_ticks, ticks * 2, __ATOMIC_RELAXED);
}

/* A tick of before, while IF was 0, is nobody's: this slice still counts. */
static bool on_timer(struct trap_frame *frame, void *arg)
{
    struct schedule *s = arg;

    if (!ours(s, frame))
        return false;
    if (apic_read(APIC_TIMER_CURRENT) != 0)
        return true;
    look_at_slice(s, frame);
    return switch_away(s, frame);
}

static bool on_fault(struct trap_frame *frame, void *arg)
{
    struct schedule *s = arg;

    if (!ours(s, frame))
        return false;
    if (s->faulted)
        s->faulted(s->context, schedule_turn(s)->current, frame);
    task_end(s, schedule_turn(s)->current, TASK_FAULTED, frame->rip);
    return switch_away(s, frame);
}

/* Whoever wished the step decides how it goes on; nobody wishes: the task's own TF. */
static bool on_debug(struct trap_frame *frame, void *arg)
{
    struct schedule *s = arg;
    struct task *task = schedule_turn(s)->current;

    if (!ours(s, frame))
        return false;
    if (s->debugged)
        s->debugged(s->context);
    dr6_write(dr6_read() & ~DR6_BS);
    task->steps++;
    task->frame = *frame; /* for who is told */
    task_tell(task, TASK_STEPPED, frame->rip);
    *frame = task->frame;
    frame->rflags &= ~RFLAGS_TF;
    if (task_step(task) != STEP_NONE)
        frame->rflags |= RFLAGS_TF;
    return task->state == TASK_READY || switch_away(s, frame);
}

static bool clone(struct schedule *s, struct task *parent, struct trap_frame *frame)
{
    struct task *child = task_clone(s, parent, frame);

    frame->rax = child ? child->id : UINT64_MAX;
    if (child)
        task_tell(parent, TASK_CLONED, child->id);
    return true;
}

static bool kill(struct schedule *s, struct trap_frame *frame)
{
    struct task *victim = task_find(s, (uint32_t)frame->rdi);

    if (victim && victim->cpu != cpu_index())
        victim = NULL;
    frame->rax = victim ? 0 : UINT64_MAX;
    if (victim)
        task_end(s, victim, TASK_KILLED, 0);
    return schedule_turn(s)->current || switch_away(s, frame);
}

static bool wait(struct schedule *s, struct task *task, struct trap_frame *frame)
{
    frame->rax = task->events;
    task->events = 0;
    if (frame->rax)
        return true;
    task->state = TASK_WAITING;
    return switch_away(s, frame);
}

static bool move(struct schedule *s, struct task *task, struct trap_frame *frame)
{
    bool moves = frame->rdi < TASK_CPUS && task_move(s, task, (unsigned)frame->rdi);

    frame->rax = moves ? 0 : UINT64_MAX;
    return task->next_cpu == task->cpu || switch_away(s, frame);
}

static bool on_service(struct trap_frame *frame, void *arg)
{
    struct schedule *s = arg;
    struct task *task = schedule_turn(s)->current;

    if (!ours(s, frame))
        return false;
    switch (frame->rax) {
    case SERVICE_EXIT:
        task_end(s, task, TASK_EXITED, frame->rdi);
        return switch_away(s, frame);
    case SERVICE_TASK_SELF:
        frame->rax = task->id;
        return true;
    case SERVICE_TASK_CLONE:
        return clone(s, task, frame);
    case SERVICE_TASK_YIELD:
        frame->rax = 0;
        return switch_away(s, frame);
    case SERVICE_TASK_KILL:
        return kill(s, frame);
    case SERVICE_TASK_WAIT:
        return wait(s, task, frame);
    case SERVICE_TASK_MOVE:
        return move(s, task, frame);
    default:
        if (!s->service || !s->service(s->context, task, frame))
            frame->rax = UINT64_MAX;
        /* It may have stopped, or ended, whoever called. */
        return (schedule_turn(s)->current && task->state == TASK_READY) ||
               switch_away(s, frame);
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
    s->processors = 1;
    for (unsigned i = 0; i < TASK_VECTORS; i++)
        s->outer[i] = trap_set(handlers[i].vector, handlers[i].handler, s);
}

void schedule_close(struct schedule *s)
{
    for (unsigned i = 0; i < TASKS_MOST; i++)
        task_end(s, &s->tasks[i], TASK_KILLED, 0);
    for (unsigned i = 0; i < TASK_VECTORS; i++)
        trap_set(handlers[i].vector, s->outer[i].handler, s->outer[i].arg);
    apic_timer_stop();
}

void schedule_run(struct schedule *s, uint64_t most_switches)
{
    struct task *first = next_ready(s, NULL);
    struct turn *turn = schedule_turn(s);
    struct trap_frame frame;
    struct fpu_image outer;

    if (!first)
        return;
    fpu_save(&outer);
    turn->outer_cr3 = paging_current();
    turn->switches = 0;
    turn->most_switches = most_switches;
    arrive(s, NULL, first);
    frame = first->frame;
    user_run(&frame);
    apic_timer_oneshot(0);
    fpu_load(&outer);
}
