/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Follows calls and returns. Every search on a stack is preceded by a look into the maps of
 * what is on it, and every frame that a search passes is popped: the cost stays linear.
 */
#include "harness/wtr/core/calls.h"

#include <stdlib.h>

void calls_open(struct calls *calls, struct space *space, uint32_t depth_limit)
{
    *calls = (struct calls){.space = space, .depth_limit = depth_limit};
}

void calls_close(struct calls *calls)
{
    for (size_t i = 0; i < calls->stacks.count; i++) {
        free(calls->stacks.items[i].frames.items);
        map_free(&calls->stacks.items[i].backs);
        map_free(&calls->stacks.items[i].functions);
    }
    free(calls->stacks.items);
    free(calls->nodes.items);
    map_free(&calls->node_by_key);
}

static uint32_t node_at(struct calls *calls, uint32_t parent, uint32_t function)
{
    uint32_t *index = map_at(&calls->node_by_key, (uint64_t)parent << 32 | function);
    struct node *node;

    if (*index != MAP_NEW)
        return *index;
    *index = (uint32_t)calls->nodes.count;
    node = PUSH(&calls->nodes);
    node->parent = parent;
    node->function = function;
    node->depth = parent == NO_NODE ? 0 : calls->nodes.items[parent].depth + 1;
    return *index;
}

static uint32_t child_of(struct calls *calls, uint32_t parent, uint32_t function)
{
    if (calls->nodes.items[parent].depth >= calls->depth_limit)
        return parent;
    return node_at(calls, parent, function);
}

static void count_on(struct map *map, uint64_t key, int change)
{
    uint32_t *value = map_at(map, key);

    *value = (*value == MAP_NEW ? 0 : *value) + (uint32_t)change;
}

static bool has(const struct map *map, uint64_t key)
{
    uint32_t value = map_find(map, key);

    return value != MAP_NEW && value > 0;
}

static struct frame *top(const struct stack *stack)
{
    return stack->frames.count ? &stack->frames.items[stack->frames.count - 1] : NULL;
}

static void push(struct calls *calls, struct stack *stack, uint32_t task, struct frame frame)
{
    uint32_t parent = stack->frames.count
                          ? top(stack)->node
                          : node_at(calls, NO_NODE, calls->space->tasks.items[task].function);

    frame.node = child_of(calls, parent, frame.function);
    calls->nodes.items[frame.node].calls++;
    if (frame.back)
        count_on(&stack->backs, frame.back, 1);
    count_on(&stack->functions, frame.function, 1);
    *PUSH(&stack->frames) = frame;
}

static struct frame pop(struct stack *stack)
{
    struct frame frame = stack->frames.items[--stack->frames.count];

    if (frame.back)
        count_on(&stack->backs, frame.back, -1);
    count_on(&stack->functions, frame.function, -1);
    return frame;
}

/* Something is on the stack that runs in this function: leave what is above. */
static void unwind_to_function(struct calls *calls, struct stack *stack, uint32_t function)
{
    while (top(stack)->function != function)
        calls->unwound += pop(stack).kind == FRAME_CALL;
}

static void unwind_all(struct calls *calls, struct stack *stack)
{
    while (stack->frames.count)
        calls->unwound += pop(stack).kind == FRAME_CALL;
}

/* It is found running there, and nothing says how it came. */
static void land(struct calls *calls, struct stack *stack, uint32_t task,
                 const struct place *place)
{
    if (has(&stack->functions, place->function)) {
        unwind_to_function(calls, stack, place->function);
        return;
    }
    unwind_all(calls, stack);
    push(calls, stack, task, (struct frame){.function = place->function, .kind = FRAME_ROOT});
}

/* The one below stays: what a tail call leaves for another one leaves its frame to it. */
static void tail_call(struct calls *calls, struct stack *stack, uint32_t task,
                      uint32_t function)
{
    if (top(stack)->kind == FRAME_TAIL)
        pop(stack);
    push(calls, stack, task, (struct frame){.function = function, .kind = FRAME_TAIL});
}

