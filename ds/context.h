/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who owns which half of which Debug Store area. A context is one area; it belongs to a
 * processor or to a task, has one owner for each half, and lives as long as a half is owned.
 * Processor and task contexts exclude each other on one processor, not on the machine.
 *
 * One processor at a time works on a context: the one that has it loaded, or that reads it, or
 * gives it up. The others wait for a bounded time, and no longer.
 */
#ifndef DS_CONTEXT_H
#define DS_CONTEXT_H

#include "ds/error.h"
#include "ds/layout.h"
#include "ds/pool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ds_half { DS_HALF_BTS, DS_HALF_PEBS, DS_HALVES };

/* An identity: a debugger, a profiler, a task that traces another. */
struct ds_owner {
    uint64_t id;
    const char *name;
    struct pool_payer *payer; /* pays for areas and buffers */
};

struct ds_context;

/* The part of a task that this layer needs; all zero in a new one, and in a clone. */
struct ds_task {
    struct ds_context *context;
    unsigned cpu;  /* processor that it runs on, or ran on last */
    uint32_t id;   /* in marks */
    bool ran;      /* cpu says where */
    bool missed;   /* ran untraced, though it has a context: its ring lacks what it did */
    uint16_t mode; /* in which it goes on, as the detail of RECORD_MODE; 0 = not known */
};

struct ds_context {
    struct ds_area *area; /* NULL: this table entry is free */
    struct ds_task *task; /* NULL: of the processor cpu */
    unsigned cpu;
    const struct ds_owner *owner[DS_HALVES];
    void *user[DS_HALVES]; /* what the owner attached */
    volatile bool loaded;  /* on processor loaded_cpu, DS_AREA points here */
    unsigned loaded_cpu;
    volatile uint32_t holder; /* processor + 1 that works on it; 0 = nobody */
    bool gone;                /* its processor was handed back: never loaded again */
};

#define DS_CONTEXTS_MOST 128u

/* How often a context is asked for before the asker gives up. */
#define CONTEXT_TRIES 1000000u

/* Forgets every context. The pool must be empty. */
void context_init(struct pool *pool);

/* True when task (or this processor, for NULL) may have a context beside those that exist. */
bool context_allowed(const struct ds_task *task);

/*
 * Claims a half; the area is made for the first claim and charged to owner. DS_EPERM a task
 * context meets a processor context; DS_ENOMEM no entry or no page; DS_EBUSY the half is owned,
 * or the processor was handed back with the other half owned; *holder says by whom. On failure
 * *context is untouched. A context made here is held by this processor until context_settle.
 */
enum ds_error context_claim(struct ds_task *task, enum ds_half half,
                            const struct ds_owner *owner, struct ds_context **context,
                            const struct ds_owner **holder);

/*
 * This processor works on the context from here on; *taken says that it did not before, and has
 * to drop it. False: another one has it loaded, or did not finish within CONTEXT_TRIES.
 */
bool context_hold(struct ds_context *context, bool *taken);
void context_drop(struct ds_context *context);
/* Drops it unless it is loaded here. */
void context_settle(struct ds_context *context);

/*
 * The context that traces while task (NULL: nobody) runs here, held: the processor's own, else
 * the task's. NULL when there is none, or it is not to be had.
 */
struct ds_context *context_take(const struct ds_task *task, bool *taken);

/*
 * Gives a half up. The last one frees the area; DS_AREA is 0 first, where it pointed there.
 * DS_EPERM it is loaded on another processor; DS_EBUSY another one works on it.
 */
enum ds_error context_release(struct ds_context *context, enum ds_half half);

/* The processor's own context, or its current task's; NULL when neither exists. */
struct ds_context *context_here(void);

/* Makes task the current one of this processor; DS_AREA is not touched. NULL = none. */
void context_set_task(struct ds_task *task);

/* DS_AREA := the context's area, or 0 for NULL. The trace is off. DS_EBUSY it is another's. */
enum ds_error context_load(struct ds_context *context);
/* The same; the one that was loaded is held still, for the caller to drop: *before. */
enum ds_error context_swap(struct ds_context *context, struct ds_context **before);
/*
 * This processor is handed back: nothing is loaded or runs on it. Its own context stays where
 * it can be read, until its owners give it up.
 */
void context_leave(void);
/* What is loaded here, NULL for nothing. */
struct ds_context *context_loaded(void);

#endif
