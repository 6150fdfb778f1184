/* SPDX-License-Identifier: BSD-2-Clause */
/* The line of a session: what goes out as a reply, what comes in while the program runs. */
#include "harness/gdb/stub.h"
#include "harness/gdb/text.h"

/* Bytes taken off the line before somebody else gets a turn. */
#define BYTES_AT_A_TIME 4096u

void gdb_reply_to(struct gdb *gdb, const char *end)
{
    packet_send(&gdb->line, (size_t)(end - gdb->line.sent));
}

void gdb_reply(struct gdb *gdb, const char *text)
{
    gdb_reply_to(gdb, text_put(gdb->line.sent, text ? text : ""));
}

enum packet_event gdb_next_event(struct gdb *gdb)
{
    for (unsigned i = 0; i < BYTES_AT_A_TIME; i++) {
        int byte = gdb->get(gdb->get_context);
        enum packet_event event;

        if (byte < 0)
            break;
        event = packet_feed(&gdb->line, (uint8_t)byte);
        if (event != PACKET_NONE)
            return event;
    }
    return PACKET_NONE;
}

bool gdb_poll(struct gdb *gdb)
{
    enum packet_event event;

    if (!gdb->running)
        return false;
    if (gdb->waiting)
        return true;
    event = gdb_next_event(gdb);
    /* Nobody who waits for a stop sends one: this is somebody else, who came anew. */
    gdb->waiting = event == PACKET_READY;
    /* Ctrl-C means something from somebody who waits; alone it may be noise on the line. */
    return event == PACKET_READY || (event == PACKET_BREAK && gdb->attached);
}

void gdb_output(struct gdb *gdb, const uint8_t *bytes, size_t count)
{
    const size_t most = (PACKET_BYTES - 1) / 2;

    if (!gdb->running || !gdb->attached)
        return;
    while (count > 0) {
        size_t now = count < most ? count : most;
        char *to = gdb->line.sent;

        *to++ = 'O';
        gdb_reply_to(gdb, text_bytes(to, bytes, now));
        bytes += now;
        count -= now;
    }
}