static void follow_jump(struct calls *calls, struct stack *stack, uint32_t task,
                        const struct place *to)
{
    const struct function *function = &calls->space->functions.items[to->function];
    size_t count = stack->frames.count;

    if (to->function == top(stack)->function || !function->typed)
        return;
    if (to->entry)
        tail_call(calls, stack, task, to->function);
    else if (count > 1 && top(stack)->kind == FRAME_TAIL &&
             stack->frames.items[count - 2].function == to->function)
        pop(stack);
    else if (has(&stack->functions, to->function))
        unwind_to_function(calls, stack, to->function);
    else
        tail_call(calls, stack, task, to->function);
}

static bool follow_back(struct calls *calls, struct stack *stack, uint64_t address)
{
    struct frame frame;

    if (!has(&stack->backs, address))
        return false;
    while ((frame = pop(stack)).back != address)
        calls->unwound += frame.kind == FRAME_CALL;
    return true;
}

static void follow_return(struct calls *calls, struct stack *stack, uint32_t task,
                          const struct place *to)
{
    if (follow_back(calls, stack, to->address))
        return;
    if (to->entry && to->function != top(stack)->function) {
        /* A return that is used as a jump. */
        follow_jump(calls, stack, task, to);
        return;
    }
    calls->unmatched++;
    land(calls, stack, task, to);
}

/* Out of a handler, possibly to another place than it came from. */
static void leave_kernel(struct calls *calls, struct stack *stack, uint32_t task,
                         const struct place *to)
{
    if (follow_back(calls, stack, to->address))
        return;
    if (has(&stack->functions, to->function))
        unwind_to_function(calls, stack, to->function);
    else if (top(stack)->kind == FRAME_KERNEL) {
        pop(stack);
        push(calls, stack, task, (struct frame){.function = to->function, .kind = FRAME_TAIL});
    } else if (to->function != FUNCTION_UNKNOWN)
        land(calls, stack, task, to);
}

static void enter_kernel(struct calls *calls, struct stack *stack, const struct step *step,
                         const struct place *from, const struct place *to)
{
    uint64_t next = from->address + from->length;
    struct frame frame = {.back = step->event ? from->address : next,
                          .function = to->function,
                          .image = from->image,
                          .kind = FRAME_KERNEL};

    if (!step->event && (to->address == next || follow_back(calls, stack, to->address)))
        return;
    if (!step->event && !to->entry && to->image == from->image &&
        has(&stack->functions, to->function)) {
        /* The end of a signal handler, recorded without the kernel between. */
        unwind_to_function(calls, stack, to->function);
        return;
    }
    if (frame.function == FUNCTION_UNKNOWN)
        frame.function = FUNCTION_KERNEL;
    push(calls, stack, step->task, frame);
}

static void follow(struct calls *calls, struct stack *stack, const struct step *step)
{
    const struct place *from = &calls->space->places.items[step->from];
    const struct place *to = &calls->space->places.items[step->to];

    if (step->event) {
        enter_kernel(calls, stack, step, from, to);
        return;
    }
    switch (from->branch) {
    case BRANCH_CALL:
    case BRANCH_CALL_INDIRECT:
    case BRANCH_FAR_CALL:
        push(calls, stack, step->task,
             (struct frame){.back = from->address + from->length,
                            .function = to->function,
                            .kind = FRAME_CALL});
        break;
    case BRANCH_RET:
    case BRANCH_FAR_RET:
        follow_return(calls, stack, step->task, to);
        break;
    case BRANCH_SYSCALL:
    case BRANCH_SYSENTER:
    case BRANCH_INT:
    case BRANCH_INT3:
    case BRANCH_INT1:
        enter_kernel(calls, stack, step, from, to);
        break;
    case BRANCH_JCC:
    case BRANCH_LOOP:
    case BRANCH_JMP:
    case BRANCH_JMP_INDIRECT:
    case BRANCH_FAR_JMP:
        follow_jump(calls, stack, step->task, to);
        break;
    default: /* IRET, SYSRET, SYSEXIT, and code that no file shows */
        leave_kernel(calls, stack, step->task, to);
        break;
    }
}

