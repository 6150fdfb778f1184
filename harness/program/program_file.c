/* SPDX-License-Identifier: BSD-2-Clause */
/* What stands in a program's trace before its branches and after them. */
#include "harness/program/program_file.h"

#include "harness/check/format.h"
#include "harness/suite/suite.h"
#include "harness/suite/version.h"
#include "harness/tracefile/wtr_write.h"
#include "hw/string.h"

static const char *base_name(const char *path)
{
    const char *name = path;

    for (; *path; path++)
        if (*path == '/' || *path == '\\')
            name = path + 1;
    return name;
}

static void put_image(struct recorder *r, const struct elf_plan *plan, const char *path)
{
    static struct {
        struct wtr_segment segments[ELF_SEGMENTS_MAX];
        uint8_t rest[ELF_BUILD_ID_MAX + OPTION_TEXT_BYTES + 8];
    } tail;
    struct wtr_image image = {.bias = plan->bias,
                              .entry = plan->entry,
                              .segment_count = (uint16_t)plan->count,
                              .build_id_bytes = (uint16_t)plan->build_id_bytes,
                              .path_bytes = (uint32_t)strlen(path) + 1};
    uint8_t *at = (uint8_t *)(tail.segments + plan->count);

    for (unsigned i = 0; i < plan->count; i++)
        tail.segments[i] = (struct wtr_segment){.start = plan->segments[i].start,
                                                .bytes = plan->segments[i].bytes,
                                                .file_offset = plan->segments[i].file_offset,
                                                .flags = plan->segments[i].flags};
    memcpy(at, plan->build_id, plan->build_id_bytes);
    at += WTR_PADDED((size_t)plan->build_id_bytes);
    memcpy(at, path, image.path_bytes);
    recorder_put(r, WTR_IMAGE, &image, sizeof(image), &tail,
                 (size_t)(at - (uint8_t *)&tail) + image.path_bytes);
}

void program_file_begin(struct recorder *r, const struct elf_plan *plan,
                        const struct options *o, uint64_t epoch, bool traced)
{
    const struct platform *platform = suite_state()->platform;
    const char *path = *o->path ? o->path : o->program, *name = base_name(path);
    struct wtr_task task = {
        .process = 1, .start = plan->entry, .name_bytes = (uint32_t)strlen(name) + 1};
    struct wtr_bytes words = {.bytes = (uint32_t)o->words_bytes};
    const struct wtr_start start = {
        .seed = o->seed, .epoch = epoch, .bytes = (uint32_t)o->environment_bytes};
    char producer[32];

    fmt(producer, sizeof(producer), "waymark %s", waymark_version);
    r->used = wtr_put_header(r->memory, r->bytes, platform->tsc_khz * 1000,
                             traced ? platform->provider : "none", producer);
    put_image(r, plan, path);
    recorder_put(r, WTR_TASK, &task, sizeof(task), name, task.name_bytes);
    recorder_put(r, WTR_ARGUMENTS, &words, sizeof(words), o->words, words.bytes);
    recorder_put(r, WTR_START, &start, sizeof(start), o->environment, start.bytes);
}

void program_file_end(struct recorder *r, const struct program *p)
{
    struct wtr_exit exit = {.how = WTR_EXIT_CODE, .code = p->code, .rip = p->frame.rip};
    struct wtr_end end;

    if (r->dropped)
        recorder_lost(r, r->dropped, WTR_REASON_NO_ROOM);
    if (p->end == PROGRAM_FAULTED) {
        struct wtr_exception fault = {.vector = (uint32_t)p->frame.vector,
                                      .error = (uint32_t)p->frame.error,
                                      .rip = p->frame.rip,
                                      .address = p->address};

        recorder_put(r, WTR_EXCEPTION, &fault, sizeof(fault), NULL, 0);
        exit.how = WTR_EXIT_EXCEPTION;
        exit.code = (int32_t)p->frame.vector;
    } else if (p->end == PROGRAM_KILLED) {
        exit.how = WTR_EXIT_KILLED;
    } else {
        exit.rip -= 2; /* SYSCALL's own length: RIP is behind it */
        exit.how = p->end == PROGRAM_SIGNALLED ? WTR_EXIT_SIGNAL
                   : p->end == PROGRAM_STUCK   ? WTR_EXIT_STUCK
                                               : WTR_EXIT_CODE;
        exit.code = p->end == PROGRAM_SIGNALLED ? (int32_t)p->signal : p->code;
    }
    for (unsigned i = 0; i < p->refusals; i++) {
        const struct wtr_refused refused = {p->refused[i].number, p->refused[i].count};

        recorder_put(r, WTR_REFUSED, &refused, sizeof(refused), NULL, 0);
    }
    recorder_put(r, WTR_EXIT, &exit, sizeof(exit), NULL, 0);
    end = (struct wtr_end){.records = r->records, .branches = r->branches};
    recorder_put(r, WTR_END, &end, sizeof(end), NULL, 0);
}
