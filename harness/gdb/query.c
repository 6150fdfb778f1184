/* SPDX-License-Identifier: BSD-2-Clause */
/* What a debugger asks about the stub, and the switches it sets: q and Q packets. */
#include "harness/gdb/stub.h"
#include "harness/gdb/text.h"
#include "hw/string.h"

static const char supported[] =
    "PacketSize=1008;qXfer:features:read+;Qbtrace:bts+;Qbtrace:off+;Qbtrace-conf:bts:size+;"
    "qXfer:btrace:read+;qXfer:btrace-conf:read+;QStartNoAckMode+;vContSupported+;swbreak+;"
    "hwbreak+";
_Static_assert(PACKET_BYTES == 0x1008, "supported[] says so");

/*
 * No feature is described: without any, GDB takes the registers of x86-64. No operating system
 * either, or it would want a register of Linux's own with every write of the program counter.
 */
static const char target_xml[] =
    "<?xml version=\"1.0\"?><!DOCTYPE target SYSTEM \"gdb-target.dtd\"><target version=\"1.0\">"
    "<architecture>i386:x86-64</architecture><osabi>none</osabi></target>";

static const char conf_head[] = "<!DOCTYPE btrace-conf SYSTEM \"btrace-conf.dtd\">\n"
                                "<btrace-conf version=\"1.0\">\n";
static const char conf_tail[] = "</btrace-conf>\n";

static const char help_text[] =
    "blockstep on|off  single steps go from branch to branch (IA32_DEBUGCTL.BTF)\n"
    "help              this\n"
    "Branches are recorded by: record btrace bts\n";

/* --- recording */

void gdb_record_end(struct gdb *gdb)
{
    if (gdb->trace.on)
        gdb->target.record_end(gdb->target.context);
    btrace_end(&gdb->trace);
}

static const char *record(struct gdb *gdb)
{
    if (gdb->trace.on)
        return "E.Btrace already enabled.";
    return gdb->target.record(gdb->target.context, &gdb->trace, gdb->record_bytes,
                              gdb->registers.core[GDB_RIP]);
}

static void record_reply(struct gdb *gdb, const char *why)
{
    char *to = gdb->line.sent;

    if (why && strncmp(why, "E.", 2) != 0)
        to = text_put(to, "E.");
    gdb_reply_to(gdb, text_put(to, why ? why : "OK"));
}

static bool record_packet(struct gdb *gdb, const char *packet)
{
    uint64_t bytes;

    if (strcmp(packet, "Qbtrace:bts") == 0) {
        record_reply(gdb, record(gdb));
    } else if (strcmp(packet, "Qbtrace:off") == 0) {
        record_reply(gdb, gdb->trace.on ? NULL : "E.Branch tracing not enabled.");
        gdb_record_end(gdb);
    } else if (text_word(&packet, "Qbtrace-conf:bts:size=")) {
        bool good = text_number(&packet, &bytes) && !*packet && bytes > 0;

        if (good)
            gdb->record_bytes = bytes;
        gdb_reply(gdb, good ? "OK" : "E.Bad size value.");
    } else {
        return false;
    }
    return true;
}

/* --- documents */

/* Part of one, as `m` or, with its end, `l`. */
static void reply_part(struct gdb *gdb, const char *text, uint64_t offset, size_t room)
{
    size_t bytes = strlen(text), start = offset < bytes ? (size_t)offset : bytes;
    size_t count = bytes - start < room ? bytes - start : room;

    gdb->line.sent[0] = start + count == bytes ? 'l' : 'm';
    memcpy(gdb->line.sent + 1, text + start, count);
    gdb_reply_to(gdb, gdb->line.sent + 1 + count);
}

static void reply_trace(struct gdb *gdb, const char *annex, uint64_t offset, size_t room)
{
    const char *why = NULL;
    bool last;
    size_t count;

    if (offset == 0)
        why = btrace_open(&gdb->trace, annex, gdb->registers.core[GDB_RIP]);
    else if (!gdb->trace.open)
        why = "E.The document has changed.";
    if (why) {
        gdb_reply(gdb, why);
        return;
    }
    count = btrace_read(&gdb->trace, offset, gdb->line.sent + 1, room, &last);
    gdb->line.sent[0] = last ? 'l' : 'm';
    gdb_reply_to(gdb, gdb->line.sent + 1 + count);
}

