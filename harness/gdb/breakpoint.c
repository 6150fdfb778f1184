/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Breakpoints: INT3 in the program's own copy of its code, there only while it runs, so that
 * nobody who reads its memory ever sees one; and the debug registers.
 */
#include "harness/gdb/stub.h"
#include "harness/gdb/text.h"

#define INT3 0xCC

/* Kinds of Z and z packets. */
enum { KIND_SOFTWARE = '0', KIND_HARDWARE, KIND_WRITE, KIND_READ, KIND_ACCESS };

static struct gdb_breakpoint *find(struct gdb *gdb, uint64_t address)
{
    for (unsigned i = 0; i < GDB_BREAKPOINTS; i++)
        if (gdb->breakpoints[i].used && gdb->breakpoints[i].address == address)
            return &gdb->breakpoints[i];
    return NULL;
}

bool gdb_breakpoint_at(const struct gdb *gdb, uint64_t address)
{
    return find((struct gdb *)gdb, address);
}

static const char *add(struct gdb *gdb, uint64_t address)
{
    uint8_t byte;

    if (find(gdb, address))
        return "OK";
    if (gdb->target.read(gdb->target.context, address, &byte, 1) != 1)
        return "E.The program has no memory there.";
    for (unsigned i = 0; i < GDB_BREAKPOINTS; i++)
        if (!gdb->breakpoints[i].used) {
            gdb->breakpoints[i] = (struct gdb_breakpoint){.address = address, .used = true};
            return "OK";
        }
    return "E.Too many breakpoints.";
}

/* --- debug registers */

static bool set_watch(struct gdb *gdb, unsigned number, struct gdb_watch w)
{
    if (!gdb->target.watch || !gdb->target.watch(gdb->target.context, number, w.address,
                                                 w.access, w.users ? w.bytes : 0))
        return false;
    gdb->watches[number] = w;
    return true;
}

/* The register of a piece, 4 when there is none; a free one when it is to be taken. */
static unsigned register_of(const struct gdb *gdb, const struct gdb_watch *w, bool take)
{
    for (unsigned i = 0; i < 4; i++)
        if (gdb->watches[i].users && gdb->watches[i].address == w->address &&
            gdb->watches[i].access == w->access && gdb->watches[i].bytes == w->bytes)
            return i;
    for (unsigned i = 0; take && i < 4; i++)
        if (!gdb->watches[i].users)
            return i;
    return 4;
}

static const char *insert_piece(struct gdb *gdb, struct gdb_watch w)
{
    unsigned i = register_of(gdb, &w, true);

    if (i == 4)
        return "E.All four debug registers are taken.";
    w.users = gdb->watches[i].users + 1;
    return set_watch(gdb, i, w) ? "OK" : "E.The processor cannot watch that.";
}

static void remove_piece(struct gdb *gdb, struct gdb_watch w)
{
    unsigned i = register_of(gdb, &w, false);

    if (i == 4)
        return;
    w.users = gdb->watches[i].users - 1;
    set_watch(gdb, i, w);
}

/* The longest piece that one register can watch from there on. */
static uint8_t piece_bytes(uint64_t address, uint64_t bytes)
{
    uint8_t piece = 8;

    while (piece > bytes || address % piece)
        piece /= 2;
    return piece;
}

/*
 * A range that one register cannot watch is put together of several. Either all of its pieces
 * are watched or none. Z2 writes, Z4 accesses: the processor cannot watch reads alone.
 */
static const char *watch(struct gdb *gdb, bool insert, char kind, uint64_t address,
                         uint64_t bytes)
{
    struct gdb_watch w = {.address = address,
                          .access = kind == KIND_WRITE    ? 1
                                    : kind == KIND_ACCESS ? 3
                                                          : 0};
    uint64_t done = 0;
    const char *why = "OK";

    if (kind == KIND_READ)
        return "";
    if (kind == KIND_HARDWARE)
        bytes = 1;
    if (bytes == 0 || bytes > 4 * 8)
        return "E.The processor cannot watch that.";
    for (; done < bytes && why[0] == 'O'; done += w.bytes) {
        w.address = address + done;
        w.bytes = piece_bytes(w.address, bytes - done);
        if (insert)
            why = insert_piece(gdb, w);
        else
            remove_piece(gdb, w);
    }
    if (why[0] != 'O')
        watch(gdb, false, kind, address, done - w.bytes);
    return why;
}

/* --- packets */

bool gdb_breakpoint_packet(struct gdb *gdb, const char *packet)
{
    bool insert = packet[0] == 'Z';
    char kind;
    uint64_t address, bytes;
    struct gdb_breakpoint *b;

    if (packet[0] != 'Z' && packet[0] != 'z')
        return false;
    kind = packet[1];
    if (kind < KIND_SOFTWARE || kind > KIND_ACCESS)
        return false;
    packet += 2;
    if (!text_skip(&packet, ',') || !text_number(&packet, &address) ||
        !text_skip(&packet, ',') || !text_number(&packet, &bytes)) {
        gdb_reply(gdb, "E01");
        return true;
    }
    if (kind != KIND_SOFTWARE) {
        gdb_reply(gdb, watch(gdb, insert, kind, address, bytes));
    } else if (insert) {
        gdb_reply(gdb, add(gdb, address));
    } else {
        b = find(gdb, address);
        if (b)
            b->used = false;
        gdb_reply(gdb, "OK");
    }
    return true;
}

void gdb_breakpoints_insert(struct gdb *gdb)
{
    static const uint8_t int3 = INT3;

    for (unsigned i = 0; i < GDB_BREAKPOINTS; i++) {
        struct gdb_breakpoint *b = &gdb->breakpoints[i];

        if (b->used && !b->inserted)
            b->inserted = gdb->target.read(gdb->target.context, b->address, &b->was, 1) == 1 &&
                          gdb->target.write(gdb->target.context, b->address, &int3, 1);
    }
}

void gdb_breakpoints_remove(struct gdb *gdb)
{
    uint8_t byte;

    for (unsigned i = 0; i < GDB_BREAKPOINTS; i++) {
        struct gdb_breakpoint *b = &gdb->breakpoints[i];

        /* A program that wrote over it must not have that undone. */
        if (b->inserted && gdb->target.read(gdb->target.context, b->address, &byte, 1) == 1 &&
            byte == INT3)
            gdb->target.write(gdb->target.context, b->address, &b->was, 1);
        b->inserted = false;
    }
}

void gdb_breakpoints_forget(struct gdb *gdb)
{
    for (unsigned i = 0; i < GDB_BREAKPOINTS; i++)
        gdb->breakpoints[i].used = false;
    for (unsigned i = 0; i < 4; i++)
        if (gdb->watches[i].users) {
            gdb->watches[i].users = 0;
            set_watch(gdb, i, gdb->watches[i]);
        }
}
