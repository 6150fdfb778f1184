/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory, vectors, hash map, files and complaints of wtr.
 */
#include "harness/wtr/core/util.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool complaints_muted;

void complain(const char *format, ...)
{
    va_list arguments;

    if (complaints_muted)
        return;
    va_start(arguments, format);
    fputs("wtr: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

static void *checked(void *memory)
{
    if (!memory) {
        complain("out of memory: the trace needs more than this machine has");
        exit(STATUS_BAD);
    }
    return memory;
}

void *allocate(size_t count, size_t each)
{
    return checked(calloc(count ? count : 1, each ? each : 1));
}

char *text_copy(const char *text, size_t bytes)
{
    char *copy = allocate(bytes + 1, 1);

    memcpy(copy, text, bytes);
    return copy;
}

void *grow(void *items, size_t *room, size_t count, size_t each)
{
    if (count == *room) {
        *room = *room ? *room * 2 : 16;
        items = checked(realloc(items, *room * each));
    }
    memset((char *)items + count * each, 0, each);
    return items;
}

/* Multiplying mixes upwards, so the index is taken from the top. */
static size_t map_home(const struct map *map, uint64_t key)
{
    key ^= key >> 32;
    return (size_t)(key * 0x9E3779B97F4A7C15ull >> 32) & map->mask;
}

static struct map_slot *map_slot(const struct map *map, uint64_t key)
{
    size_t at = map_home(map, key);

    while (map->slots[at].used && map->slots[at].key != key)
        at = (at + 1) & map->mask;
    return &map->slots[at];
}

static void map_widen(struct map *map)
{
    struct map wider = {.mask = map->slots ? map->mask * 2 + 1 : 63, .count = map->count};

    wider.slots = allocate(wider.mask + 1, sizeof *wider.slots);
    for (size_t i = 0; map->slots && i <= map->mask; i++) {
        if (map->slots[i].used)
            *map_slot(&wider, map->slots[i].key) = map->slots[i];
    }
    free(map->slots);
    *map = wider;
}

uint32_t *map_at(struct map *map, uint64_t key)
{
    struct map_slot *slot;

    if (!map->slots || map->count * 2 > map->mask)
        map_widen(map);
    slot = map_slot(map, key);
    if (!slot->used) {
        *slot = (struct map_slot){.key = key, .value = MAP_NEW, .used = 1};
        map->count++;
    }
    return &slot->value;
}

uint32_t map_find(const struct map *map, uint64_t key)
{
    const struct map_slot *slot;

    if (!map->slots)
        return MAP_NEW;
    slot = map_slot(map, key);
    return slot->used ? slot->value : MAP_NEW;
}

void map_free(struct map *map)
{
    free(map->slots);
    *map = (struct map){0};
}

static uint8_t *stream_read(FILE *stream, size_t *bytes, const char **why)
{
    size_t room = 1 << 16, count = 0, got;
    uint8_t *all = checked(malloc(room));

    while ((got = fread(all + count, 1, room - count, stream)) > 0) {
        count += got;
        if (count == room) {
            room *= 2;
            all = checked(realloc(all, room));
        }
    }
    *bytes = count;
    if (ferror(stream)) {
        *why = strerror(errno);
        free(all);
        return NULL;
    }
    return all;
}

uint8_t *file_read(const char *path, size_t *bytes, const char **why)
{
    FILE *stream = fopen(path, "rb");
    uint8_t *all;

    if (!stream) {
        *why = strerror(errno);
        return NULL;
    }
    all = stream_read(stream, bytes, why);
    fclose(stream);
    return all;
}

uint8_t *standard_input_read(size_t *bytes, const char **why)
{
    return stream_read(stdin, bytes, why);
}
