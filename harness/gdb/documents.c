/* SPDX-License-Identifier: BSD-2-Clause */
/* Documents that a debugger reads in parts: qXfer packets. */
#include "harness/gdb/stub.h"
#include "harness/gdb/text.h"
#include "hw/string.h"

#define ROOM_MOST (PACKET_BYTES - 1)

static const char conf_head[] = "<!DOCTYPE btrace-conf SYSTEM \"btrace-conf.dtd\">\n"
                                "<btrace-conf version=\"1.0\">\n";
static const char conf_tail[] = "</btrace-conf>\n";

/* What was put behind the first character, as `m` or, with the end, `l`. */
static void reply_part(struct gdb *gdb, size_t count, bool last)
{
    gdb->line.sent[0] = last ? 'l' : 'm';
    gdb_reply_to(gdb, gdb->line.sent + 1 + count);
}

static void reply_text(struct gdb *gdb, const char *text, uint64_t offset, size_t room)
{
    size_t bytes = strlen(text), start = offset < bytes ? (size_t)offset : bytes;
    size_t count = bytes - start < room ? bytes - start : room;

    memcpy(gdb->line.sent + 1, text + start, count);
    reply_part(gdb, count, start + count == bytes);
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
    reply_part(gdb, count, last);
}

static void reply_conf(struct gdb *gdb, const char *annex, uint64_t offset, size_t room)
{
    char text[sizeof(conf_head) + sizeof(conf_tail) + 48];
    char *to = text_put(text, conf_head);

    (void)annex;
    if (gdb->trace.on) {
        to = text_put(to, "<bts size=\"0x");
        to = text_hex(to, gdb->trace.bytes, 16);
        to = text_put(to, "\"/>\n");
    }
    text_put(to, conf_tail);
    reply_text(gdb, text, offset, room);
}

static void reply_features(struct gdb *gdb, const char *annex, uint64_t offset, size_t room)
{
    if (strcmp(annex, "target.xml") == 0)
        reply_text(gdb, gdb_target_text(), offset, room);
    else
        gdb_reply(gdb, "E00");
}

/* --- the auxiliary vector: behind the words and the environment, where the program began */

#define PAIR_BYTES 16u
#define WORDS_MOST 0x10000u

/* Where it begins; 0 when what lies there is not a start's stack. */
static uint64_t auxv_address(struct gdb *gdb)
{
    uint64_t at = gdb->start_rsp, word, zeros = 0;

    /* The count, then words, 0, environment, 0. */
    for (unsigned i = 0; i < WORDS_MOST; i++, at += sizeof(word)) {
        if (gdb->target.read(gdb->target.context, at, &word, sizeof(word)) != sizeof(word))
            return 0;
        zeros += word == 0 && i > 0;
        if (zeros == 2)
            return at + sizeof(word);
    }
    return 0;
}

size_t gdb_auxv(struct gdb *gdb, uint64_t offset, void *to, size_t room)
{
    uint64_t start = auxv_address(gdb), bytes = 0, pair[2];

    if (!start)
        return 0;
    do {
        if (gdb->target.read(gdb->target.context, start + bytes, pair, PAIR_BYTES) !=
            PAIR_BYTES)
            return 0;
        bytes += PAIR_BYTES;
    } while (pair[0] != 0 && bytes < WORDS_MOST);
    if (offset >= bytes)
        return 0;
    if (room > bytes - offset)
        room = (size_t)(bytes - offset);
    return gdb->target.read(gdb->target.context, start + offset, to, room);
}

bool gdb_auxv_entry(struct gdb *gdb, uint64_t type, uint64_t *value)
{
    uint64_t pair[2];

    for (uint64_t at = 0; gdb_auxv(gdb, at, pair, PAIR_BYTES) == PAIR_BYTES; at += PAIR_BYTES)
        if (pair[0] == type) {
            *value = pair[1];
            return true;
        }
    return false;
}

static void reply_auxv(struct gdb *gdb, const char *annex, uint64_t offset, size_t room)
{
    size_t count = gdb_auxv(gdb, offset, gdb->line.sent + 1, room);

    (void)annex;
    reply_part(gdb, count, count < room);
}

static void reply_exec_file(struct gdb *gdb, const char *annex, uint64_t offset, size_t room)
{
    (void)annex;
    if (gdb->target.path)
        reply_text(gdb, gdb->target.path, offset, room);
    else
        gdb_reply(gdb, "E01");
}

/* --- `OBJECT:read:ANNEX:OFFSET,COUNT` */

static const struct {
    const char *name;
    void (*reply)(struct gdb *gdb, const char *annex, uint64_t offset, size_t room);
} objects[] = {{"features:read:", reply_features},
               {"btrace:read:", reply_trace},
               {"btrace-conf:read:", reply_conf},
               {"auxv:read:", reply_auxv},
               {"exec-file:read:", reply_exec_file}};
#define OBJECTS (sizeof(objects) / sizeof(objects[0]))

bool gdb_transfer_packet(struct gdb *gdb, const char *packet)
{
    const char *part, *annex;
    char name[16];
    uint64_t offset, room;
    unsigned object = 0;

    if (!text_word(&packet, "qXfer:"))
        return false;
    while (object < OBJECTS && !text_word(&packet, objects[object].name))
        object++;
    if (object == OBJECTS) {
        gdb_reply(gdb, NULL);
        return true;
    }
    annex = packet;
    part = strchr(packet, ':');
    if (!part || (size_t)(part - annex) >= sizeof(name)) {
        gdb_reply(gdb, "E00");
        return true;
    }
    memcpy(name, annex, (size_t)(part - annex));
    name[part++ - annex] = 0;
    if (!text_number(&part, &offset) || !text_skip(&part, ',') || !text_number(&part, &room) ||
        *part || room == 0)
        gdb_reply(gdb, "E00");
    else
        objects[object].reply(gdb, name, offset, (size_t)(room < ROOM_MOST ? room : ROOM_MOST));
    return true;
}
