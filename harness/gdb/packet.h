/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets of GDB's remote protocol: framing, checksums, acknowledgement, escapes, run lengths.
 * Bytes go in one at a time, whatever they are. Source: the GDB manual, "Overview" of "GDB
 * Remote Serial Protocol".
 */
#ifndef HARNESS_GDB_PACKET_H
#define HARNESS_GDB_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Payload of a packet, both ways. GDB asks for at most 0x1000 bytes of a document at a time. */
#define PACKET_BYTES 0x1008u

enum packet_event {
    PACKET_NONE,
    PACKET_READY,    /* received[] holds one, until the next byte is fed */
    PACKET_TOO_LONG, /* it was well-formed and longer than PACKET_BYTES */
    PACKET_BREAK     /* Ctrl-C */
};

enum packet_state { PACKET_OUTSIDE, PACKET_INSIDE, PACKET_SUM_HIGH, PACKET_SUM_LOW };

struct packet_line {
    void (*write)(void *context, const char *bytes, size_t count);
    void *context;
    bool no_ack; /* QStartNoAckMode is in force */
    enum packet_state state;
    bool escaped;
    uint8_t sum, claimed;
    size_t used; /* of received[]; more than PACKET_BYTES: too long */
    size_t sent_bytes;
    char received[PACKET_BYTES + 1]; /* NUL behind it */
    char sent[PACKET_BYTES];         /* the last one, for when it is asked for again */
};

/* All zero but write and context. */
void packet_init(struct packet_line *line, void (*write)(void *, const char *, size_t),
                 void *context);

/* Takes one byte; answers `+`, `-` and repeats by itself. */
enum packet_event packet_feed(struct packet_line *line, uint8_t byte);

/* Sends the first count bytes of sent[]; at most PACKET_BYTES. */
void packet_send(struct packet_line *line, size_t count);

/* The value of a hexadecimal digit, -1 for any other character. */
int packet_digit(char c);

#endif
