/* SPDX-License-Identifier: BSD-2-Clause */
/* The packets of a session: who they go to, and those about memory and threads. */
#include "harness/gdb/stub.h"
#include "harness/gdb/text.h"
#include "hw/string.h"

void gdb_init(struct gdb *gdb, const struct gdb_target *target,
              const struct gdb_registers *registers, int (*get)(void *context),
              void (*line_write)(void *context, const char *bytes, size_t count),
              void *line_context)
{
    memset(gdb, 0, sizeof(*gdb));
    packet_init(&gdb->line, line_write, line_context);
    gdb->target = *target;
    gdb->get = get;
    gdb->get_context = line_context;
    gdb->registers = *registers;
    gdb->record_bytes = 0x10000;
    gdb_started(gdb);
}

/* --- memory */

/* Of `ADDRESS,COUNT`, and what must follow it. */
static bool parse_range(const char **packet, uint64_t *address, uint64_t *count, char after)
{
    return text_number(packet, address) && text_skip(packet, ',') &&
           text_number(packet, count) && **packet == after;
}

static void read_memory(struct gdb *gdb, const char *packet)
{
    uint8_t bytes[PACKET_BYTES / 2];
    uint64_t address, count;
    size_t got;

    if (!parse_range(&packet, &address, &count, 0)) {
        gdb_reply(gdb, "E01");
        return;
    }
    if (count > sizeof(bytes))
        count = sizeof(bytes); /* less than was asked for is an answer */
    got = gdb->target.read(gdb->target.context, address, bytes, (size_t)count);
    if (got == 0 && count > 0)
        gdb_reply(gdb, "E01"); /* the only form that GDB takes for this packet */
    else
        gdb_reply_to(gdb, text_bytes(gdb->line.sent, bytes, got));
}

static void write_bytes(struct gdb *gdb, uint64_t address, const void *bytes, uint64_t count)
{
    gdb_reply(gdb, gdb->target.write(gdb->target.context, address, bytes, (size_t)count)
                       ? "OK"
                       : "E.The program has no memory there.");
}

static void write_memory(struct gdb *gdb, const char *packet)
{
    uint8_t bytes[PACKET_BYTES / 2];
    uint64_t address, count;

    if (parse_range(&packet, &address, &count, ':') && count <= sizeof(bytes)) {
        packet++;
        if (text_unhex(&packet, bytes, sizeof(bytes)) == count && !*packet) {
            write_bytes(gdb, address, bytes, count);
            return;
        }
    }
    gdb_reply(gdb, "E01");
}

static void write_binary(struct gdb *gdb, const char *packet)
{
    const char *end = gdb->line.received + gdb->line.used;
    uint64_t address, count;

    if (parse_range(&packet, &address, &count, ':') && count == (uint64_t)(end - packet - 1))
        write_bytes(gdb, address, packet + 1, count);
    else
        gdb_reply(gdb, "E01");
}

/* --- threads and the session */

/* `-1`, `0` and a number that is 1. */
static bool is_one(const char **text)
{
    uint64_t number;
    bool negative = text_skip(text, '-');

    return text_number(text, &number) && (number == 1 || (number == 0 && !negative));
}

bool gdb_is_ours(const char *thread)
{
    if (text_skip(&thread, 'p')) {
        if (!is_one(&thread))
            return false;
        if (!*thread)
            return true;
        if (!text_skip(&thread, '.'))
            return false;
    }
    return is_one(&thread) && !*thread;
}

char *gdb_put_thread(const struct gdb *gdb, char *to)
{
    return text_put(to, gdb->processes ? "p1.1" : "1");
}

static void handle(struct gdb *gdb)
{
    const char *packet = gdb->line.received;

    gdb->attached = true;
    switch (packet[0]) {
    case '?':
        gdb_reply_stop(gdb);
        return;
    case 'm':
        read_memory(gdb, packet + 1);
        return;
    case 'M':
        write_memory(gdb, packet + 1);
        return;
    case 'X':
        write_binary(gdb, packet + 1);
        return;
    case 'H':
        gdb_reply(gdb, packet[1] && gdb_is_ours(packet + 2) ? "OK" : "E01");
        return;
    case 'T':
        gdb_reply(gdb, !gdb->gone && gdb_is_ours(packet + 1) ? "OK" : "E01");
        return;
    case '!':
        gdb->extended = true;
        gdb_reply(gdb, "OK");
        return;
    default:
        break;
    }
    if (!gdb_file_packet(gdb, packet) && !gdb_registers_packet(gdb, packet) &&
        !gdb_breakpoint_packet(gdb, packet) && !gdb_query(gdb, packet) &&
        !gdb_resume_packet(gdb, packet))
        gdb_reply(gdb, NULL);
}

void gdb_serve(struct gdb *gdb)
{
    enum packet_event event = gdb->waiting ? PACKET_READY : gdb_next_event(gdb);

    gdb->waiting = false;
    if (event == PACKET_READY)
        handle(gdb);
    else if (event == PACKET_TOO_LONG)
        gdb_reply(gdb, "E.The packet is longer than PacketSize.");
    /* Ctrl-C finds the program standing: the reply that says so is under way already. */
}
