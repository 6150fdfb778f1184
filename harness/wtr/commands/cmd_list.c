/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `wtr list`: every branch in order, with function, offset and source line; events between
 * them as lines that begin with `#`. --raw: from and to in hexadecimal and nothing else.
 */
#include "harness/wtr/core/wtr.h"

#include <stdlib.h>
#include <string.h>

struct list {
    struct session *session;
    struct text *text;
    VECTOR(char *) lines; /* ready "prog.c:12" of each place */
    bool many_tasks;
};

static bool in_window(const struct list *list, uint64_t index)
{
    const struct options *o = list->session->options;

    return index >= o->first && (!o->count || index - o->first < o->count);
}

/* "prog.c:12" of a place, "" without one; made once. */
static const char *line_text(struct list *list, uint32_t place)
{
    const struct space *space = &list->session->space;
    const struct line *line;
    const char *file, *base;
    char **ready;

    while (list->lines.count <= place)
        PUSH(&list->lines);
    ready = &list->lines.items[place];
    if (*ready)
        return *ready;
    line = place_line(space, &space->places.items[place], &file);
    if (!line)
        return *ready = text_copy("", 0);
    base = base_name(file);
    *ready = allocate(strlen(base) + 16, 1);
    sprintf(*ready, "%s:%u", base, line->number);
    return *ready;
}

static void put_place(struct list *list, uint32_t place)
{
    struct space *space = &list->session->space;
    const char *name = place_text(space, place);

    text_hex(list->text, space->places.items[place].address);
    if (name[0]) {
        text_char(list->text, ' ');
        text_string(list->text, name);
    }
}

static void put_padded(struct text *text, const char *word, size_t width)
{
    size_t length = strlen(word);

    text_string(text, word);
    for (; length < width; length++)
        text_char(text, ' ');
}

static void put_lines(struct list *list, const struct step *step)
{
    char from[512];
    const char *to;

    snprintf(from, sizeof from, "%s", line_text(list, step->from));
    to = line_text(list, step->to);
    if (!from[0] && !to[0])
        return;
    text_string(list->text, "  ");
    text_string(list->text, from[0] ? from : "?");
    text_string(list->text, " => ");
    text_string(list->text, to[0] ? to : "?");
}

static void list_step(void *context, const struct step *step)
{
    struct list *list = context;
    const struct space *space = &list->session->space;

    if (step->moved || !in_window(list, step->branch->index))
        return;
    if (step->run == RUN_BROKEN)
        text_string(list->text, "# no straight way leads here: branches are missing\n");
    text_columns(list->text, step->branch->index, 8);
    if (list->many_tasks) {
        text_string(list->text, " t");
        text_decimal(list->text, step->branch->task);
    }
    text_char(list->text, ' ');
    put_padded(list->text, branch_name(&space->places.items[step->from], step->event), 8);
    text_char(list->text, ' ');
    put_place(list, step->from);
    text_string(list->text, " => ");
    put_place(list, step->to);
    put_lines(list, step);
    text_char(list->text, '\n');
}

static void list_event(void *context, const struct event *event)
{
    struct list *list = context;
    char words[256];

    event_text(event, words, sizeof words);
    if (words[0] && in_window(list, event->index))
        text_format(list->text, "# %s\n", words);
}

static void raw_branch(void *context, const struct branch *branch)
{
    struct list *list = context;
    uint32_t task = list->session->options->task;

    if (!in_window(list, branch->index) || (task && branch->task != task))
        return;
    text_hex(list->text, branch->from);
    text_char(list->text, ' ');
    text_hex(list->text, branch->to);
    text_char(list->text, '\n');
}

static void raw_event(void *context, const struct event *event)
{
    (void)context;
    (void)event;
}

bool command_list(struct session *session)
{
    static const struct flow flow = {.step = list_step, .event = list_event};
    static const struct visitor raw = {.branch = raw_branch, .event = raw_event};
    struct list list = {.session = session,
                        .text = &session->text,
                        .many_tasks = session->space.tasks.count > 1};

    if (session->options->raw)
        trace_walk(&session->trace, &raw, &list);
    else
        flow_walk(&session->space, &flow, session->options->task, &list);
    for (size_t i = 0; i < list.lines.count; i++)
        free(list.lines.items[i]);
    free(list.lines.items);
    return true;
}
