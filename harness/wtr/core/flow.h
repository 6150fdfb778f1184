/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From branches to what ran: between the target of one branch and the next branch a task runs
 * straight on. Each branch becomes a step that knows the run before it.
 */
#ifndef HARNESS_WTR_CORE_FLOW_H
#define HARNESS_WTR_CORE_FLOW_H

#include "harness/wtr/core/space.h"

#define NO_PLACE 0xFFFFFFFFu

enum run {
    RUN_NONE,    /* nothing is known about what ran before */
    RUN_UNKNOWN, /* one end lies in code that no file shows */
    RUN_GOOD,    /* from begin to from, in a straight line */
    RUN_BROKEN   /* no straight line leads there: branches are missing */
};

struct step {
    const struct branch *branch; /* NULL in the last step of a task */
    uint32_t task;               /* index */
    uint32_t begin;              /* place; NO_PLACE with RUN_NONE */
    uint32_t from;               /* place; NO_PLACE in a last step whose end is not known */
    uint32_t to;                 /* place; NO_PLACE in a last step */
    enum run run;
    bool moved;            /* no branch: the kernel entered or left a handler of a signal */
    bool event;            /* from is where an exception or interrupt came, not a branch */
    uint64_t instructions; /* that ran, as far as known */
};

struct flow {
    void (*step)(void *context, const struct step *step);
    void (*last)(void *context, const struct step *step);    /* or NULL */
    void (*event)(void *context, const struct event *event); /* or NULL */
};

/* Walks the trace; only_task 0 is all tasks. */
void flow_walk(struct space *space, const struct flow *flow, uint32_t only_task, void *context);

/* Is from where something else than its instruction led away? */
bool flow_is_event(const struct place *from, uint64_t to);

#endif
