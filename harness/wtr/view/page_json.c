/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the page of `wtr html` shows, as JSON: facts, functions, nodes of the call tree (five
 * numbers each), edges (kind, then address, name and line of both ends), events and times.
 */
#include "harness/wtr/view/page.h"

#include <inttypes.h>

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
    text_string(text, "],\n\"times\":[");
    for (size_t i = 0; i < page->times.count; i++)
        text_format(text, "%s[%" PRIu64 ",%" PRIu64 "]", i ? "," : "",
                    page->times.items[i].index,
                    page->times.items[i].tsc - page->times.items[0].tsc);
    text_string(text, "]");
}

void page_json(struct page *page)
{
    struct session *session = page->session;
    struct text *text = &session->text;
    const struct trace *trace = &session->trace;

    text_char(text, '{');
    json_member(text, "file", base_name(trace->path));
    json_member(text, "provider", trace->header.provider);
    json_member(text, "producer", trace->header.producer);
    json_number(text, "hz", trace->header.tsc_hz);
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
