/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tasks, images, functions and places of a trace.
 */
#include "harness/wtr/core/space.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* They are searched one by one; real programs have a handful. */
#define SEGMENTS_MAX 1024

const char *base_name(const char *path)
{
    const char *base = path;

    for (; *path; path++) {
        if (*path == '/' || *path == '\\')
            base = path + 1;
    }
    return base;
}

uint32_t space_task(struct space *space, uint32_t number)
{
    uint32_t *index = map_at(&space->task_by_number, number);

    if (*index == MAP_NEW) {
        *index = (uint32_t)space->tasks.count;
        *PUSH(&space->tasks) =
            (struct task){.number = number, .process = 1, .start = WTR_UNKNOWN, .name = ""};
    }
    return *index;
}

/* In two steps: the vector may move while the number is looked up. */
static struct task *task_of(struct space *space, uint32_t number)
{
    uint32_t index = space_task(space, number);

    return &space->tasks.items[index];
}

static void take_image(struct space *space, const struct event *event)
{
    struct image *image;

    if (space->images.count == SEGMENTS_MAX)
        return;
    image = PUSH(&space->images);
    image->process = event->task;
    image->bias = event->image.bias;
    image->entry = event->image.entry;
    image->recorded_path = event->path;
    image->build_id = event->build_id;
    image->build_id_bytes = event->image.build_id_bytes;
    image->low = UINT64_MAX;
    for (uint16_t i = 0; i < event->image.segment_count; i++) {
        struct wtr_segment segment;

        memcpy(&segment, event->tail + i * sizeof segment, sizeof segment);
        if (!segment.bytes || segment.start + segment.bytes < segment.start ||
            space->segment_count == SEGMENTS_MAX)
            continue;
        space->segment_count++;
        *PUSH(&image->segments) = segment;
        if (segment.start < image->low)
            image->low = segment.start;
        if (segment.start + segment.bytes > image->high)
            image->high = segment.start + segment.bytes;
    }
}

static void take_event(void *context, const struct event *event)
{
    struct space *space = context;
    struct task *task;

    if (event->kind == WTR_IMAGE) {
        take_image(space, event);
        return;
    }
    /* From here on every task is known that the trace ever names. */
    if (event->task || event->kind == WTR_SAMPLES)
        space_task(space, event->task);
    switch (event->kind) {
    case WTR_TASK:
        task = task_of(space, event->task);
        task->process = event->about.process;
        task->parent = event->about.parent;
        task->start = event->about.start;
        task->name = (const char *)event->tail;
        break;
    case WTR_EXIT:
        task = task_of(space, event->task);
        task->exited = true;
        task->exit = event->exit;
        break;
    default:
        break;
    }
}

static void take_branch(void *context, const struct branch *branch)
{
    struct space *space = context;

    task_of(space, branch->task)->branches++;
    space->flags_seen |= branch->flags;
}

static void number_functions(struct space *space)
{
    *PUSH(&space->functions) = (struct function){.name = "[unknown]", .image = NO_IMAGE};
    *PUSH(&space->functions) = (struct function){.name = "[kernel]", .image = NO_IMAGE};
    for (size_t i = 0; i < space->images.count; i++) {
        struct image *image = &space->images.items[i];

        image->first_function = (uint32_t)space->functions.count;
        for (size_t k = 0; image->program && k < image->program->symbols.count; k++) {
            const struct symbol *symbol = &image->program->symbols.items[k];

            *PUSH(&space->functions) = (struct function){.name = symbol->name,
                                                         .start = symbol->start,
                                                         .end = symbol->end,
                                                         .image = (uint32_t)i,
                                                         .typed = symbol->function};
        }
    }
}

/* The first task of a process that nothing is said about begins at its program's entry. */
static void settle_starts(struct space *space)
{
    for (size_t k = 0; k < space->images.count; k++) {
        const struct image *image = &space->images.items[k];

        for (size_t i = 0; i < space->tasks.count; i++) {
            struct task *task = &space->tasks.items[i];

            if (!task->number || (image->process && image->process != task->process))
                continue;
            if (task->start == WTR_UNKNOWN && !task->parent)
                task->start = image->entry;
            break;
        }
    }
}

/* Every task that ran is a function of its own at the root of the call tree. */
static void name_tasks(struct space *space)
{
    for (size_t i = 0; i < space->tasks.count; i++) {
        struct task *task = &space->tasks.items[i];
        const char *name = task->name;

        for (size_t k = 0; k < space->images.count && !name[0]; k++) {
            if (space->images.items[k].process == task->process ||
                !space->images.items[k].process)
                name = base_name(space->images.items[k].recorded_path);
        }
        task->label = allocate(strlen(name) + 32, 1);
        if (space->tasks.count == 1 && name[0])
            strcpy(task->label, name);
        else
            sprintf(task->label, "%s[task %" PRIu32 "]", name, task->number);
        task->function = (uint32_t)space->functions.count;
        *PUSH(&space->functions) = (struct function){.name = task->label, .image = NO_IMAGE};
    }
}

