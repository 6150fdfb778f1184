/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What every part of wtr needs: memory that is there or the program ends, vectors, a hash map
 * of 64-bit keys, whole files, and complaints.
 */
#ifndef HARNESS_WTR_CORE_UTIL_H
#define HARNESS_WTR_CORE_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The tool's exit statuses. */
enum status {
    STATUS_GOOD,
    STATUS_PARTIAL, /* the trace is damaged or incomplete; what could be read was shown */
    STATUS_BAD,     /* nothing could be done with the input */
    STATUS_USAGE,
    STATUS_GAPS /* the file is whole, and says that branches are missing from the recording */
};

void *allocate(size_t count, size_t each); /* zeroed */
char *text_copy(const char *text, size_t bytes);

/* Room for one more item; returns the vector, moved if it had to grow. */
void *grow(void *items, size_t *room, size_t count, size_t each);

#define VECTOR(type)                                                                           \
    struct {                                                                                   \
        type *items;                                                                           \
        size_t count, room;                                                                    \
    }

/* A pointer to a new zeroed item at the end; older pointers become void. */
#define PUSH(vector)                                                                           \
    ((vector)->items =                                                                         \
         grow((vector)->items, &(vector)->room, (vector)->count, sizeof *(vector)->items),     \
     &(vector)->items[(vector)->count++])

/* Keys to numbers below 2^32 - 1; a fresh key gets MAP_NEW. Zero-initialised is empty. */
#define MAP_NEW 0xFFFFFFFFu
struct map {
    struct map_slot {
        uint64_t key;
        uint32_t value, used;
    } * slots;
    size_t mask, count;
};

uint32_t *map_at(struct map *map, uint64_t key);        /* void after the next call */
uint32_t map_find(const struct map *map, uint64_t key); /* MAP_NEW when absent */
void map_free(struct map *map);

/* The whole of a file, or NULL with *why set (static text). */
uint8_t *file_read(const char *path, size_t *bytes, const char **why);
uint8_t *standard_input_read(size_t *bytes, const char **why);

/* One line on standard error, `wtr: ...`. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
extern bool complaints_muted;

#endif
