/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Takes the bodies of trace records apart. Everything is checked once, when the file is
 * opened; a visit relies on it.
 */
#include "harness/wtr/core/records.h"

#include "harness/tracefile/wtr_write.h"

#include <string.h>

/* Name and size of the fixed part of each kind. */
static const struct {
    const char *name;
    size_t fixed;
} kinds[WTR_KINDS] = {
    [0] = {"unknown", 0},
    [WTR_BRANCHES] = {"branches", sizeof(struct wtr_branches)},
    [WTR_PACKED] = {"packed", sizeof(struct wtr_packed)},
    [WTR_ARRIVES] = {"arrives", sizeof(struct wtr_time)},
    [WTR_DEPARTS] = {"departs", sizeof(struct wtr_time)},
    [WTR_LOST] = {"lost", sizeof(struct wtr_lost)},
    [WTR_WRAP] = {"wrap", sizeof(struct wtr_lost)},
    [WTR_MODE] = {"mode", sizeof(struct wtr_mode)},
    [WTR_MIGRATE] = {"migrate", sizeof(struct wtr_migrate)},
    [WTR_EXCEPTION] = {"exception", sizeof(struct wtr_exception)},
    [WTR_IMAGE] = {"image", sizeof(struct wtr_image)},
    [WTR_TASK] = {"task", sizeof(struct wtr_task)},
    [WTR_ARGUMENTS] = {"arguments", sizeof(struct wtr_bytes)},
    [WTR_OUTPUT] = {"output", sizeof(struct wtr_bytes)},
    [WTR_EXIT] = {"exit", sizeof(struct wtr_exit)},
    [WTR_TIME] = {"time", sizeof(struct wtr_time)},
    [WTR_END] = {"end", sizeof(struct wtr_end)},
    [WTR_SAMPLES] = {"samples", sizeof(struct wtr_samples)},
    [WTR_SAMPLING] = {"sampling", sizeof(struct wtr_sampling)},
    [WTR_START] = {"start", sizeof(struct wtr_start)},
    [WTR_SIGNAL] = {"signal", sizeof(struct wtr_signal)},
    [WTR_REFUSED] = {"refused", sizeof(struct wtr_refused)},
};

const char *record_name(unsigned kind)
{
    return kinds[kind < WTR_KINDS ? kind : 0].name;
}

static bool get_number(const uint8_t **at, const uint8_t *end, uint64_t *value)
{
    unsigned shift = 0;

    *value = 0;
    while (*at < end && shift < 64) {
        uint8_t byte = *(*at)++;

        *value |= (uint64_t)(byte & 0x7F) << shift;
        if (!(byte & 0x80))
            return true;
        shift += 7;
    }
    return false;
}

static uint64_t unfold_sign(uint64_t value)
{
    return value >> 1 ^ (value & 1 ? ~0ull : 0);
}

struct unpacking {
    const uint8_t *at, *end;
    uint64_t previous;
    bool flags;
};

static bool unpack_one(struct unpacking *u, struct branch *branch)
{
    uint64_t value;

    if (!get_number(&u->at, u->end, &value))
        return false;
    branch->from = u->previous + unfold_sign(value);
    if (!get_number(&u->at, u->end, &value))
        return false;
    branch->to = u->previous = branch->from + unfold_sign(value);
    branch->flags = 0;
    return !u->flags || get_number(&u->at, u->end, &branch->flags);
}

static struct unpacking unpacking_of(const struct wtr_record *record)
{
    const struct wtr_packed *packed = (const struct wtr_packed *)(record + 1);
    const uint8_t *payload = (const uint8_t *)(packed + 1);

    return (struct unpacking){.at = payload,
                              .end = payload + packed->payload,
                              .previous = packed->base,
                              .flags = packed->form & WTR_PACKED_FLAGS};
}

/* The last byte of each number has bit 7 clear, and no number is longer than 10 bytes. */
static bool packed_sound(const struct wtr_record *record, size_t tail_bytes)
{
    const struct wtr_packed *packed = (const struct wtr_packed *)(record + 1);
    struct unpacking u;
    struct branch branch;

    if (packed->payload > tail_bytes || packed->form & ~WTR_PACKED_FLAGS)
        return false;
    u = unpacking_of(record);
    for (uint32_t i = 0; i < packed->count; i++) {
        if (!unpack_one(&u, &branch))
            return false;
    }
    return u.at == u.end;
}

static bool image_sound(const struct wtr_record *record, size_t tail_bytes)
{
    const struct wtr_image *image = (const struct wtr_image *)(record + 1);
    size_t path_at = image->segment_count * sizeof(struct wtr_segment) +
                     WTR_PADDED((size_t)image->build_id_bytes);

    return image->path_bytes > 0 && path_at + image->path_bytes <= tail_bytes &&
           ((const char *)(image + 1))[path_at + image->path_bytes - 1] == '\0';
}

