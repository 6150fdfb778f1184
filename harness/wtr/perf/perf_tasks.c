/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tasks and images as perf records. Their time is 0, before every branch: perf sorts by time,
 * and what is described later than it runs stays unknown.
 */
#include "harness/wtr/perf/perf_tasks.h"

#include <stdlib.h>
#include <string.h>

#define TASK_0_ID  4000000u /* above the largest process id of Linux */
#define PAGE       4096ull
#define NAME_BYTES 16   /* of a COMM, with its NUL */
#define PATH_BYTES 4000 /* a record's size has 16 bits */
#define MISC_USER  2

struct perf_id perf_id_of(const struct space *space, uint32_t task)
{
    const struct task *about = &space->tasks.items[task];
    struct perf_id id = {.pid = about->process, .tid = about->number};

    if (!about->number)
        id.tid = id.pid = TASK_0_ID;
    /* A process' first thread has its number; perf knows no process without one. */
    return id;
}

static void put_limited(struct bytes *to, const char *string, size_t limit)
{
    char *copy = text_copy(string, strnlen(string, limit - 1));

    put_padded_string(to, copy);
    free(copy);
}

static void put_comm(struct perf_file *file, struct perf_id who, const char *name, uint64_t id)
{
    perf_begin(file, PERF_COMM, MISC_USER);
    put_u32(&file->data, who.pid);
    put_u32(&file->data, who.tid);
    put_limited(&file->data, name, NAME_BYTES);
    perf_trailer(file, who.pid, who.tid, 0, id);
    perf_end(file);
}

static void put_fork(struct perf_file *file, struct perf_id who, uint64_t id)
{
    perf_begin(file, PERF_FORK, 0);
    put_u32(&file->data, who.pid);
    put_u32(&file->data, who.pid);
    put_u32(&file->data, who.tid);
    put_u32(&file->data, who.pid);
    put_u64(&file->data, 0);
    perf_trailer(file, who.pid, who.tid, 0, id);
    perf_end(file);
}

static const char *path_of(const struct space *space, const struct image *image)
{
    return image->program && !space->as_recorded ? image->program->path : image->recorded_path;
}

static void put_mmap(struct perf_file *file, struct perf_id who, const char *path,
                     const struct wtr_segment *segment, uint64_t id)
{
    uint64_t start = segment->start & ~(PAGE - 1);
    uint64_t bytes = (segment->start - start + segment->bytes + PAGE - 1) & ~(PAGE - 1);

    perf_begin(file, PERF_MMAP, MISC_USER);
    put_u32(&file->data, who.pid);
    put_u32(&file->data, who.tid);
    put_u64(&file->data, start);
    put_u64(&file->data, bytes);
    put_u64(&file->data, segment->file_offset & ~(PAGE - 1));
    put_limited(&file->data, path, PATH_BYTES);
    perf_trailer(file, who.pid, who.tid, 0, id);
    perf_end(file);
}

static void put_images(const struct space *space, struct perf_file *file, struct perf_id who,
                       uint32_t process, uint64_t id)
{
    for (size_t i = 0; i < space->images.count; i++) {
        const struct image *image = &space->images.items[i];

        if (image->process && image->process != process)
            continue;
        for (size_t k = 0; k < image->segments.count; k++) {
            if (image->segments.items[k].flags & PF_X)
                put_mmap(file, who, path_of(space, image), &image->segments.items[k], id);
        }
    }
}

static void put_build_ids(const struct space *space, struct perf_file *file)
{
    for (size_t i = 0; i < space->images.count; i++) {
        const struct image *image = &space->images.items[i];
        const char *whole = path_of(space, image);
        char *path;

        if (!image->build_id_bytes)
            continue;
        path = text_copy(whole, strnlen(whole, PATH_BYTES - 1));
        perf_build_id(file, image->build_id, image->build_id_bytes, path);
        free(path);
    }
}

struct command_line {
    struct bytes words;
    uint32_t count;
};

static void take_arguments(void *context, const struct event *event)
{
    struct command_line *line = context;
    const char *at = (const char *)event->tail, *end;

    if (event->kind != WTR_ARGUMENTS || line->count)
        return;
    end = at + event->data.bytes;
    while (at < end) {
        size_t length = strnlen(at, (size_t)(end - at));
        uint32_t padded = (uint32_t)(length + 1 + 63) & ~63u;

        put_u32(&line->words, padded);
        put_bytes(&line->words, at, length);
        put_bytes(&line->words, (const uint8_t[64]){0}, padded - length);
        line->count++;
        at += length + 1;
    }
}

static void no_branch(void *context, const struct branch *branch)
{
    (void)context;
    (void)branch;
}

static void put_arguments(const struct trace *trace, struct perf_file *file)
{
    static const struct visitor visitor = {.branch = no_branch, .event = take_arguments};
    struct command_line line = {0};

    trace_walk(trace, &visitor, &line);
    if (line.count) {
        put_u32(&file->arguments, line.count);
        put_bytes(&file->arguments, line.words.at, line.words.count);
    }
    free(line.words.at);
}

void perf_describe(struct session *session, struct perf_file *file, uint64_t id)
{
    const struct space *space = &session->space;
    struct map described = {0};

    for (uint32_t i = 0; i < space->tasks.count; i++) {
        const struct task *task = &space->tasks.items[i];
        struct perf_id who = perf_id_of(space, i), leader = {who.pid, who.pid};
        uint32_t *known = map_at(&described, who.pid);
        const char *name = task->name[0] ? task->name : task->label;

        if (*known == MAP_NEW) {
            *known = 1;
            put_comm(file, leader, name, id);
            put_images(space, file, leader, task->process, id);
        }
        if (who.tid != who.pid) {
            put_fork(file, who, id);
            put_comm(file, who, name, id);
        }
    }
    map_free(&described);
    put_build_ids(space, file);
    put_arguments(&session->trace, file);
}
