/* SPDX-License-Identifier: BSD-2-Clause */
/* What guest/task.c and guest/schedule.c share. */
#ifndef GUEST_SCHEDULE_H
#define GUEST_SCHEDULE_H

#include "guest/task.h"

struct task *task_clone(struct schedule *s, const struct task *parent,
                        const struct trap_frame *frame);
void task_tell(struct task *task, enum task_event event, uint64_t value);

/* This processor's part. */
struct turn *schedule_turn(struct schedule *s);

/* The current task stops running: the hook sees it go, its CR3 is not in force any more. */
void schedule_depart(struct schedule *s);

#endif
