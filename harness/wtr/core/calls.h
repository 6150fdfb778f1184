/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Call stacks and the call tree, recovered from the branches alone: a call puts its return
 * address on the stack of its task, a return takes it off. Code that leaves by other ways
 * (tail calls, longjmp, exceptions, a trace that starts in the middle or has gaps) is brought
 * back in step by the addresses that are on the stack.
 */
#ifndef HARNESS_WTR_CORE_CALLS_H
#define HARNESS_WTR_CORE_CALLS_H

#include "harness/wtr/core/flow.h"

#define NO_NODE       0xFFFFFFFFu
#define DEPTH_DEFAULT 128
#define DEPTH_LIMIT   1024 /* the largest depth_limit */

/* A function in the place where it was called. */
struct node {
    uint32_t parent; /* NO_NODE: stands for a task */
    uint32_t function;
    uint32_t depth;
    uint64_t calls;
    uint64_t branches, instructions;         /* its own, without those it called */
    uint64_t all_branches, all_instructions; /* with them; see calls_sum */
    uint32_t first_child, next_sibling;      /* see calls_sum; NO_NODE ends */
};

enum frame_kind {
    FRAME_ROOT, /* found running */
    FRAME_CALL,
    FRAME_TAIL,  /* jumped to; leaves with the frame below */
    FRAME_KERNEL /* system call, exception, interrupt */
};

struct frame {
    uint64_t back; /* return address; 0 in ROOT and TAIL */
    uint32_t function, node;
    uint32_t image; /* KERNEL: where it came from */
    enum frame_kind kind;
};

struct stack {
    VECTOR(struct frame) frames;
    struct map backs, functions; /* how often each is on the stack */
};

struct calls {
    struct space *space;
    uint32_t depth_limit;        /* nodes below that are one with their parent */
    VECTOR(struct stack) stacks; /* by task index */
    VECTOR(struct node) nodes;   /* a parent comes before its children */
    struct map node_by_key;
    uint64_t unwound;   /* frames left without a return of their own */
    uint64_t unmatched; /* returns to nobody on the stack */
};

void calls_open(struct calls *calls, struct space *space, uint32_t depth_limit);
void calls_close(struct calls *calls);

/*
 * Brings the stack up to the step's branch instruction, counts the run there, then follows the
 * branch. Returns the node that the run and the branch belong to.
 */
uint32_t calls_step(struct calls *calls, const struct step *step);

/* What ran after the last branch. */
void calls_last(struct calls *calls, const struct step *step);

/* The stack of a task, innermost last. */
const struct stack *calls_stack(struct calls *calls, uint32_t task);

/* Once after the last step: sums, and children from the busiest to the least busy. */
void calls_sum(struct calls *calls);

#endif
