/* SPDX-License-Identifier: BSD-2-Clause */
/* Between a task's system call and the interface; and what a death ends. */
#include "harness/tracer.h"

#include "hw/string.h"

static struct tracer tracer;

static bool may_write(void *context, uint64_t address, size_t bytes)
{
    return task_may(context, address, bytes, true);
}

static bool copy_in(void *context, void *to, uint64_t address, size_t bytes)
{
    return task_copy_in(context, to, address, bytes);
}

static bool copy_out(void *context, uint64_t address, const void *from, size_t bytes)
{
    return task_copy_out(context, address, from, bytes);
}

static void raise(void *context, unsigned signal)
{
    task_signal(context, 1ull << signal);
}

/* Whoever waits gets the answer and goes on; the step's watch is gone. */
static void answer(struct tracer *t, struct task *target, int64_t value)
{
    struct task *stepper = t->stepper[target->slot];

    if (!stepper)
        return;
    t->stepper[target->slot] = NULL;
    task_unwatch(target, &t->step[target->slot]);
    stepper->frame.rax = (uint64_t)value;
    task_continue(stepper);
}

static void stepped(struct task_watch *watch, struct task *task, enum task_event event,
                    uint64_t value)
{
    if (event != TASK_STEPPED)
        return;
    task->state = TASK_STOPPED;
    answer(watch->context, task, (int64_t)value);
}

static int64_t single_block(struct tracer *t, struct task *caller, struct task *target)
{
    struct task_watch *watch = &t->step[target->slot];

    if (t->stepper[target->slot])
        return -(int64_t)DS_EBUSY;
    *watch = (struct task_watch){.tell = stepped, .context = t, .step = STEP_BLOCK};
    task_watch(target, watch);
    t->stepper[target->slot] = caller;
    task_continue(target);
    caller->state = TASK_STOPPED; /* until answer */
    return 0;
}

static int64_t serve(struct tracer *t, struct task *caller, const struct trap_frame *frame)
{
    struct task *target = task_find(&t->tasks->schedule, (uint32_t)frame->rsi);
    struct interface_call call;

    if (!target)
        return -(int64_t)DS_ESRCH;
    if (target == caller)
        return -(int64_t)DS_EPERM;
    if (frame->rdi == INTERFACE_SINGLEBLOCK)
        return single_block(t, caller, target);
    if (frame->rdi == TRACER_CONTINUE) {
        task_continue(target);
        return 0;
    }
    call = (struct interface_call){
        .trace = &t->trace[target->slot],
        .pool = &t->tasks->sessions->pool,
        .tracer = &t->tasks->owner[caller->slot],
        .target = &t->tasks->ds[target->slot],
        .low = target->base,
        .high = target->high,
        .tables = &target->space.cr3,
        .command = frame->rdi > UINT32_MAX ? 0 : (enum interface_command)frame->rdi,
        .address = frame->rdx,
        .data = frame->r10,
        .signal = raise,
        .context = caller,
        .may_write = may_write,
        .copy_in = copy_in,
        .copy_out = copy_out,
    };
    return interface_call(&call);
}

static bool service(void *context, struct task *caller, struct trap_frame *frame)
{
    struct tracer *t = ((struct tasks *)context)->context;

    if (frame->rax != SERVICE_TRACE)
        return false;
    frame->rax = (uint64_t)serve(t, caller, frame);
    return true;
}

/* Target or tracer: the trace ends with either; who was stopped by the dead one goes on. */
static void over(struct tasks *tasks, struct task *task)
{
    struct tracer *t = tasks->context;

    answer(t, task, -(int64_t)DS_ESRCH);
    interface_release(&t->trace[task->slot], &tasks->sessions->pool);
    for (unsigned i = 0; i < TASKS_MOST; i++) {
        if (t->trace[i].tracer == &tasks->owner[task->slot])
            interface_release(&t->trace[i], &tasks->sessions->pool);
        if (t->stepper[i] != task)
            continue;
        t->stepper[i] = NULL;
        task_unwatch(&tasks->schedule.tasks[i], &t->step[i]);
        task_continue(&tasks->schedule.tasks[i]);
    }
}

struct tracer *tracer_open(struct run *run, uint32_t lvt)
{
    struct tracer *t = &tracer;

    memset(t, 0, sizeof(*t));
    t->tasks = tasks_open(run, lvt);
    t->tasks->over = over;
    t->tasks->context = t;
    t->tasks->schedule.service = service;
    return t;
}
