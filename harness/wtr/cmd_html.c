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
#include "harness/wtr/assets.h"
#include "harness/wtr/bytes.h"
#include "harness/wtr/wtr.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define DETAIL_MAX 4000000u
#define EVENTS_MAX 10000u /* that are shown by themselves */
#define OUTPUT_MAX 16384u /* bytes of what the program wrote */

struct edge {
    uint32_t from, to; /* places */
    bool event;
};

struct page_event {
    uint64_t index;
    enum wtr_kind kind;
    char *words;
};

struct page {
    struct session *session;
    struct calls calls;
    struct bytes segments, branches, output;
    struct map edge_by_pair;
    VECTOR(struct edge) edges;
    VECTOR(struct page_event) events;
    uint64_t shown, total, lost, lost_unknown, events_left_out;
    uint32_t node; /* of the open segment */
    uint64_t length;
};

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

/* --- JSON */

static void json_string(struct text *text, const char *string)
{
    text_char(text, '"');
    for (; *string; string++) {
        unsigned char c = (unsigned char)*string;

        /* "<" could end the script, and a byte above 7E need not be UTF-8. */
        if (c < 0x20 || c > 0x7E || c == '"' || c == '\\' || c == '<' || c == '&')
            text_format(text, "\\u%04x", c);
        else
            text_char(text, (char)c);
    }
    text_char(text, '"');
}

static void json_member(struct text *text, const char *name, const char *value)
{
    json_string(text, name);
    text_char(text, ':');
    json_string(text, value);
    text_char(text, ',');
}

static void json_number(struct text *text, const char *name, uint64_t value)
{
    json_string(text, name);
    text_char(text, ':');
    text_decimal(text, value);
    text_char(text, ',');
}

static void json_nodes(struct text *text, const struct calls *calls)
{
    text_string(text, "\"nodes\":[");
    for (size_t i = 0; i < calls->nodes.count; i++) {
        const struct node *node = &calls->nodes.items[i];

        /* Five numbers a node; the parent of a root is itself. */
        text_string(text, i ? "," : "");
        text_decimal(text, node->parent == NO_NODE ? i : node->parent);
        text_char(text, ',');
        text_decimal(text, node->function);
        text_char(text, ',');
        text_decimal(text, node->calls);
        text_char(text, ',');
        text_decimal(text, node->branches);
        text_char(text, ',');
        text_decimal(text, node->instructions);
    }
    text_string(text, "],\n");
}

/* Names of the functions that a node has, by their number. */
static void json_functions(struct page *page)
{
    const struct space *space = &page->session->space;
    struct text *text = &page->session->text;
    struct map seen = {0};
    bool first = true;

    text_string(text, "\"functions\":{");
    for (size_t i = 0; i < page->calls.nodes.count; i++) {
        uint32_t function = page->calls.nodes.items[i].function;
        uint32_t *known = map_at(&seen, function);

        if (*known != MAP_NEW)
            continue;
        *known = 0;
        text_format(text, "%s\"%" PRIu32 "\":", first ? "" : ",", function);
        json_string(text, space->functions.items[function].name);
        first = false;
    }
    text_string(text, "},\n");
    map_free(&seen);
}

static void json_place(struct page *page, uint32_t index)
{
    struct space *space = &page->session->space;
    struct text *text = &page->session->text;
    const struct place *place = &space->places.items[index];
    const struct line *line;
    const char *file;

    text_char(text, '"');
    text_hex(text, place->address);
    text_string(text, "\",");
    json_string(text, place_text(space, index));
    text_char(text, ',');
    line = place_line(space, &space->places.items[index], &file);
    if (line) {
        char words[300];

        snprintf(words, sizeof words, "%.250s:%" PRIu32, base_name(file), line->number);
        json_string(text, words);
    } else {
        text_string(text, "\"\"");
    }
}

static void json_edges(struct page *page)
{
    struct text *text = &page->session->text;

    text_string(text, "\"edges\":[");
    for (size_t i = 0; i < page->edges.count; i++) {
        const struct edge *edge = &page->edges.items[i];
        const struct place *from = &page->session->space.places.items[edge->from];

        text_string(text, i ? ",\n[" : "[");
        json_string(text, branch_name(from, edge->event));
        text_char(text, ',');
        json_place(page, edge->from);
        text_char(text, ',');
        json_place(page, edge->to);
        text_char(text, ']');
    }
    text_string(text, "],\n");
}

static void json_events(struct page *page)
{
    struct text *text = &page->session->text;

    text_string(text, "\"events\":[");
    for (size_t i = 0; i < page->events.count; i++) {
        const struct page_event *event = &page->events.items[i];

        text_format(text, "%s[%" PRIu64 ",%d,", i ? "," : "", event->index, event->kind);
        json_string(text, event->words);
        text_char(text, ']');
    }
    text_string(text, "]");
}

static void json_page(struct page *page)
{
    struct session *session = page->session;
    struct text *text = &session->text;
    const struct trace *trace = &session->trace;

    text_char(text, '{');
    json_member(text, "file", base_name(trace->path));
    json_member(text, "provider", trace->header.provider);
    json_member(text, "producer", trace->header.producer);
    json_number(text, "total", page->total);
    json_number(text, "shown", page->shown);
    json_number(text, "lost", page->lost);
    json_number(text, "lostUnknown", page->lost_unknown);
    json_number(text, "unwound", page->calls.unwound);
    json_number(text, "unmatched", page->calls.unmatched);
    json_number(text, "eventsLeftOut", page->events_left_out);
    json_member(text, "state",
                session->partial ? "the file is damaged or cut short" : "the file is whole");
    put_bytes(&page->output, "", 1);
    json_member(text, "output", (const char *)page->output.at);
    json_functions(page);
    json_nodes(text, &page->calls);
    json_edges(page);
    json_events(page);
    text_string(text, "}\n");
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
    json_page(page);
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
    free(page.edges.items);
    free(page.segments.at);
    free(page.branches.at);
    free(page.output.at);
    return true;
}
