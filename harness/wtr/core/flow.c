/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Joins branches to straight runs, task by task.
 */
#include "harness/wtr/core/flow.h"

#include <stdlib.h>

struct walk {
    struct space *space;
    const struct flow *flow;
    uint32_t only_task;
    void *context;
    uint64_t gaps; /* so far that concern every task */
    VECTOR(struct lane) lanes;
};

/* One task. */
struct lane {
    uint32_t at;   /* place where it runs on, NO_PLACE after a gap */
    uint64_t gaps; /* as the walk counted them then */
};

static struct lane *lane_of(struct walk *walk, uint32_t task)
{
    while (walk->lanes.count <= task) {
        const struct task *about = &walk->space->tasks.items[walk->lanes.count];
        struct lane *lane = PUSH(&walk->lanes);

        lane->at = about->start == WTR_UNKNOWN
                       ? NO_PLACE
                       : space_place(walk->space, about->process, about->start);
        lane->gaps = 0;
    }
    if (walk->lanes.items[task].gaps != walk->gaps)
        walk->lanes.items[task] = (struct lane){.at = NO_PLACE, .gaps = walk->gaps};
    return &walk->lanes.items[task];
}

bool flow_is_event(const struct place *from, uint64_t to)
{
    return from->code && (from->branch == BRANCH_NONE || (from->direct && from->target != to));
}

static enum run judge_run(const struct space *space, const struct place *begin,
                          const struct place *from)
{
    const struct segment *segment;
    uint64_t bias;

    if (!begin->code || !from->code)
        return RUN_UNKNOWN;
    if (begin->image != from->image || begin->segment != from->segment ||
        begin->address > from->address)
        return RUN_BROKEN;
    segment = place_segment(space, begin);
    bias = space->images.items[begin->image].bias;
    if (!segment_starts(segment, begin->address - bias) ||
        !segment_starts(segment, from->address - bias) ||
        !segment_flows(segment, begin->address - bias, from->address - bias))
        return RUN_BROKEN;
    return RUN_GOOD;
}

static void finish_step(const struct walk *walk, struct step *step)
{
    const struct place *places = walk->space->places.items, *from = &places[step->from];
    uint64_t bias;

    step->run =
        step->begin == NO_PLACE ? RUN_NONE : judge_run(walk->space, &places[step->begin], from);
    step->instructions = from->code && !step->event;
    if (step->run != RUN_GOOD)
        return;
    bias = walk->space->images.items[from->image].bias;
    step->instructions +=
        segment_instructions(place_segment(walk->space, from),
                             places[step->begin].address - bias, from->address - bias);
}

static void take_step(struct walk *walk, const struct branch *branch, bool moved)
{
    struct step step = {.branch = branch, .moved = moved};
    struct lane *lane;
    uint32_t process;

    if (walk->only_task && branch->task != walk->only_task)
        return;
    step.task = space_task(walk->space, branch->task);
    process = walk->space->tasks.items[step.task].process;
    lane = lane_of(walk, step.task);
    step.begin = lane->at;
    step.from = space_place(walk->space, process, branch->from);
    step.to = space_place(walk->space, process, branch->to);
    step.event = flow_is_event(&walk->space->places.items[step.from], branch->to);
    finish_step(walk, &step);
    lane->at = step.to;
    walk->flow->step(walk->context, &step);
}

static void take_branch(void *context, const struct branch *branch)
{
    take_step(context, branch, false);
}

static void last_step(struct walk *walk, uint32_t task, uint64_t rip)
{
    struct lane *lane = lane_of(walk, task);
    struct step step = {.task = task, .begin = lane->at, .from = NO_PLACE, .to = NO_PLACE};

    lane->at = NO_PLACE;
    if (step.begin == NO_PLACE || !walk->flow->last)
        return;
    if (rip != WTR_UNKNOWN) {
        step.from = space_place(walk->space, walk->space->tasks.items[task].process, rip);
        finish_step(walk, &step);
    }
    walk->flow->last(walk->context, &step);
}

static void take_event(void *context, const struct event *event)
{
    struct walk *walk = context;

    if (walk->only_task && event->task && event->task != walk->only_task)
        return;
    if (event->kind == WTR_LOST || event->kind == WTR_WRAP) {
        if (event->task)
            lane_of(walk, space_task(walk->space, event->task))->at = NO_PLACE;
        else
            walk->gaps++;
    }
    if (event->kind == WTR_EXIT)
        last_step(walk, space_task(walk->space, event->task), event->exit.rip);
    if (walk->flow->event)
        walk->flow->event(walk->context, event);
    if (event->kind == WTR_SIGNAL)
        take_step(walk,
                  &(struct branch){.from = event->signal.from,
                                   .to = event->signal.to,
                                   .index = event->index,
                                   .task = event->task,
                                   .cpu = event->cpu},
                  true);
}

void flow_walk(struct space *space, const struct flow *flow, uint32_t only_task, void *context)
{
    static const struct visitor visitor = {.branch = take_branch, .event = take_event};
    struct walk walk = {
        .space = space, .flow = flow, .only_task = only_task, .context = context};

    trace_walk(space->trace, &visitor, &walk);
    for (uint32_t task = 0; task < walk.lanes.count; task++)
        last_step(&walk, task, WTR_UNKNOWN);
    free(walk.lanes.items);
}
