/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `wtr info`: what a trace file is and holds. `wtr output`: what the traced program wrote.
 */
#include "harness/wtr/core/records.h"
#include "harness/wtr/core/wtr.h"

#include <inttypes.h>
#include <string.h>

struct facts {
    struct session *session;
    struct text *text;
    uint64_t lost, lost_unknown, output_bytes, first_tsc, last_tsc;
    char ends[256];
};

static void note_time(struct facts *facts, uint64_t tsc)
{
    if (!facts->first_tsc)
        facts->first_tsc = tsc;
    facts->last_tsc = tsc;
}

static void put_arguments(struct facts *facts, const struct event *event)
{
    text_string(facts->text, "arguments ");
    for (uint32_t i = 0; i < event->data.bytes; i++)
        text_char(facts->text, event->tail[i] ? (char)event->tail[i] : ' ');
    text_char(facts->text, '\n');
}

static void info_event(void *context, const struct event *event)
{
    struct facts *facts = context;

    switch (event->kind) {
    case WTR_LOST:
    case WTR_WRAP:
        if (event->lost.count == WTR_UNKNOWN)
            facts->lost_unknown++;
        else
            facts->lost += event->lost.count;
        break;
    case WTR_ARRIVES:
    case WTR_DEPARTS:
    case WTR_TIME:
        note_time(facts, event->time.tsc);
        break;
    case WTR_OUTPUT:
        facts->output_bytes += event->data.bytes;
        break;
    case WTR_ARGUMENTS:
        put_arguments(facts, event);
        break;
    default:
        break;
    }
}

static void info_branch(void *context, const struct branch *branch)
{
    (void)context;
    (void)branch;
}

static void put_image(struct session *session, const struct image *image)
{
    struct text *text = &session->text;

    text_format(text, "image     %s", image->recorded_path);
    if (image->process)
        text_format(text, ", process %" PRIu32, image->process);
    text_format(text, ", %" PRIx64 "-%" PRIx64 ", bias %" PRIx64,
                image->segments.count ? image->low : 0, image->high, image->bias);
    text_string(text, image->program ? ", file " : ", no file");
    if (image->program)
        text_string(text, image->program->path);
    if (image->build_id_bytes)
        text_string(text, "\n          build-id ");
    for (size_t i = 0; i < image->build_id_bytes; i++)
        text_format(text, "%02x", image->build_id[i]);
    text_char(text, '\n');
}

static void put_task(struct session *session, const struct task *task)
{
    struct event event = {.kind = WTR_EXIT, .task = task->number, .exit = task->exit};
    char words[256];

    text_format(&session->text,
                "task      %" PRIu32 " %s, process %" PRIu32 ", %" PRIu64 " branches",
                task->number, task->name, task->process, task->branches);
    event_text(&event, words, sizeof words);
    /* The words repeat the task's number. */
    if (task->exited)
        text_format(&session->text, ",%s", strchr(words + 5, ' '));
    text_char(&session->text, '\n');
}

static void put_records(struct session *session)
{
    const struct trace *trace = &session->trace;
    uint64_t bytes = trace->kind_bytes[WTR_BRANCHES] + trace->kind_bytes[WTR_PACKED];

    text_format(&session->text, "branches  %" PRIu64, trace->branches);
    if (trace->branches)
        text_format(&session->text, ", %.2f bytes each", (double)bytes / trace->branches);
    text_string(&session->text, "\nrecords  ");
    for (unsigned kind = 1; kind <= WTR_KINDS; kind++) {
        /* Unknown kinds, counted at 0, come last. */
        unsigned k = kind % WTR_KINDS;

        if (trace->kinds[k])
            text_format(&session->text, " %" PRIu64 " %s", trace->kinds[k], record_name(k));
    }
    text_char(&session->text, '\n');
}

static void put_facts(struct facts *facts)
{
    const struct trace *trace = &facts->session->trace;

    text_format(facts->text, "lost      %" PRIu64 " branches", facts->lost);
    if (facts->lost_unknown)
        text_format(facts->text, " and %" PRIu64 " times an unknown number",
                    facts->lost_unknown);
    text_format(facts->text, "\noutput    %" PRIu64 " bytes\n", facts->output_bytes);
    if (facts->last_tsc > facts->first_tsc) {
        text_format(facts->text, "time      %" PRIu64 " ticks",
                    facts->last_tsc - facts->first_tsc);
        if (trace->header.tsc_hz)
            text_format(facts->text, ", %.6f s",
                        (double)(facts->last_tsc - facts->first_tsc) / trace->header.tsc_hz);
        text_char(facts->text, '\n');
    }
    text_format(facts->text, "file      %zu bytes, %s\n", trace->size,
                !trace->ended          ? "cut short: no end record"
                : trace->damages.count ? "damaged"
                                       : "whole");
}

bool command_info(struct session *session)
{
    static const struct visitor visitor = {.branch = info_branch, .event = info_event};
    const struct wtr_file_header *header = &session->trace.header;
    struct facts facts = {.session = session, .text = &session->text};

    text_format(&session->text, "format    %u.%u\nrecorder  %s, provider %s\n", header->major,
                header->minor, header->producer, header->provider);
    for (size_t i = 0; i < session->space.images.count; i++)
        put_image(session, &session->space.images.items[i]);
    trace_walk(&session->trace, &visitor, &facts);
    for (size_t i = 0; i < session->space.tasks.count; i++)
        put_task(session, &session->space.tasks.items[i]);
    put_records(session);
    put_facts(&facts);
    return true;
}

static void output_event(void *context, const struct event *event)
{
    struct session *session = context;

    if (event->kind == WTR_OUTPUT &&
        (!session->options->task || event->task == session->options->task))
        text_bytes(&session->text, event->tail, event->data.bytes);
}

bool command_output(struct session *session)
{
    static const struct visitor visitor = {.branch = info_branch, .event = output_event};

    trace_walk(&session->trace, &visitor, session);
    return true;
}
