/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A small trace with every kind of record in it, made by the kernel's own writer.
 */
#ifndef HARNESS_TESTS_FAKES_WTR_SAMPLE_H
#define HARNESS_TESTS_FAKES_WTR_SAMPLE_H

#include "harness/tracefile/wtr_write.h"

#include <stdio.h>
#include <string.h>

#define SAMPLE_BRANCHES 9

/* Path of the program to be traced, which is built beside the test program self. */
static inline void sample_program(const char *self, char *path, size_t room)
{
    const char *slash = strrchr(self, '/');

    snprintf(path, room, "%.*straced_mix", slash ? (int)(slash - self + 1) : 0, self);
}

struct sample {
    uint8_t *at;
    size_t room, used;
    uint64_t records;
};

static inline void sample_took(struct sample *s, size_t bytes)
{
    s->used += bytes;
    s->records++;
}

static inline void sample_put(struct sample *s, enum wtr_kind kind, uint32_t task,
                              const void *fixed, size_t fixed_bytes, const void *tail,
                              size_t tail_bytes)
{
    sample_took(s, wtr_put(s->at + s->used, s->room - s->used, kind, 0, task, fixed,
                           fixed_bytes, tail, tail_bytes));
}

static inline void sample_describe(struct sample *s)
{
    struct {
        struct wtr_segment segment;
        uint8_t build_id[8];
        char path[16];
    } tail = {.segment = {.start = 0x400000, .bytes = 0x4000, .flags = 5},
              .build_id = {1, 2, 3, 4, 5},
              .path = "/nowhere/prog"};
    struct wtr_image image = {
        .entry = 0x401000, .segment_count = 1, .build_id_bytes = 5, .path_bytes = 14};
    struct wtr_task task = {.process = 1, .start = 0x401000, .name_bytes = 5};
    struct wtr_bytes words = {.bytes = 7};

    sample_put(s, WTR_IMAGE, 1, &image, sizeof image, &tail, sizeof tail);
    sample_put(s, WTR_TASK, 1, &task, sizeof task, "prog", 5);
    task.start = WTR_UNKNOWN;
    task.parent = 1;
    sample_put(s, WTR_TASK, 2, &task, sizeof task, "prog", 5);
    sample_put(s, WTR_ARGUMENTS, 1, &words, sizeof words, "prog\0x", 7);
}

static inline void sample_events(struct sample *s)
{
    struct wtr_time time = {.tsc = 1234567};
    struct wtr_lost lost = {.count = 5, .reason = WTR_REASON_OVERFLOW};
    struct wtr_mode mode = {.cpl = 3, .interrupts = 1};
    struct wtr_migrate migrate = {.from_cpu = 0, .to_cpu = 1, .tsc = 1234568};
    struct wtr_exception exception = {.vector = 14, .error = 4, .rip = 0x401010};
    struct wtr_bytes output = {.bytes = 6, .stream = 1};

    sample_put(s, WTR_TIME, 0, &time, sizeof time, NULL, 0);
    sample_put(s, WTR_DEPARTS, 1, &time, sizeof time, NULL, 0);
    sample_put(s, WTR_ARRIVES, 2, &time, sizeof time, NULL, 0);
    sample_put(s, WTR_LOST, 2, &lost, sizeof lost, NULL, 0);
    lost.count = WTR_UNKNOWN;
    sample_put(s, WTR_WRAP, 0, &lost, sizeof lost, NULL, 0);
    sample_put(s, WTR_MODE, 1, &mode, sizeof mode, NULL, 0);
    sample_put(s, WTR_MIGRATE, 1, &migrate, sizeof migrate, NULL, 0);
    sample_put(s, WTR_EXCEPTION, 1, &exception, sizeof exception, NULL, 0);
    sample_put(s, WTR_OUTPUT, 1, &output, sizeof output, "hello\n", 6);
}

/* Two samples, one of them in a function without a frame; then one without registers. */
static inline void sample_samples(struct sample *s)
{
    struct {
        struct wtr_sample sample;
        struct wtr_registers registers;
        uint64_t chain[2];
        struct wtr_sample other;
        struct wtr_registers others;
    } two = {.sample = {.ip = 0x401007, .tsc = 1234600, .chain = 2},
             .registers = {.ip = 0x40100A, .flags = 0x202, .stack = {0x401363, 1}},
             .chain = {0x401363, 0x401013},
             .other = {.ip = 0x40119E, .tsc = 1234700},
             .others = {.ip = 0x4011A0, .stack = {0, 0x401363}}};
    struct wtr_sample bare = {.ip = 0x5000, .tsc = 1234800};
    struct wtr_samples head = {
        .count = 2, .payload = sizeof two, .period = 97, .form = WTR_SAMPLES_REGISTERS};
    struct wtr_sampling sampling = {
        .asked = 97, .period = 194, .samples = 3, .skipped = 1, .doubled = 1};

    sample_put(s, WTR_SAMPLES, 1, &head, sizeof head, &two, sizeof two);
    head = (struct wtr_samples){.count = 1, .payload = sizeof bare, .period = 194};
    sample_put(s, WTR_SAMPLES, 2, &head, sizeof head, &bare, sizeof bare);
    sample_put(s, WTR_SAMPLING, 1, &sampling, sizeof sampling, NULL, 0);
}

static inline void sample_branches(struct sample *s)
{
    static const struct wtr_branch branches[] = {
        {0x401007, 0x4012FA, 0},  {0x401304, 0x40135A, 16}, {0x40135E, 0x40119E, 0},
        {0x4011C1, 0x401363, 16}, {0x401365, 0x401306, 0},  {~0ull, 0, 0},
        {0, 1ull << 63, ~0ull}};
    size_t taken;

    sample_took(s, wtr_pack(s->at + s->used, s->room - s->used, 0, 1, branches, 5, &taken));
    sample_took(s, wtr_put_branches(s->at + s->used, s->room - s->used, 1, 2, branches, 2));
    sample_took(s, wtr_pack(s->at + s->used, s->room - s->used, 1, 2, branches + 5, 2, &taken));
}

/* Builds it at `at`; the size. */
static inline size_t sample_trace(uint8_t *at, size_t room)
{
    struct sample s = {.at = at, .room = room};
    struct wtr_exit exit = {.how = WTR_EXIT_CODE, .code = 7, .rip = 0x401013};
    struct wtr_end end;

    s.used = wtr_put_header(at, room, 1000000000, "model", "sample");
    sample_describe(&s);
    sample_branches(&s);
    sample_events(&s);
    sample_samples(&s);
    sample_put(&s, WTR_EXIT, 1, &exit, sizeof exit, NULL, 0);
    end = (struct wtr_end){.records = s.records, .branches = SAMPLE_BRANCHES};
    sample_put(&s, WTR_END, 0, &end, sizeof end, NULL, 0);
    return s.used;
}

#endif
