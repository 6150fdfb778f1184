/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts instructions: each straight run adds one where it begins and takes it away behind
 * its end, and a walk through the code adds up. No run is walked by itself.
 */
#include "harness/wtr/core/cover.h"

#include <stdlib.h>

/* What happened at a place; index as in the space. */
struct tally {
    int64_t begins, ends_at, ends_behind; /* runs */
    uint64_t taken;
};

struct counting {
    struct session *session;
    VECTOR(struct tally) tallies;
};

static struct tally *tally_of(struct counting *counting, uint32_t place)
{
    while (counting->tallies.count <= place)
        PUSH(&counting->tallies);
    return &counting->tallies.items[place];
}

static void count_run(struct counting *counting, uint32_t begin, uint32_t from, bool event)
{
    tally_of(counting, begin)->begins++;
    if (event)
        tally_of(counting, from)->ends_at++;
    else
        tally_of(counting, from)->ends_behind++;
}

static void cover_step(void *context, const struct step *step)
{
    struct counting *counting = context;

    if (step->run == RUN_GOOD) {
        count_run(counting, step->begin, step->from, step->event);
    } else {
        /* Both ends are sure, what lies between is not. */
        if (step->begin != NO_PLACE)
            count_run(counting, step->begin, step->begin, false);
        if (!step->event && step->begin != step->from)
            count_run(counting, step->from, step->from, false);
    }
    if (!step->event)
        tally_of(counting, step->from)->taken++;
}

static void cover_last(void *context, const struct step *step)
{
    struct counting *counting = context;

    if (step->from != NO_PLACE && step->run == RUN_GOOD)
        count_run(counting, step->begin, step->from, false);
    else
        count_run(counting, step->begin, step->begin, false);
}

static struct cover *cover_of(struct covers *covers, const struct program *program)
{
    for (size_t i = 0; i < covers->covers.count; i++) {
        if (covers->covers.items[i].program == program)
            return &covers->covers.items[i];
    }
    PUSH(&covers->covers)->program = program;
    return &covers->covers.items[covers->covers.count - 1];
}

static void change(struct cover *cover, uint64_t address, int64_t amount)
{
    if (amount)
        *PUSH(&cover->changes) = (struct change){.address = address, .amount = amount};
}

static void hand_over(struct covers *covers, const struct space *space, uint32_t index,
                      const struct tally *tally)
{
    const struct place *place = &space->places.items[index];
    const struct image *image = space_image(space, place);
    struct cover *cover;
    uint64_t address;

    if (!place->code)
        return;
    cover = cover_of(covers, image->program);
    address = place->address - image->bias;
    change(cover, address, tally->begins - tally->ends_at);
    change(cover, address + place->length, -tally->ends_behind);
    if (tally->taken && (place->branch == BRANCH_JCC || place->branch == BRANCH_LOOP))
        *PUSH(&cover->taken) = (struct taken){.address = address, .count = tally->taken};
}

static int by_address(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return a < b ? -1 : a > b;
}

void covers_open(struct covers *covers, struct session *session)
{
    static const struct flow flow = {.step = cover_step, .last = cover_last};
    struct counting counting = {.session = session};

    *covers = (struct covers){0};
    flow_walk(&session->space, &flow, session->options->task, &counting);
    for (size_t i = 0; i < session->space.images.count; i++) {
        if (session->space.images.items[i].program)
            cover_of(covers, session->space.images.items[i].program);
    }
    for (size_t i = 0; i < counting.tallies.count; i++)
        hand_over(covers, &session->space, (uint32_t)i, &counting.tallies.items[i]);
    free(counting.tallies.items);
    for (size_t i = 0; i < covers->covers.count; i++) {
        struct cover *cover = &covers->covers.items[i];

        if (cover->changes.count)
            qsort(cover->changes.items, cover->changes.count, sizeof(struct change),
                  by_address);
        if (cover->taken.count)
            qsort(cover->taken.items, cover->taken.count, sizeof(struct taken), by_address);
    }
}

void covers_close(struct covers *covers)
{
    for (size_t i = 0; i < covers->covers.count; i++) {
        free(covers->covers.items[i].changes.items);
        free(covers->covers.items[i].taken.items);
    }
    free(covers->covers.items);
}

/* Where a walk by rising addresses stands in the two tables. */
struct progress {
    const struct cover *cover;
    size_t change, taken;
    int64_t count;
};

static void advance(struct progress *progress, uint64_t address)
{
    const struct cover *cover = progress->cover;

    while (progress->change < cover->changes.count &&
           cover->changes.items[progress->change].address <= address)
        progress->count += cover->changes.items[progress->change++].amount;
    while (progress->taken < cover->taken.count &&
           cover->taken.items[progress->taken].address < address)
        progress->taken++;
}

static uint64_t taken_at(struct progress *progress, uint64_t address)
{
    const struct cover *cover = progress->cover;
    uint64_t count = 0;

    /* Two processes may have taken the same one. */
    while (progress->taken < cover->taken.count &&
           cover->taken.items[progress->taken].address == address)
        count += cover->taken.items[progress->taken++].count;
    return count;
}

void cover_walk(const struct cover *cover,
                void (*visit)(void *context, const struct symbol *symbol,
                              const struct covered_instruction *instruction),
                void *context)
{
    struct program *program = (struct program *)cover->program;
    struct progress progress = {.cover = cover};

    for (size_t i = 0; i < program->symbols.count; i++) {
        const struct symbol *symbol = &program->symbols.items[i];
        const struct segment *segment = program_segment(program, symbol->start);
        struct decoded d;

        for (uint64_t at = symbol->start; at < symbol->end; at += d.length ? d.length : 1) {
            struct covered_instruction one = {.address = at};

            if (!segment_starts(segment, at) || !segment_decode(segment, at, &d)) {
                d.length = 0;
                continue;
            }
            advance(&progress, at);
            one.count = progress.count > 0 ? (uint64_t)progress.count : 0;
            one.taken = taken_at(&progress, at);
            one.conditional = d.branch == BRANCH_JCC || d.branch == BRANCH_LOOP;
            one.line = program_line(program, at);
            visit(context, symbol, &one);
        }
    }
}
