/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The system call by which one task traces another: ds/interface.h on guest/'s tasks, and the
 * two commands that are the scheduler's, a step to the next taken branch and going on.
 */
#ifndef HARNESS_TRACER_H
#define HARNESS_TRACER_H

#include "ds/interface.h"
#include "harness/tasks.h"

/* rdi = command, rsi = task, rdx = address, r10 = bytes or index; rax = result, < 0: an error.
 */
#define SERVICE_TRACE   0x28
#define TRACER_CONTINUE 7 /* goes on after a step */
/* INTERFACE_SINGLEBLOCK: rax = where the target stands behind its next taken branch; it stays
 * stopped. -DS_ESRCH when it ended instead. */

struct tracer {
    struct tasks *tasks;
    struct interface_trace trace[TASKS_MOST]; /* of the target in that slot */
    struct task_watch step[TASKS_MOST];       /* of it, while it is stepped */
    struct task *stepper[TASKS_MOST];         /* who waits for that */
};

/* Tasks, with that system call. */
struct tracer *tracer_open(struct run *run, uint32_t lvt);

#endif
