/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tasks inside a check, with ds/ told of every switch: the scheduler of guest/ and the sessions
 * meet here. Whatever a check opens is closed when it ends.
 */
#ifndef HARNESS_TASKS_H
#define HARNESS_TASKS_H

#include "guest/task.h"
#include "harness/sessions.h"

#define TASKS_SLICE_US 2000u     /* at first; long enough for any machine to get somewhere */
#define TASKS_LONG_US  20000000u /* nobody is preempted; a hang ends nevertheless */

struct tasks {
    struct sessions *sessions;
    struct schedule schedule;
    struct ds_task ds[TASKS_MOST];      /* by the task's slot */
    struct ds_owner owner[TASKS_MOST];  /* a task that traces others */
    struct task_watch keep[TASKS_MOST]; /* frees what a task held or was traced by */
    unsigned stale;                     /* switches after which BTF was not what was wished */
    unsigned stuck;                     /* sessions that a death did not release */
    unsigned others;                    /* processors beside this one that run tasks, too */
    uint64_t enough;                    /* time-stamp counter when they stop at the latest */
    volatile bool stop;
    void (*over)(struct tasks *t, struct task *task); /* before that; may be NULL */
    void *context;
};

struct tasks *tasks_open(struct run *run, uint32_t lvt);

/*
 * Every other processor runs the tasks that are its own, beside the check, until
 * tasks_alone: the number of all processors. One such stretch in a check.
 */
unsigned tasks_company(struct tasks *t);
void tasks_alone(struct tasks *t);
/* Hands a task that nobody runs to another processor. */
void tasks_send(struct tasks *t, struct task *task, unsigned processor);
/* Runs this processor's tasks until all tasks have ended or wait; false when that takes long.
 */
bool tasks_settle(struct tasks *t);

/* Ticks of this processor's APIC timer, measured once against the time-stamp counter. */
uint32_t tasks_ticks(uint32_t microseconds);

/* A task running that workload; ends the check as an error when there is no room. */
struct task *tasks_add(struct tasks *t, const char *workload, uint64_t argument);

/* A circular session of debugger on the task, marks on, ring 3 alone; more to be set. */
struct session_request tasks_request(struct tasks *t, struct task *task, size_t records);

/* What the records of a task's ring are; by address, since each task has a region of its own.
 */
struct tasks_ring {
    struct task *task;
    uint64_t own, foreign, marks, wrong_marks;
};
void tasks_look(struct tasks_ring *ring, const struct bts_record *got, size_t count);
session_overflow tasks_look_at; /* context: the ring */

/* One entry of task.script's table, from first to its end. */
struct script {
    uint64_t call, rdi, rsi, rdx, r10, result, other;
};
#define SCRIPT_LOOP   0x1000u
#define SCRIPT_OFFSET 0x40u
/* Adds a task that works the table off. An entry's other is, when 0, the next one. */
struct task *tasks_script(struct tasks *t, const struct script *script, size_t entries);
/* The entry as it stands in the task's memory; while the task lives. */
struct script *tasks_entry(struct task *task, size_t entry);

#endif
