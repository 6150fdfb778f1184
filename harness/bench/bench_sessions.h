/* SPDX-License-Identifier: BSD-2-Clause */
/* Speed figures of ds/: what a session costs beside the work that it watches. */
#ifndef HARNESS_BENCH_BENCH_SESSIONS_H
#define HARNESS_BENCH_BENCH_SESSIONS_H

#include "harness/check/run.h"

/* Prints `# bench session.NAME=value UNIT` lines; the machine has BTS. */
void bench_sessions(struct run *run);

#endif
