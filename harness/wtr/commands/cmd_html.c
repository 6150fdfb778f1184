/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `wtr html`: one web page that needs no network, with a timeline, the call tree, functions
 * and every branch. The page gets what it shows as JSON and as packed numbers in base64:
 *
 *   segments  node, length: this node of the call tree ran for so many branches
 *   branches  edge: number of a (from, to) pair in the table of edges
 *
 * Of a trace with more branches than DETAIL_MAX only the first are in these two; the page
 * says so, and its tree holds all.
 */
#include "harness/wtr/view/assets.h"
#include "harness/wtr/view/page.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define DETAIL_MAX 4000000u
#define EVENTS_MAX 10000u /* that are shown by themselves */
#define OUTPUT_MAX 16384u /* bytes of what the program wrote */

static void end_segment(struct page *page)
{
    if (!page->length)
        return;
    put_number(&page->segments, page->node);
    put_number(&page->segments, page->length);
    page->length = 0;
}

static uint32_t edge_of(struct page *page, const struct step *step)
{
    uint32_t *index = map_at(&page->edge_by_pair, (uint64_t)step->from << 32 | step->to);

    if (*index == MAP_NEW) {
        *index = (uint32_t)page->edges.count;
        *PUSH(&page->edges) =
            (struct edge){.from = step->from, .to = step->to, .event = step->event};
    }
    return *index;
}

static void page_step(void *context, const struct step *step)
{
    struct page *page = context;
    uint32_t node = calls_step(&page->calls, step);

    if (step->moved)
        return;
    page->total++;
    if (page->shown == DETAIL_MAX)
        return;
    page->shown++;
    put_number(&page->branches, edge_of(page, step));
    if (page->length && node != page->node)
        end_segment(page);
    page->node = node;
    page->length++;
}

static void page_last(void *context, const struct step *step)
{
    calls_last(&((struct page *)context)->calls, step);
}

static void keep_output(struct page *page, const struct event *event)
{
    size_t room = OUTPUT_MAX - page->output.count;

    put_bytes(&page->output, event->tail, event->data.bytes < room ? event->data.bytes : room);
}

/* Between processors times may go back; then the earlier ones count. */
static void keep_time(struct page *page, uint64_t tsc)
{
    const struct page_time *last =
        page->times.count ? &page->times.items[page->times.count - 1] : NULL;

    if (page->times.count < EVENTS_MAX &&
        (!last || (tsc > last->tsc && page->total > last->index)))
        *PUSH(&page->times) = (struct page_time){.index = page->total, .tsc = tsc};
}

static void page_event(void *context, const struct event *event)
{
    struct page *page = context;
    struct page_event *kept;
    char words[256];

    if (event->kind == WTR_LOST || event->kind == WTR_WRAP) {
        page->lost_unknown += event->lost.count == WTR_UNKNOWN;
        page->lost += event->lost.count == WTR_UNKNOWN ? 0 : event->lost.count;
    }
    if (event->kind == WTR_OUTPUT)
        keep_output(page, event);
    if (event->kind == WTR_TIME || event->kind == WTR_ARRIVES || event->kind == WTR_DEPARTS)
        keep_time(page, event->time.tsc);
    event_text(event, words, sizeof words);
    if (!words[0])
        return;
    if (page->events.count == EVENTS_MAX) {
        page->events_left_out++;
        return;
    }
    kept = PUSH(&page->events);
    /* With --task the page counts that task's branches only. */
    kept->index = page->total;
    kept->kind = event->kind;
    kept->words = text_copy(words, strlen(words));
}

/* --- the page */

static void put_base64(struct text *text, const struct bytes *bytes)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < bytes->count; i += 3) {
        size_t left = bytes->count - i;
        uint32_t word = (uint32_t)bytes->at[i] << 16 |
                        (left > 1 ? (uint32_t)bytes->at[i + 1] << 8 : 0) |
                        (left > 2 ? bytes->at[i + 2] : 0u);
        char four[4] = {digits[word >> 18], digits[word >> 12 & 63],
                        left > 1 ? digits[word >> 6 & 63] : '=',
                        left > 2 ? digits[word & 63] : '='};

        text_bytes(text, four, sizeof four);
    }
}

static void put_data(struct page *page)
{
    struct text *text = &page->session->text;

    text_string(text, "<script type=\"application/json\" id=\"trace\">");
    page_json(page);
    text_string(text, "</script>\n<script type=\"text/plain\" id=\"segments\">");
    put_base64(text, &page->segments);
    text_string(text, "</script>\n<script type=\"text/plain\" id=\"branches\">");
    put_base64(text, &page->branches);
    text_string(text, "</script>\n");
}

/* The page up to a mark, which is left out; returns what comes behind it. */
static const char *put_until(struct text *text, const char *page, const char *mark)
{
    const char *found = strstr(page, mark);

    text_bytes(text, page, (size_t)(found - page));
    return found + strlen(mark);
}

static void put_page(struct page *page)
{
    struct text *text = &page->session->text;
    const char *at = asset_page;

    text_string(text, "<!doctype html>\n");
    at = put_until(text, at, "<!-- style -->");
    text_string(text, "<style>\n");
    text_string(text, asset_style);
    text_string(text, "</style>");
    at = put_until(text, at, "<!-- data -->");
    put_data(page);
    text_string(text, "<script>\n");
    text_string(text, asset_script);
    text_string(text, "</script>");
    text_string(text, at);
}

bool command_html(struct session *session)
{
    static const struct flow flow = {.step = page_step, .last = page_last, .event = page_event};
    struct page page = {.session = session};

    calls_open(&page.calls, &session->space, session->options->depth);
    flow_walk(&session->space, &flow, session->options->task, &page);
    end_segment(&page);
    put_page(&page);
    calls_close(&page.calls);
    map_free(&page.edge_by_pair);
    for (size_t i = 0; i < page.events.count; i++)
        free(page.events.items[i].words);
    free(page.events.items);
    free(page.times.items);
    free(page.edges.items);
    free(page.segments.at);
    free(page.branches.at);
    free(page.output.at);
    return true;
}