static bool task_sound(const struct wtr_task *task, size_t tail_bytes)
{
    return task->name_bytes > 0 && task->name_bytes <= tail_bytes &&
           ((const char *)(task + 1))[task->name_bytes - 1] == '\0';
}

size_t record_sample_bytes(const struct wtr_samples *head)
{
    return sizeof(struct wtr_sample) +
           (head->form & WTR_SAMPLES_REGISTERS ? sizeof(struct wtr_registers) : 0);
}

static bool samples_sound(const struct wtr_samples *head, size_t tail_bytes)
{
    const uint8_t *at = (const uint8_t *)(head + 1);
    size_t left = head->payload, fixed = record_sample_bytes(head);

    if (head->form & ~WTR_SAMPLES_REGISTERS || head->payload > tail_bytes)
        return false;
    for (uint32_t i = 0; i < head->count; i++) {
        struct wtr_sample sample;
        size_t bytes;

        if (left < fixed)
            return false;
        memcpy(&sample, at, sizeof sample);
        bytes = fixed + sample.chain * sizeof(uint64_t);
        if (bytes > left)
            return false;
        at += bytes;
        left -= bytes;
    }
    return left == 0;
}

bool record_sound(const struct wtr_record *record)
{
    size_t body = record->bytes - sizeof *record, tail;
    const void *fixed = record + 1;

    if (record->kind == 0 || record->kind >= WTR_KINDS)
        return true;
    if (body < kinds[record->kind].fixed)
        return false;
    tail = body - kinds[record->kind].fixed;
    switch (record->kind) {
    case WTR_BRANCHES:
        return ((const struct wtr_branches *)fixed)->count <= tail / sizeof(struct wtr_branch);
    case WTR_PACKED:
        return packed_sound(record, tail);
    case WTR_IMAGE:
        return image_sound(record, tail);
    case WTR_TASK:
        return task_sound(fixed, tail);
    case WTR_ARGUMENTS:
    case WTR_OUTPUT:
        return ((const struct wtr_bytes *)fixed)->bytes <= tail;
    case WTR_SAMPLES:
        return samples_sound(fixed, tail);
    case WTR_START:
        return ((const struct wtr_start *)fixed)->bytes <= tail;
    default:
        return true;
    }
}

uint64_t record_branches(const struct wtr_record *record)
{
    if (record->kind == WTR_BRANCHES)
        return ((const struct wtr_branches *)(record + 1))->count;
    if (record->kind == WTR_PACKED)
        return ((const struct wtr_packed *)(record + 1))->count;
    return 0;
}

static void visit_branches(const struct wtr_record *record, struct branch *branch,
                           const struct visitor *visitor, void *context)
{
    const struct wtr_branches *head = (const struct wtr_branches *)(record + 1);
    const struct wtr_branch *stored = (const struct wtr_branch *)(head + 1);

    for (uint32_t i = 0; i < head->count; i++, branch->index++) {
        branch->from = stored[i].from;
        branch->to = stored[i].to;
        branch->flags = stored[i].flags;
        visitor->branch(context, branch);
    }
}

static void visit_packed(const struct wtr_record *record, struct branch *branch,
                         const struct visitor *visitor, void *context)
{
    struct unpacking u = unpacking_of(record);

    for (uint64_t i = record_branches(record); i > 0; i--, branch->index++) {
        unpack_one(&u, branch);
        visitor->branch(context, branch);
    }
}

static void visit_event(const struct wtr_record *record, uint64_t index,
                        const struct visitor *visitor, void *context)
{
    struct event event = {
        .kind = record->kind, .cpu = record->cpu, .task = record->task, .index = index};
    const uint8_t *body = (const uint8_t *)(record + 1);
    size_t fixed = kinds[record->kind].fixed;

    memcpy(event.fixed, body, fixed);
    event.tail = body + fixed;
    if (record->kind == WTR_IMAGE) {
        event.build_id = event.tail + event.image.segment_count * sizeof(struct wtr_segment);
        event.path =
            (const char *)event.build_id + WTR_PADDED((size_t)event.image.build_id_bytes);
    }
    visitor->event(context, &event);
}

void record_visit(const struct wtr_record *record, uint64_t *index,
                  const struct visitor *visitor, void *context)
{
    struct branch branch = {.index = *index, .task = record->task, .cpu = record->cpu};

    switch (record->kind) {
    case WTR_BRANCHES:
        visit_branches(record, &branch, visitor, context);
        break;
    case WTR_PACKED:
        visit_packed(record, &branch, visitor, context);
        break;
    case WTR_ARRIVES ... WTR_TIME:
    case WTR_SAMPLES:
    case WTR_SAMPLING:
    case WTR_START:
    case WTR_REFUSED:
    case WTR_SIGNAL:
        visit_event(record, *index, visitor, context);
        break;
    }
    *index = branch.index;
}
