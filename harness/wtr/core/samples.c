/* SPDX-License-Identifier: BSD-2-Clause */
/* Takes SAMPLES records apart; they were found sound when the file was opened. */
#include "harness/wtr/core/samples.h"

#include "harness/wtr/core/records.h"

#include <string.h>

#define CALL_BYTES_MOST 7 /* of a near call with its prefixes, as compilers make them */

const char *samples_event(uint32_t event)
{
    static const char *const names[] = {"instructions", "branches"};

    return event < 2 ? names[event] : "events";
}

/* Void after the next call. */
static const struct place *place_at(struct space *space, uint32_t process, uint64_t address)
{
    uint32_t index = space_place(space, process, address);

    return &space->places.items[index];
}

/* Is the instruction before back a call of the function? An indirect one may be. */
static bool calls_function(struct space *space, uint32_t process, uint64_t back, uint64_t start)
{
    for (unsigned bytes = 2; bytes <= CALL_BYTES_MOST; bytes++) {
        const struct place *place = place_at(space, process, back - bytes);
        const struct segment *segment = place_segment(space, place);

        if (!segment || place->length != bytes ||
            !segment_starts(segment, place->address - space_image(space, place)->bias))
            continue;
        if (place->branch == BRANCH_CALL && place->direct && place->target == start)
            return true;
        if (place->branch == BRANCH_CALL_INDIRECT)
            return true;
    }
    return false;
}

/*
 * Before the function has set its frame up, and after it has taken it down, rbp is its caller's
 * and the chain begins one frame too far out. Its return address is then one of the two words
 * at the top of the stack, or, behind its return, where it went.
 */
static void add_caller(struct space *space, uint32_t process, struct sampled *s)
{
    const struct place *place = place_at(space, process, s->ip);
    const struct image *image = space_image(space, place);
    bool returned = place->branch == BRANCH_RET;
    uint64_t start;

    if (!s->registers || place->function == FUNCTION_UNKNOWN || !image)
        return;
    start = space->functions.items[place->function].start + image->bias;
    for (unsigned i = returned ? 0 : 1; i < 3; i++) {
        uint64_t back = i ? s->registers->stack[i - 1] : s->registers->ip;

        if (!back || !calls_function(space, process, back, start))
            continue;
        if (s->back_count && s->backs[0] == back)
            return; /* the frame is there after all */
        if (s->back_count == SAMPLE_FRAMES_MAX)
            s->back_count--;
        memmove(s->backs + 1, s->backs, s->back_count * sizeof s->backs[0]);
        s->backs[0] = back;
        s->back_count++;
        return;
    }
}

void samples_visit(struct space *space, const struct event *event,
                   void (*take)(void *context, const struct sampled *sampled), void *context)
{
    const uint8_t *at = event->tail;
    uint32_t task = space_task(space, event->task);
    uint32_t process = space->tasks.items[task].process;

    for (uint32_t i = 0; i < event->samples.count; i++) {
        struct wtr_sample stored;
        struct sampled s = {
            .task = task, .period = event->samples.period, .event = event->samples.event};

        memcpy(&stored, at, sizeof stored);
        s.ip = stored.ip;
        s.tsc = stored.tsc;
        if (event->samples.form & WTR_SAMPLES_REGISTERS)
            s.registers = (const struct wtr_registers *)(at + sizeof stored);
        at += record_sample_bytes(&event->samples);
        s.back_count = stored.chain < SAMPLE_FRAMES_MAX ? stored.chain : SAMPLE_FRAMES_MAX;
        memcpy(s.backs, at, s.back_count * sizeof s.backs[0]);
        at += stored.chain * sizeof(uint64_t);
        add_caller(space, process, &s);
        s.function = place_at(space, process, s.ip)->function;
        take(context, &s);
    }
}

uint32_t samples_caller(struct space *space, const struct sampled *sampled, uint64_t back)
{
    uint32_t process = space->tasks.items[sampled->task].process;

    return place_at(space, process, back - 1)->function;
}
