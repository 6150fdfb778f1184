/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files that a debugger reads through the stub: the program itself, so that it needs no copy of
 * its own, and the list of its memory that Linux would show under /proc (`info proc mappings`,
 * `generate-core-file`). Nothing is written. Source: the GDB manual, "Host I/O Packets";
 * proc(5), "/proc/pid/maps".
 */
#include "harness/gdb/stub.h"
#include "harness/gdb/text.h"
#include "hw/string.h"

enum { FILE_PROGRAM = 3, FILE_MAPS };
enum { ERROR_NOENT = 2, ERROR_BADF = 9, ERROR_ACCES = 13, ERROR_INVAL = 22 };

#define NAME_BYTES 512u
#define STAT_BYTES 64u /* File-I/O's own struct stat, big-endian */
#define STAT_MODE  8u
#define STAT_SIZE  28u
#define MODE_FILE  0100444u

static void reply_error(struct gdb *gdb, unsigned error)
{
    char *to = text_put(gdb->line.sent, "F-1,");

    gdb_reply_to(gdb, text_hex(to, error, 2));
}

/* --- /proc/PID/maps */

#define MAPS_LINE 80u

static char *put_mapping(char *to, const struct gdb_mapping *m)
{
    to = text_hex(to, m->start, 12);
    to = text_hex(text_put(to, "-"), m->end, 12);
    to = text_put(to, " r");
    to = text_put(to, m->write ? "w" : "-");
    to = text_put(to, m->execute ? "x" : "-");
    return text_put(to, "p 00000000 00:00 0 \n");
}

size_t gdb_maps(struct gdb *gdb, uint64_t offset, char *to, size_t room)
{
    struct gdb_mapping m = {0};
    uint64_t at = 0;
    size_t used = 0;
    char line[MAPS_LINE];

    while (used < room && gdb->target.mapping &&
           gdb->target.mapping(gdb->target.context, m.end, &m)) {
        size_t bytes = (size_t)(put_mapping(line, &m) - line);
        uint64_t skip = offset + used - at;
        size_t part = skip < bytes ? bytes - (size_t)skip : 0;

        if (part > room - used)
            part = room - used;
        memcpy(to + used, line + (part ? skip : 0), part);
        used += part;
        at += bytes;
    }
    return used;
}

/* --- packets */

static bool is_maps(const char *name)
{
    uint64_t number;

    /* Whatever numbers the debugger gives the only process and its thread. */
    if (!text_word(&name, "/proc/") || !text_number(&name, &number))
        return false;
    if (text_word(&name, "/task/") && !text_number(&name, &number))
        return false;
    return strcmp(name, "/maps") == 0;
}

static void open_file(struct gdb *gdb, const char *packet)
{
    char name[NAME_BYTES];
    size_t count = text_unhex(&packet, name, sizeof(name) - 1);
    uint64_t flags, mode;

    name[count] = 0;
    if (!text_skip(&packet, ',') || !text_number(&packet, &flags) || !text_skip(&packet, ',') ||
        !text_number(&packet, &mode))
        reply_error(gdb, ERROR_INVAL);
    else if (flags & 3)
        reply_error(gdb, ERROR_ACCES);
    else if (gdb->target.path && gdb->target.file && strcmp(name, gdb->target.path) == 0)
        gdb_reply_to(gdb, text_hex(text_put(gdb->line.sent, "F"), FILE_PROGRAM, 1));
    else if (is_maps(name) && gdb->target.mapping)
        gdb_reply_to(gdb, text_hex(text_put(gdb->line.sent, "F"), FILE_MAPS, 1));
    else
        reply_error(gdb, ERROR_NOENT);
}

/* `Fcount;bytes`: the count's digits are fixed, so that its text does not move the bytes. */
#define COUNT_DIGITS 4u
#define DATA_AT      (1 + COUNT_DIGITS + 1)

static void reply_data(struct gdb *gdb, size_t count)
{
    char *to = text_hex(text_put(gdb->line.sent, "F"), count, COUNT_DIGITS);

    *to = ';';
    gdb_reply_to(gdb, gdb->line.sent + DATA_AT + count);
}

static void read_file(struct gdb *gdb, const char *packet)
{
    char *to = gdb->line.sent + DATA_AT;
    uint64_t file, count, offset;

    if (!text_number(&packet, &file) || !text_skip(&packet, ',') ||
        !text_number(&packet, &count) || !text_skip(&packet, ',') ||
        !text_number(&packet, &offset)) {
        reply_error(gdb, ERROR_INVAL);
        return;
    }
    if (count > PACKET_BYTES - DATA_AT)
        count = PACKET_BYTES - DATA_AT;
    if (file == FILE_MAPS) {
        reply_data(gdb, gdb_maps(gdb, offset, to, (size_t)count));
    } else if (file == FILE_PROGRAM && gdb->target.file) {
        uint64_t bytes = gdb->target.file_bytes;
        uint64_t left = offset < bytes ? bytes - offset : 0;

        count = count < left ? count : left;
        if (count)
            memcpy(to, gdb->target.file + offset, (size_t)count);
        reply_data(gdb, (size_t)count);
    } else {
        reply_error(gdb, ERROR_BADF);
    }
}

static void put_big(uint8_t *to, uint64_t value, unsigned bytes)
{
    for (; bytes > 0; value >>= 8)
        to[--bytes] = (uint8_t)value;
}

static void stat_file(struct gdb *gdb, const char *packet)
{
    uint8_t *to = (uint8_t *)gdb->line.sent + DATA_AT;
    uint64_t file;

    if (!text_number(&packet, &file) || (file != FILE_MAPS && file != FILE_PROGRAM)) {
        reply_error(gdb, ERROR_BADF);
        return;
    }
    memset(to, 0, STAT_BYTES);
    put_big(to + STAT_MODE, MODE_FILE, 4);
    put_big(to + STAT_SIZE, file == FILE_PROGRAM ? gdb->target.file_bytes : 0, 8);
    reply_data(gdb, STAT_BYTES);
}

bool gdb_file_packet(struct gdb *gdb, const char *packet)
{
    if (!text_word(&packet, "vFile:"))
        return false;
    if (text_word(&packet, "open:"))
        open_file(gdb, packet);
    else if (text_word(&packet, "pread:"))
        read_file(gdb, packet);
    else if (text_word(&packet, "fstat:"))
        stat_file(gdb, packet);
    else if (text_word(&packet, "close:") || text_word(&packet, "setfs:"))
        gdb_reply(gdb, "F0");
    else if (text_word(&packet, "readlink:"))
        reply_error(gdb, ERROR_INVAL);
    else if (text_word(&packet, "pwrite:") || text_word(&packet, "unlink:"))
        reply_error(gdb, ERROR_ACCES);
    else
        gdb_reply(gdb, NULL);
    return true;
}
