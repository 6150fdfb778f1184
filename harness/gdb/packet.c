/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets of GDB's remote protocol, in and out. */
#include "harness/gdb/packet.h"

#include "hw/string.h"

#define BREAK         0x03
#define ESCAPE        '}'
#define ESCAPE_BIT    0x20
#define REPEAT        '*'
#define REPEAT_LEAST  3  /* fewer cost as much as they save */
#define REPEAT_MOST   97 /* '~' is the last printable character */
#define REPEAT_OFFSET 29

void packet_init(struct packet_line *line, void (*write)(void *, const char *, size_t),
                 void *context)
{
    memset(line, 0, sizeof(*line));
    line->write = write;
    line->context = context;
}

int packet_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* --- out */

/* Gathers what goes out, so that a line is not asked for every byte. */
struct output {
    struct packet_line *line;
    uint8_t sum;
    size_t used;
    char bytes[64];
};

static void flush(struct output *o)
{
    o->line->write(o->line->context, o->bytes, o->used);
    o->used = 0;
}

static void put(struct output *o, char byte)
{
    o->bytes[o->used++] = byte;
    o->sum += (uint8_t)byte;
    if (o->used == sizeof(o->bytes))
        flush(o);
}

static bool is_special(char c)
{
    return c == '$' || c == '#' || c == ESCAPE || c == REPEAT;
}

static size_t run_length(const char *bytes, size_t count)
{
    size_t length = 1;

    while (length < count && length <= REPEAT_MOST && bytes[length] == bytes[0])
        length++;
    return length;
}

/* How many repeats of a byte one count may stand for: it must not look like framing. */
static size_t repeats(size_t most)
{
    while (most >= REPEAT_LEAST &&
           (most + REPEAT_OFFSET == '#' || most + REPEAT_OFFSET == '$' ||
            most + REPEAT_OFFSET == '+' || most + REPEAT_OFFSET == '-'))
        most--;
    return most >= REPEAT_LEAST ? most : 0;
}

static void transmit(struct packet_line *line)
{
    static const char digits[] = "0123456789abcdef";
    struct output o = {.line = line};
    uint8_t sum;

    put(&o, '$');
    o.sum = 0;
    for (size_t at = 0; at < line->sent_bytes; at++) {
        const char c = line->sent[at];
        size_t more;

        if (is_special(c)) {
            put(&o, ESCAPE);
            put(&o, (char)(c ^ ESCAPE_BIT));
            continue;
        }
        put(&o, c);
        more = repeats(run_length(line->sent + at, line->sent_bytes - at) - 1);
        if (more > 0) {
            put(&o, REPEAT);
            put(&o, (char)(more + REPEAT_OFFSET));
            at += more;
        }
    }
    sum = o.sum;
    put(&o, '#');
    put(&o, digits[sum >> 4]);
    put(&o, digits[sum & 15]);
    flush(&o);
}

void packet_send(struct packet_line *line, size_t count)
{
    line->sent_bytes = count < PACKET_BYTES ? count : PACKET_BYTES;
    transmit(line);
}

/* --- in */

static enum packet_event outside(struct packet_line *line, char c)
{
    if (c == BREAK)
        return PACKET_BREAK;
    /* The same bytes again: to work the answer out anew could give another one. */
    if (c == '-' && line->sent_bytes > 0)
        transmit(line);
    return PACKET_NONE;
}

static void begin(struct packet_line *line)
{
    line->state = PACKET_INSIDE;
    line->used = 0;
    line->sum = 0;
    line->escaped = false;
}

static void inside(struct packet_line *line, char c)
{
    if (c == '#') {
        line->state = PACKET_SUM_HIGH;
        return;
    }
    line->sum += (uint8_t)c;
    if (!line->escaped && c == ESCAPE) {
        line->escaped = true;
        return;
    }
    if (line->used < PACKET_BYTES)
        line->received[line->used] = (char)(line->escaped ? c ^ ESCAPE_BIT : c);
    if (line->used <= PACKET_BYTES)
        line->used++;
    line->escaped = false;
}

/*
 * A debugger that comes back after its line dropped does not know that acknowledgements are
 * off, and says nothing more before it gets one.
 */
static bool begins_session(const struct packet_line *line)
{
    static const char first[] = "qSupported";

    return line->used >= sizeof(first) - 1 &&
           memcmp(line->received, first, sizeof(first) - 1) == 0;
}

static enum packet_event end(struct packet_line *line)
{
    line->state = PACKET_OUTSIDE;
    if (line->claimed != line->sum) {
        if (!line->no_ack)
            line->write(line->context, "-", 1);
        return PACKET_NONE;
    }
    if (begins_session(line))
        line->no_ack = false;
    if (!line->no_ack)
        line->write(line->context, "+", 1);
    if (line->used > PACKET_BYTES)
        return PACKET_TOO_LONG;
    line->received[line->used] = 0;
    return PACKET_READY;
}

enum packet_event packet_feed(struct packet_line *line, uint8_t byte)
{
    int digit = packet_digit((char)byte);

    /* In no state can it be anything but a beginning: the rest of the last one was lost. */
    if (byte == '$') {
        begin(line);
        return PACKET_NONE;
    }
    switch (line->state) {
    case PACKET_OUTSIDE:
        return outside(line, (char)byte);
    case PACKET_INSIDE:
        inside(line, (char)byte);
        return PACKET_NONE;
    case PACKET_SUM_HIGH:
        line->claimed = (uint8_t)((unsigned)digit << 4);
        line->state = digit < 0 ? PACKET_OUTSIDE : PACKET_SUM_LOW;
        break;
    case PACKET_SUM_LOW:
        line->claimed |= (uint8_t)digit;
        if (digit >= 0)
            return end(line);
        line->state = PACKET_OUTSIDE;
        break;
    }
    /* A checksum that is no number is a wrong one. */
    if (digit < 0 && !line->no_ack)
        line->write(line->context, "-", 1);
    return PACKET_NONE;
}
