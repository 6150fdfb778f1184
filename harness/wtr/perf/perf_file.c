/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Puts perf.data together. Nothing in it depends on the time or the machine of the export, so
 * that two exports of one trace are the same.
 */
#include "harness/wtr/perf/perf_file.h"

#include <stdlib.h>
#include <string.h>

#define HEADER_BYTES 104

/* Feature sections by their bits, in rising order. */
enum {
    FEATURE_BUILD_ID = 2,
    FEATURE_VERSION = 5,
    FEATURE_ARCH = 6,
    FEATURE_CMDLINE = 11,
    FEATURE_EVENT_DESC = 12
};

static void put_zeros(struct bytes *to, size_t multiple)
{
    static const uint8_t zeros[64];

    put_bytes(to, zeros, (multiple - to->count % multiple) % multiple);
}

void put_padded_string(struct bytes *to, const char *string)
{
    put_bytes(to, string, strlen(string) + 1);
    put_zeros(to, 8);
}

/* As header sections have it: the padded length, then the string. */
static void put_counted_string(struct bytes *to, const char *string)
{
    put_u32(to, (uint32_t)(strlen(string) + 1 + 63) & ~63u);
    put_bytes(to, string, strlen(string));
    put_bytes(to, (const uint8_t[64]){0}, 64 - strlen(string) % 64);
}

void perf_begin(struct perf_file *file, uint32_t type, uint16_t misc)
{
    file->open_record = file->data.count;
    put_u32(&file->data, type);
    put_u16(&file->data, misc);
    put_u16(&file->data, 0);
}

void perf_end(struct perf_file *file)
{
    uint16_t bytes = (uint16_t)(file->data.count - file->open_record);

    memcpy(file->data.at + file->open_record + 6, &bytes, sizeof bytes);
}

void perf_trailer(struct perf_file *file, uint32_t pid, uint32_t tid, uint64_t time,
                  uint64_t id)
{
    put_u32(&file->data, pid);
    put_u32(&file->data, tid);
    put_u64(&file->data, time);
    put_u64(&file->data, id);
}

void perf_build_id(struct perf_file *file, const uint8_t *id, size_t id_bytes, const char *path)
{
    struct bytes *to = &file->build_ids;
    size_t start = to->count;
    uint8_t field[24] = {0};
    uint16_t bytes;

    /* A process id would be taken for that of a guest's kernel. */
    put_u32(to, PERF_BUILD_ID);
    put_u16(to, 2 | 0x8000);
    put_u16(to, 0);
    put_u32(to, UINT32_MAX);
    memcpy(field, id, id_bytes < 20 ? id_bytes : 20);
    field[20] = (uint8_t)(id_bytes < 20 ? id_bytes : 20);
    put_bytes(to, field, sizeof field);
    put_padded_string(to, path);
    /* The header is 36 bytes long, so that the padding above was not enough. */
    put_zeros(to, 4);
    bytes = (uint16_t)(to->count - start);
    memcpy(to->at + start + 6, &bytes, sizeof bytes);
}

static void put_events(const struct perf_file *file, struct bytes *to)
{
    put_u32(to, (uint32_t)file->event_count);
    put_u32(to, PERF_ATTR_BYTES);
    for (size_t i = 0; i < file->event_count; i++) {
        put_bytes(to, &file->events[i].attr, PERF_ATTR_BYTES);
        put_u32(to, 1);
        put_counted_string(to, file->events[i].name);
        put_u64(to, file->events[i].id);
    }
}

/* Header, ids and attributes: everything before the data. */
static void put_head(const struct perf_file *file, struct bytes *to, uint64_t features)
{
    size_t ids = file->event_count * 8, attrs = file->event_count * (PERF_ATTR_BYTES + 16);

    put_bytes(to, "PERFILE2", 8);
    put_u64(to, HEADER_BYTES);
    put_u64(to, PERF_ATTR_BYTES + 16);
    put_u64(to, HEADER_BYTES + ids);
    put_u64(to, attrs);
    put_u64(to, HEADER_BYTES + ids + attrs);
    put_u64(to, file->data.count);
    put_u64(to, 0);
    put_u64(to, 0);
    put_u64(to, features);
    for (int i = 0; i < 3; i++)
        put_u64(to, 0);
    for (size_t i = 0; i < file->event_count; i++)
        put_u64(to, file->events[i].id);
    for (size_t i = 0; i < file->event_count; i++) {
        put_bytes(to, &file->events[i].attr, PERF_ATTR_BYTES);
        put_u64(to, HEADER_BYTES + i * 8);
        put_u64(to, 8);
    }
}

struct feature {
    unsigned bit;
    struct bytes content;
};

static void put_features(const struct feature *features, size_t count, uint64_t offset,
                         struct text *out)
{
    offset += count * 16;
    for (size_t i = 0; i < count; i++) {
        uint64_t section[2] = {offset, features[i].content.count};

        text_bytes(out, section, sizeof section);
        offset += features[i].content.count;
    }
    for (size_t i = 0; i < count; i++)
        text_bytes(out, features[i].content.at, features[i].content.count);
}

void perf_write(struct perf_file *file, struct text *out)
{
    struct feature features[5], *next = features;
    struct bytes head = {0}, version = {0}, arch = {0}, events = {0};
    uint64_t bits = 0;

    put_counted_string(&version, "wtr");
    put_counted_string(&arch, "x86_64");
    put_events(file, &events);
    if (file->build_ids.count)
        *next++ = (struct feature){FEATURE_BUILD_ID, file->build_ids};
    *next++ = (struct feature){FEATURE_VERSION, version};
    *next++ = (struct feature){FEATURE_ARCH, arch};
    if (file->arguments.count)
        *next++ = (struct feature){FEATURE_CMDLINE, file->arguments};
    *next++ = (struct feature){FEATURE_EVENT_DESC, events};
    for (struct feature *f = features; f < next; f++)
        bits |= 1ull << f->bit;
    put_head(file, &head, bits);
    text_bytes(out, head.at, head.count);
    text_bytes(out, file->data.at, file->data.count);
    put_features(features, (size_t)(next - features), head.count + file->data.count, out);
    free(head.at);
    free(version.at);
    free(arch.at);
    free(events.at);
}

void perf_free(struct perf_file *file)
{
    free(file->data.at);
    free(file->build_ids.at);
    free(file->arguments.at);
}
