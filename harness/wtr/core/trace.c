/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens a trace file: header, then an index of its good records. Where size or check of a
 * record do not agree, the next good one is looked for.
 */
#include "harness/wtr/core/trace.h"

#include "harness/tracefile/wtr_write.h"
#include "harness/wtr/core/records.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Candidates after damage may be large and overlap; so many bytes for each of the file's. */
#define SEARCH_EFFORT 16

static uint32_t check_of(uint8_t *bytes, size_t count, size_t check_at)
{
    uint32_t stored, computed;

    memcpy(&stored, bytes + check_at, 4);
    memset(bytes + check_at, 0, 4);
    computed = wtr_check(bytes, count);
    memcpy(bytes + check_at, &stored, 4);
    return computed;
}

static const char *read_header(struct trace *trace)
{
    struct wtr_file_header *header = &trace->header;

    if (trace->size < sizeof *header || memcmp(trace->bytes, WTR_MAGIC, 8) != 0) {
        if (trace->size >= 4 && memcmp(trace->bytes + 1, &WTR_MAGIC[1], 3) == 0)
            return "damaged in transfer; copy it again, as binary";
        return trace->size ? "not a branch trace (trace.wtr)" : "empty; record it again";
    }
    memcpy(header, trace->bytes, sizeof *header);
    if (header->major != WTR_MAJOR)
        return "of another version of the format; use the wtr of its recorder";
    if (header->bytes < sizeof *header || header->bytes % 8 || header->bytes > trace->size ||
        check_of(trace->bytes, header->bytes, offsetof(struct wtr_file_header, check)) !=
            header->check)
        return "damaged in its header; copy or record it again";
    header->provider[sizeof header->provider - 1] = '\0';
    header->producer[sizeof header->producer - 1] = '\0';
    return NULL;
}

/* The good record at offset, or NULL; *effort counts the bytes looked at. */
static const struct wtr_record *record_at(struct trace *trace, uint64_t offset,
                                          uint64_t *effort)
{
    struct wtr_record *record = (struct wtr_record *)(trace->bytes + offset);

    if (trace->size - offset < sizeof *record || record->bytes < sizeof *record ||
        record->bytes % 8 || record->bytes > WTR_RECORD_MAX ||
        record->bytes > trace->size - offset)
        return NULL;
    *effort += record->bytes;
    if (check_of(trace->bytes + offset, record->bytes, offsetof(struct wtr_record, check)) !=
        record->check)
        return NULL;
    return record_sound(record) ? record : NULL;
}

static void count_record(struct trace *trace, const struct wtr_record *record)
{
    unsigned kind = record->kind < WTR_KINDS ? record->kind : 0;

    trace->kinds[kind]++;
    trace->kind_bytes[kind] += record->bytes;
    trace->branches += record_branches(record);
    if (record->kind == WTR_END) {
        trace->ended = true;
        memcpy(&trace->end, record + 1, sizeof trace->end);
    }
}

/* Skips to the next good record after a bad one at offset; returns its offset or the size. */
static uint64_t skip_damage(struct trace *trace, uint64_t offset)
{
    uint64_t effort = 0, limit = (uint64_t)trace->size * SEARCH_EFFORT, at = offset;
    struct damage *damage;

    do {
        at += 8;
    } while (at + sizeof(struct wtr_record) <= trace->size && effort < limit &&
             !record_at(trace, at, &effort));
    if (at + sizeof(struct wtr_record) > trace->size || effort >= limit)
        at = trace->size;
    damage = PUSH(&trace->damages);
    *damage = (struct damage){.offset = offset, .bytes = at - offset};
    *PUSH(&trace->offsets) = TRACE_GAP;
    return at;
}

static void index_records(struct trace *trace)
{
    uint64_t offset = trace->header.bytes, effort = 0;

    while (offset < trace->size && !trace->ended) {
        const struct wtr_record *record = record_at(trace, offset, &effort);

        if (!record) {
            offset = skip_damage(trace, offset);
            continue;
        }
        *PUSH(&trace->offsets) = offset;
        count_record(trace, record);
        offset += record->bytes;
    }
    trace->after_end = trace->size - offset;
}

