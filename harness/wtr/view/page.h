/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `wtr html` collects for its page.
 */
#ifndef HARNESS_WTR_VIEW_PAGE_H
#define HARNESS_WTR_VIEW_PAGE_H

#include "harness/wtr/core/bytes.h"
#include "harness/wtr/core/wtr.h"

struct edge {
    uint32_t from, to; /* places */
    bool event;
};

struct page_event {
    uint64_t index;
    enum wtr_kind kind;
    char *words;
};

struct page_time {
    uint64_t index, tsc;
};

struct page {
    struct session *session;
    struct calls calls;
    struct bytes segments, branches, output;
    struct map edge_by_pair;
    VECTOR(struct edge) edges;
    VECTOR(struct page_event) events;
    VECTOR(struct page_time) times; /* rising in both */
    uint64_t shown, total, lost, lost_unknown, events_left_out;
    uint32_t node; /* of the open segment */
    uint64_t length;
};

/* page_json.c: everything but the packed numbers, as one JSON object that is safe in HTML. */
void page_json(struct page *page);

#endif
