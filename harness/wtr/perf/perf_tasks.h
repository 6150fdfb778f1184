/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who is who in perf.data: the tasks of a trace as processes and threads with their images.
 */
#ifndef HARNESS_WTR_PERF_PERF_TASKS_H
#define HARNESS_WTR_PERF_PERF_TASKS_H

#include "harness/wtr/core/wtr.h"
#include "harness/wtr/perf/perf_file.h"

struct perf_id {
    uint32_t pid, tid;
};

/* perf takes process 0 for the idle task, so task 0 gets a number that no task has. */
struct perf_id perf_id_of(const struct space *space, uint32_t task);

/* COMM, FORK and MMAP records of every task, at time 0; build-ids and arguments. */
void perf_describe(struct session *session, struct perf_file *file, uint64_t id);

#endif