bool trace_adopt(struct trace *trace, const char *path, uint8_t *bytes, size_t size)
{
    const char *why;

    *trace = (struct trace){.path = path, .bytes = bytes, .size = size};
    why = read_header(trace);
    if (why) {
        complain("%s: %s", path, why);
        free(bytes);
        return false;
    }
    index_records(trace);
    return true;
}

bool trace_open(struct trace *trace, const char *path)
{
    size_t size;
    const char *why;
    uint8_t *bytes = strcmp(path, "-") == 0 ? standard_input_read(&size, &why)
                                            : file_read(path, &size, &why);

    if (!bytes) {
        complain("%s: cannot read: %s", path, why);
        return false;
    }
    return trace_adopt(trace, path, bytes, size);
}

void trace_close(struct trace *trace)
{
    free(trace->bytes);
    free(trace->offsets.items);
    free(trace->damages.items);
}

void trace_walk(const struct trace *trace, const struct visitor *visitor, void *context)
{
    uint64_t index = 0;

    for (size_t i = 0; i < trace->offsets.count; i++) {
        uint64_t offset = trace->offsets.items[i];
        struct event gap = {.kind = WTR_LOST, .index = index};

        if (offset != TRACE_GAP) {
            record_visit((const struct wtr_record *)(trace->bytes + offset), &index, visitor,
                         context);
            continue;
        }
        gap.lost = (struct wtr_lost){.count = WTR_UNKNOWN, .reason = WTR_REASON_DAMAGE};
        visitor->event(context, &gap);
    }
}

static bool totals_agree(const struct trace *trace)
{
    uint64_t records = trace->offsets.count - trace->damages.count - 1;

    return trace->end.records == records && trace->end.branches == trace->branches;
}

bool trace_whole(const struct trace *trace)
{
    bool whole = trace->ended && !trace->damages.count;

    for (size_t i = 0; i < trace->damages.count && i < 8; i++)
        complain("%s: damaged at byte %" PRIu64 ": %" PRIu64
                 " bytes skipped, the rest is shown",
                 trace->path, trace->damages.items[i].offset, trace->damages.items[i].bytes);
    if (trace->damages.count > 8)
        complain("%s: damaged in %zu more places", trace->path, trace->damages.count - 8);
    if (!trace->ended)
        complain("%s: cut short: no end record; the %" PRIu64 " branches before are shown",
                 trace->path, trace->branches);
    if (trace->ended && !totals_agree(trace)) {
        complain("%s: incomplete: %" PRIu64 " branches of %" PRIu64 " are there", trace->path,
                 trace->branches, trace->end.branches);
        whole = false;
    }
    if (trace->ended && trace->after_end) {
        complain("%s: %" PRIu64 " bytes after the end record are ignored", trace->path,
                 trace->after_end);
        whole = false;
    }
    return whole;
}

struct losses {
    uint64_t branches, unknown;
};

static void no_branch(void *context, const struct branch *branch)
{
    (void)context;
    (void)branch;
}

static void count_lost(void *context, const struct event *event)
{
    struct losses *losses = context;

    if (event->kind != WTR_LOST && event->kind != WTR_WRAP)
        return;
    if (event->lost.count == WTR_UNKNOWN)
        losses->unknown++;
    else
        losses->branches += event->lost.count;
}

bool trace_has_gaps(const struct trace *trace)
{
    static const struct visitor visitor = {.branch = no_branch, .event = count_lost};
    struct losses losses = {0};

    /* Gaps that a reader makes up where the file is damaged are told elsewhere. */
    if (trace->kinds[WTR_LOST] + trace->kinds[WTR_WRAP] == 0)
        return false;
    trace_walk(trace, &visitor, &losses);
    if (losses.unknown)
        complain("%s: not whole: the recorder lost %" PRIu64 " branches and %" PRIu64
                 " times an unknown number; see wtr list",
                 trace->path, losses.branches, losses.unknown);
    else
        complain("%s: not whole: the recorder lost %" PRIu64 " branches; see wtr list",
                 trace->path, losses.branches);
    return true;
}
