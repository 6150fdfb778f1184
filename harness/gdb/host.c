/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What LLDB asks before it takes a stub for a debuggable process: the machine, the process, and
 * what lies at an address. Source: LLDB's documentation, "GDB Remote Protocol Extensions".
 */
#include "harness/gdb/stub.h"
#include "harness/gdb/text.h"
#include "hw/string.h"

/* Its text goes in hexadecimal digits. */
static const char triple[] = "x86_64-unknown-linux-gnu";

static void reply_machine(struct gdb *gdb, const char *first)
{
    char *to = text_put(text_put(gdb->line.sent, first), "triple:");

    to = text_bytes(to, triple, sizeof(triple) - 1);
    gdb_reply_to(gdb, text_put(to, ";ptrsize:8;endian:little;"));
}

/* The region that an address is in, with its permissions, or the hole that it is in. */
static void reply_region(struct gdb *gdb, const char *packet)
{
    struct gdb_mapping m = {0};
    uint64_t address;
    bool in, some;
    char *to = text_put(gdb->line.sent, "start:");

    if (!text_number(&packet, &address) || *packet || !gdb->target.mapping) {
        gdb_reply(gdb, "E01");
        return;
    }
    some = gdb->target.mapping(gdb->target.context, address, &m);
    in = some && m.start <= address;
    to = text_hex(to, in ? m.start : address, 16);
    to = text_put(to, ";size:");
    to = text_hex(to, in ? m.end - m.start : (some ? m.start : ~0ull) - address, 16);
    if (in) {
        to = text_put(to, ";permissions:r");
        to = text_put(to, m.write ? "w" : "");
        to = text_put(to, m.execute ? "x" : "");
    }
    gdb_reply_to(gdb, text_put(to, ";"));
}

bool gdb_host_packet(struct gdb *gdb, const char *packet)
{
    if (strcmp(packet, "qHostInfo") == 0)
        reply_machine(gdb, "");
    else if (strcmp(packet, "qProcessInfo") == 0 && !gdb->gone)
        reply_machine(gdb, "pid:1;");
    else if (strcmp(packet, "qOffsets") == 0)
        gdb_reply(gdb, "Text=0;Data=0;Bss=0"); /* programs run where they are linked for */
    else if (text_word(&packet, "qMemoryRegionInfo:"))
        reply_region(gdb, packet);
    else
        return false;
    return true;
}