/* A kernel frame whose return was not recorded, or a gap: see where it runs now. */
static void catch_up(struct calls *calls, struct stack *stack, const struct step *step)
{
    const struct place *from = &calls->space->places.items[step->from];
    const struct place *begin =
        step->begin == NO_PLACE ? NULL : &calls->space->places.items[step->begin];

    if (!stack->frames.count) {
        push(calls, stack, step->task,
             (struct frame){.function = begin && step->run == RUN_GOOD ? begin->function
                                                                       : from->function,
                            .kind = FRAME_ROOT});
        return;
    }
    if (top(stack)->kind == FRAME_KERNEL && from->image == top(stack)->image && begin &&
        begin->image != from->image)
        pop(stack);
    if ((step->run == RUN_NONE || step->run == RUN_BROKEN) &&
        from->function != top(stack)->function && from->function != FUNCTION_UNKNOWN)
        land(calls, stack, step->task, from);
}

static struct stack *stack_of(struct calls *calls, uint32_t task)
{
    while (calls->stacks.count <= task)
        PUSH(&calls->stacks);
    return &calls->stacks.items[task];
}

const struct stack *calls_stack(struct calls *calls, uint32_t task)
{
    return stack_of(calls, task);
}

uint32_t calls_step(struct calls *calls, const struct step *step)
{
    struct stack *stack = stack_of(calls, step->task);
    uint32_t node;

    catch_up(calls, stack, step);
    node = top(stack)->node;
    calls->nodes.items[node].branches += !step->moved;
    calls->nodes.items[node].instructions += step->instructions;
    follow(calls, stack, step);
    return node;
}

void calls_last(struct calls *calls, const struct step *step)
{
    struct stack *stack = stack_of(calls, step->task);

    if (stack->frames.count && step->run == RUN_GOOD)
        calls->nodes.items[top(stack)->node].instructions += step->instructions;
}

struct order {
    uint64_t branches;
    uint32_t node;
};

static int by_branches(const void *left, const void *right)
{
    const struct order *a = left, *b = right;

    if (a->branches != b->branches)
        return a->branches < b->branches ? -1 : 1;
    return a->node < b->node ? 1 : a->node > b->node ? -1 : 0;
}

void calls_sum(struct calls *calls)
{
    size_t count = calls->nodes.count;
    struct node *nodes = calls->nodes.items;
    struct order *orders = allocate(count, sizeof *orders);

    for (size_t i = 0; i < count; i++) {
        nodes[i].all_branches = nodes[i].branches;
        nodes[i].all_instructions = nodes[i].instructions;
        nodes[i].first_child = nodes[i].next_sibling = NO_NODE;
    }
    for (size_t i = count; i-- > 0;) {
        if (nodes[i].parent == NO_NODE)
            continue;
        nodes[nodes[i].parent].all_branches += nodes[i].all_branches;
        nodes[nodes[i].parent].all_instructions += nodes[i].all_instructions;
    }
    for (size_t i = 0; i < count; i++)
        orders[i] = (struct order){.branches = nodes[i].all_branches, .node = (uint32_t)i};
    qsort(orders, count, sizeof *orders, by_branches);
    /* The busiest comes last and so ends up first in its parent's list. */
    for (size_t i = 0; i < count; i++) {
        struct node *node = &nodes[orders[i].node];

        if (node->parent == NO_NODE)
            continue;
        node->next_sibling = nodes[node->parent].first_child;
        nodes[node->parent].first_child = orders[i].node;
    }
    free(orders);
}
