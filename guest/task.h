/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tasks: workloads in ring 3, each in an address space of its own with x87 and SSE state,
 * switched in turn by the local APIC's timer. Nothing here knows about tracing: who watches a
 * task subscribes to its events, and one hook is called at each switch.
 *
 * A task belongs to one processor, which alone runs and changes it; others may look. It can be
 * handed on, by itself or while nobody runs it.
 */
#ifndef GUEST_TASK_H
#define GUEST_TASK_H

#include "guest/workload.h"
#include "hw/cpu.h"
#include "hw/fpu.h"
#include "hw/paging.h"
#include "hw/trap.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TASKS_MOST        8
#define TASK_PAGES        3 /* one of data, two of stack */
#define TASK_VECTORS      16
#define TASK_REGION_BYTES (1ull << 24) /* apart, so that an address tells whose it is */

enum task_state {
    TASK_FREE,
    TASK_MADE, /* by some processor, not ready yet */
    TASK_READY,
    TASK_STOPPED, /* by a step, until task_continue */
    TASK_WAITING, /* for an event */
    TASK_ENDING,  /* those who watch are being told */
    TASK_ENDED
};
enum task_end { TASK_EXITED = 1, TASK_KILLED, TASK_FAULTED };

/* Services, number in rax, by SYSCALL; beside SERVICE_EXIT. Others go to the hook. */
#define SERVICE_TASK_SELF  0x20 /* rax = its number */
#define SERVICE_TASK_CLONE 0x21 /* rax = the child's number, 0 in the child, -1 refused */
#define SERVICE_TASK_YIELD 0x22
#define SERVICE_TASK_KILL  0x23 /* rdi = number; rax = 0, -1 there is none */
#define SERVICE_TASK_WAIT  0x24 /* rax = events, a bit each, once there are any */
#define SERVICE_TASK_MOVE  0x25 /* rdi = processor that runs it on; rax = 0, -1 it does not */

/* The step wishes of all who watch a task merge: the finer one is in force. */
enum task_step { STEP_NONE, STEP_BLOCK, STEP_SINGLE };

enum task_event {
    TASK_CLONED, /* value: the child's number; it inherits no watch */
    TASK_STEPPED,
    TASK_DETACHED, /* another watch has left */
    TASK_OVER      /* value: enum task_end; the task is not running any more */
};

struct task;
/* One subscriber of one task; the memory is the subscriber's. */
struct task_watch {
    void (*tell)(struct task_watch *watch, struct task *task, enum task_event event,
                 uint64_t value);
    void *context;
    enum task_step step;
    struct task_watch *next; /* kept by the list */
};

struct task {
    uint32_t id; /* 1, 2, ...; never comes back */
    unsigned slot;
    unsigned cpu, next_cpu; /* differ while it is being handed on */
    enum task_state state;
    enum task_end end;
    uint64_t code; /* of its exit; the faulting RIP of TASK_FAULTED */
    struct trap_frame frame;
    struct fpu_image fpu;
    struct address_space space;
    uint8_t *pages[TASK_PAGES];
    uint64_t base, data, high; /* its code, its data page, the end of its region */
    uint64_t slices, steps;
    uint64_t events; /* not yet waited for */
    struct task_watch *watches;
    struct task_telling *telling; /* kept by guest/task.c */
};

/* One processor's part. */
#define TASK_CPUS 64 /* processors that can run tasks */

struct turn {
    struct task *current;
    uint64_t switches, most_switches; /* of the last schedule_run */
    unsigned empty;                   /* slices in a row in which nothing was done */
    uint64_t outer_cr3;
};

struct schedule {
    struct task tasks[TASKS_MOST];
    struct turn turn[TASK_CPUS];
    uint32_t created;
    uint32_t slice_ticks;
    uint64_t processors; /* a bit for each that runs tasks; the first alone to begin with */
    struct trap_slot outer[TASK_VECTORS];
    /* Of the caller. IF is 0 in all of them. */
    void (*switched)(void *context, struct task *from, struct task *to); /* either NULL */
    void (*debugged)(void *context);                                     /* #DB was taken */
    void (*faulted)(void *context, struct task *task, const struct trap_frame *frame);
    bool (*service)(void *context, struct task *caller, struct trap_frame *frame);
    void *context;
};

/* slice_ticks of the APIC timer. The caller's fields are the caller's. */
void schedule_open(struct schedule *s, uint32_t slice_ticks);
/* Ends every task that is left, each with its TASK_OVER. */
void schedule_close(struct schedule *s);

/*
 * NULL: no entry, or the page pool is empty. It runs from the next schedule_run of this
 * processor on.
 */
struct task *task_create(struct schedule *s, const struct workload *workload,
                         uint64_t argument);
/* The task of that number that has not ended, or NULL. */
struct task *task_find(struct schedule *s, uint32_t id);

/*
 * Runs this processor's tasks until none is ready, or so many switches were made. Leaves
 * untraced code only when the hook has seen the last task depart.
 */
void schedule_run(struct schedule *s, uint64_t most_switches);

/*
 * Hands a task of this processor on: at once, or when the one that runs has departed, whole.
 * False, and nothing done: that processor is not one of s->processors.
 */
bool task_move(struct schedule *s, struct task *task, unsigned cpu);

/*
 * Ends a task of this processor, or one that nobody runs; its memory goes back, its watches are
 * told first.
 */
void task_end(struct schedule *s, struct task *task, enum task_end end, uint64_t code);
void task_continue(struct task *task);
/* Adds bits to what it waits for, and wakes it. */
void task_signal(struct task *task, uint64_t events);

/* Anybody may leave at any time, also while somebody is told; who has left is told nothing. */
void task_watch(struct task *task, struct task_watch *watch);
void task_unwatch(struct task *task, struct task_watch *watch);
enum task_step task_step(const struct task *task);

/*
 * Whether the task may read (write) that range; copying follows it. False, with nothing copied,
 * when a byte is not mapped for ring 3, is read-only, or the range wraps.
 */
bool task_may(const struct task *task, uint64_t linear, size_t bytes, bool write);
bool task_copy_in(const struct task *task, void *to, uint64_t linear, size_t bytes);
bool task_copy_out(const struct task *task, uint64_t linear, const void *from, size_t bytes);

#endif
