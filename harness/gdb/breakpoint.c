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

static const char *set_watch(struct gdb *gdb, unsigned number, uint64_t address,
                             unsigned access, unsigned bytes)
{
    if (!gdb->target.watch ||
        !gdb->target.watch(gdb->target.context, number, address, access, bytes))
        return "E.The processor cannot watch that.";
    gdb->watches[number].used = bytes > 0;
    gdb->watches[number].address = address;
    gdb->watches[number].access = (uint8_t)access;
    gdb->watches[number].bytes = (uint8_t)bytes;
    return "OK";
}

/* Debug registers; Z2 writes, Z4 accesses: the processor cannot watch reads alone. */
static const char *watch(struct gdb *gdb, bool insert, char kind, uint64_t address,
                         uint64_t bytes)
{
    unsigned access = kind == KIND_WRITE ? 1 : kind == KIND_ACCESS ? 3 : 0, free = 4;

    if (kind == KIND_READ)
        return "";
    if (kind == KIND_HARDWARE)
        bytes = 1;
    if ((bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8) || address % bytes)
        return "E.The processor cannot watch that.";
    for (unsigned i = 0; i < 4; i++) {
        bool same = gdb->watches[i].used && gdb->watches[i].address == address &&
                    gdb->watches[i].access == access && gdb->watches[i].bytes == bytes;

        if (same)
            return insert ? "OK" : set_watch(gdb, i, 0, 0, 0);
        if (!gdb->watches[i].used && free == 4)
            free = i;
    }
    if (!insert)
        return "OK";
    return free == 4 ? "E.All four debug registers are taken."
                     : set_watch(gdb, free, address, access, (unsigned)bytes);
}

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
        if (gdb->watches[i].used)
            set_watch(gdb, i, 0, 0, 0);
}