bool space_open(struct space *space, const struct trace *trace, const char *const *elf_paths)
{
    static const struct visitor visitor = {.branch = take_branch, .event = take_event};

    *space = (struct space){.trace = trace, .elf_paths = elf_paths};
    trace_walk(trace, &visitor, space);
    if (!space_open_files(space)) {
        space_close(space);
        return false;
    }
    number_functions(space);
    settle_starts(space);
    name_tasks(space);
    return true;
}

void space_close(struct space *space)
{
    for (size_t i = 0; i < space->places.count; i++)
        free(space->places.items[i].text);
    for (size_t i = 0; i < space->images.count; i++)
        free(space->images.items[i].segments.items);
    for (size_t i = 0; i < space->programs.count; i++) {
        program_close(space->programs.items[i]);
        free(space->programs.items[i]);
    }
    for (size_t i = 0; i < space->tasks.count; i++)
        free(space->tasks.items[i].label);
    free(space->images.items);
    free(space->tasks.items);
    free(space->functions.items);
    free(space->places.items);
    free(space->programs.items);
    map_free(&space->task_by_number);
    map_free(&space->place_by_key);
    map_free(&space->process_by_number);
}

static bool in_segments(const struct image *image, uint64_t address)
{
    for (size_t i = 0; i < image->segments.count; i++) {
        const struct wtr_segment *segment = &image->segments.items[i];

        if (address >= segment->start && address - segment->start < segment->bytes)
            return true;
    }
    return false;
}

/* A process' own image counts before one that all have; the latest mapped counts first. */
static uint32_t image_of(const struct space *space, uint32_t process, uint64_t address)
{
    uint32_t found = NO_IMAGE;

    for (size_t i = space->images.count; i-- > 0;) {
        const struct image *image = &space->images.items[i];

        if (address < image->low || address >= image->high || !in_segments(image, address))
            continue;
        if (image->process == process)
            return (uint32_t)i;
        if (!image->process && found == NO_IMAGE)
            found = (uint32_t)i;
    }
    return found;
}

static void work_out(struct space *space, struct place *place)
{
    struct image *image = space_image(space, place);
    uint64_t address = place->address - (image ? image->bias : 0);
    const struct symbol *symbol;
    struct segment *segment;
    struct decoded d;

    if (!image || !image->program)
        return;
    segment = program_segment(image->program, address);
    if (segment && segment_decode(segment, address, &d)) {
        place->segment = (uint32_t)(segment - image->program->segments.items);
        place->code = true;
        place->branch = d.branch;
        place->length = d.length;
        place->direct = d.direct;
        place->target = place->address + d.length + (uint64_t)d.displacement;
    }
    symbol = program_symbol(image->program, address);
    if (symbol) {
        place->function =
            image->first_function + (uint32_t)(symbol - image->program->symbols.items);
        place->entry = symbol->function && symbol->start == address;
    }
}

uint32_t space_place(struct space *space, uint32_t process, uint64_t address)
{
    uint32_t *dense = map_at(&space->process_by_number, process), *index;
    struct place *place;
    uint64_t key;

    if (*dense == MAP_NEW)
        *dense = (uint32_t)space->process_by_number.count - 1;
    /* Few processes: their number in bits where addresses hardly differ. Twins move on. */
    key = address ^ (uint64_t)*dense << 48;
    for (;; key += 0x9E3779B97F4A7C15ull) {
        index = map_at(&space->place_by_key, key);
        if (*index == MAP_NEW)
            break;
        place = &space->places.items[*index];
        if (place->address == address && place->process == process)
            return *index;
    }
    *index = (uint32_t)space->places.count;
    place = PUSH(&space->places);
    place->address = address;
    place->process = process;
    place->image = image_of(space, process, address);
    work_out(space, place);
    return (uint32_t)space->places.count - 1;
}

struct image *space_image(const struct space *space, const struct place *place)
{
    return place->image == NO_IMAGE ? NULL : &space->images.items[place->image];
}

struct segment *place_segment(const struct space *space, const struct place *place)
{
    struct image *image = space_image(space, place);

    return place->code ? &image->program->segments.items[place->segment] : NULL;
}

const struct line *place_line(const struct space *space, const struct place *place,
                              const char **file)
{
    const struct image *image = space_image(space, place);
    const struct line *line = NULL;

    if (image && image->program)
        line = program_line(image->program, place->address - image->bias);
    if (line)
        *file = image->program->files.items[line->file];
    return line;
}

const char *place_text(struct space *space, uint32_t index)
{
    struct place *place = &space->places.items[index];
    const struct function *function = &space->functions.items[place->function];
    const struct image *image = space_image(space, place);
    size_t room = strlen(function->name) + 24;
    uint64_t offset;

    if (place->function == FUNCTION_UNKNOWN)
        return "";
    if (!place->text) {
        offset = place->address - image->bias - function->start;
        place->text = allocate(room, 1);
        if (offset)
            snprintf(place->text, room, "%s+0x%" PRIx64, function->name, offset);
        else
            snprintf(place->text, room, "%s", function->name);
    }
    return place->text;
}
