/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The commands of wtr and what they share: options, the open trace, the output.
 */
#ifndef HARNESS_WTR_CORE_WTR_H
#define HARNESS_WTR_CORE_WTR_H

#include "harness/wtr/core/calls.h"
#include "harness/wtr/core/space.h"
#include "harness/wtr/core/text.h"
#include "harness/wtr/core/trace.h"

#define WTR_ELF_MAX 16

struct options {
    const char *path; /* of the trace */
    const char *out;  /* NULL: standard output */
    const char *elf[WTR_ELF_MAX + 1];
    uint32_t task;         /* 0: all */
    uint64_t first, count; /* list: a window; count 0 = to the end */
    uint32_t depth;
    const char *weight; /* fold: "branches", "instructions", "calls", "events", "samples" */
    uint32_t every;     /* perf --samples: branches a sample */
    bool raw, all, samples, as_recorded;
};

struct session {
    const struct options *options;
    struct trace trace;
    struct space space;
    struct text text;
    bool partial; /* STATUS_PARTIAL is due */
    bool gaps;    /* STATUS_GAPS is, where nothing worse is */
};

/* Each writes to session->text; false with a complaint when it could not. */
bool command_info(struct session *session);
bool command_list(struct session *session);
bool command_tree(struct session *session);
bool command_fold(struct session *session);
bool command_profile(struct session *session);
bool command_coverage(struct session *session);
bool command_lcov(struct session *session);
bool command_html(struct session *session);
bool command_perf(struct session *session);
bool command_btrace(struct session *session);
bool command_bts(struct session *session);
bool command_check(struct session *session);
bool command_output(struct session *session);

/* perf_samples.c: the second form of command_perf. */
bool perf_samples(struct session *session);
/* perf_profile.c: the form for a trace of samples. */
bool perf_profile(struct session *session);

/* "call", "jcc", ... for a step from there; "event" where it is no branch, "?" without code. */
const char *branch_name(const struct place *from, bool event);

/* One line of words about an event; "" when there is nothing to say. */
void event_text(const struct event *event, char *out, size_t room);

/* The whole call tree of the selected tasks, summed. */
void calls_of(struct session *session, struct calls *calls);

#endif