static void reply_conf(struct gdb *gdb, uint64_t offset, size_t room)
{
    char text[sizeof(conf_head) + sizeof(conf_tail) + 48];
    char *to = text_put(text, conf_head);

    if (gdb->trace.on) {
        to = text_put(to, "<bts size=\"0x");
        to = text_hex(to, gdb->trace.bytes, 16);
        to = text_put(to, "\"/>\n");
    }
    text_put(to, conf_tail);
    reply_part(gdb, text, offset, room);
}

/* `OBJECT:read:ANNEX:OFFSET,COUNT` */
static void transfer(struct gdb *gdb, const char *packet)
{
    static const char *const objects[] = {
        "features:read:", "btrace:read:", "btrace-conf:read:"};
    const char *part, *annex;
    char name[16];
    uint64_t offset, room;
    unsigned object = 0;

    while (object < 3 && !text_word(&packet, objects[object]))
        object++;
    annex = packet;
    part = strchr(packet, ':');
    if (object == 3) {
        gdb_reply(gdb, NULL);
        return;
    }
    if (!part || (size_t)(part - annex) >= sizeof(name)) {
        gdb_reply(gdb, "E00");
        return;
    }
    memcpy(name, annex, (size_t)(part - annex));
    name[part++ - annex] = 0;
    if (!text_number(&part, &offset) || !text_skip(&part, ',') || !text_number(&part, &room) ||
        *part || room == 0) {
        gdb_reply(gdb, "E00");
        return;
    }
    if (room > PACKET_BYTES - 1)
        room = PACKET_BYTES - 1;
    if (object == 1)
        reply_trace(gdb, name, offset, (size_t)room);
    else if (object == 2)
        reply_conf(gdb, offset, (size_t)room);
    else if (strcmp(name, "target.xml") == 0)
        reply_part(gdb, target_xml, offset, (size_t)room);
    else
        gdb_reply(gdb, "E00");
}

/* --- monitor */

static const char *block_step(struct gdb *gdb, bool on)
{
    if (!gdb->target.block_step || !gdb->target.block_step(gdb->target.context, on))
        return "this processor cannot step from branch to branch\n";
    return on ? "single steps go from branch to branch\n"
              : "single steps go from instruction to instruction\n";
}

static void monitor(struct gdb *gdb, const char *packet)
{
    char command[32];
    size_t count = text_unhex(&packet, command, sizeof(command) - 1);
    const char *answer = "not a command here: try monitor help\n";

    command[count] = 0;
    if (!*packet && strcmp(command, "blockstep on") == 0)
        answer = block_step(gdb, true);
    else if (!*packet && strcmp(command, "blockstep off") == 0)
        answer = block_step(gdb, false);
    else if (!*packet && strcmp(command, "help") == 0)
        answer = help_text;
    gdb_reply_to(gdb, text_bytes(gdb->line.sent, answer, strlen(answer)));
}

/* --- the rest */

/* A new session: nothing of an older one, whose line dropped, may be left but the recording. */
static void begin_session(struct gdb *gdb, const char *packet)
{
    static const char wanted[] = "swbreak+";

    gdb_breakpoints_forget(gdb);
    gdb->swbreak = false;
    for (; *packet; packet++)
        gdb->swbreak |= strncmp(packet, wanted, sizeof(wanted) - 1) == 0;
    gdb_reply(gdb, supported);
}

bool gdb_query(struct gdb *gdb, const char *packet)
{
    static const char *const fixed[][2] = {{"qfThreadInfo", "m1"},
                                           {"qsThreadInfo", "l"},
                                           {"qAttached", "1"},
                                           {"qC", "QC1"},
                                           {"qSymbol::", "OK"}};

    if (text_word(&packet, "qSupported")) {
        begin_session(gdb, packet);
        return true;
    }
    if (strcmp(packet, "QStartNoAckMode") == 0) {
        gdb_reply(gdb, "OK");
        gdb->line.no_ack = true;
        return true;
    }
    if (text_word(&packet, "qXfer:")) {
        transfer(gdb, packet);
        return true;
    }
    if (text_word(&packet, "qRcmd,")) {
        monitor(gdb, packet);
        return true;
    }
    for (unsigned i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
        if (strcmp(packet, fixed[i][0]) == 0) {
            gdb_reply(gdb, fixed[i][1]);
            return true;
        }
    return record_packet(gdb, packet);
}
