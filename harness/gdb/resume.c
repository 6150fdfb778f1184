/* SPDX-License-Identifier: BSD-2-Clause */
/* Running the program, and saying why it stands. */
#include "harness/gdb/stub.h"
#include "harness/gdb/text.h"
#include "hw/string.h"

/* --- stops */

static unsigned signal_of(const struct gdb_stop *stop)
{
    return stop->kind == GDB_INTERRUPTED ? GDB_SIGINT
           : stop->kind == GDB_SIGNALLED ? stop->code
           : stop->kind == GDB_LOST      ? GDB_SIGTERM
                                         : GDB_SIGTRAP;
}

void gdb_reply_stop(struct gdb *gdb)
{
    static const char *const watch_names[] = {"hwbreak", "watch", "", "awatch"};
    char *to = text_put(gdb->line.sent, "T");

    to = text_hex(to, signal_of(&gdb->stop), 2);
    if (gdb->stop.kind == GDB_BREAKPOINT && gdb->swbreak)
        to = text_put(to, "swbreak:;");
    if (gdb->stop.kind == GDB_WATCHED && gdb->watches[gdb->stop.code & 3].used) {
        unsigned access = gdb->watches[gdb->stop.code & 3].access & 3;

        /* GDB knows this reason only when it knows the other. */
        if (access || gdb->swbreak) {
            to = text_put(to, watch_names[access]);
            to = text_put(to, ":");
            if (access)
                to = text_hex(to, gdb->watches[gdb->stop.code & 3].address, 16);
            to = text_put(to, ";");
        }
    }
    gdb_reply_to(gdb, text_put(to, "thread:1;"));
}

static void reply_end(struct gdb *gdb, char how, uint8_t code)
{
    char *to = gdb->line.sent;

    *to++ = how;
    gdb->ended = true;
    if (gdb->attached)
        gdb_reply_to(gdb, text_hex(to, code, 2));
}

/* --- runs */

static void run_once(struct gdb *gdb, bool step)
{
    uint64_t *rip = &gdb->registers.core[GDB_RIP];

    gdb_breakpoints_insert(gdb);
    gdb->running = true;
    gdb->trace.open = false;
    gdb->stop = gdb->target.resume(gdb->target.context, gdb, step);
    gdb->running = false;
    gdb_breakpoints_remove(gdb);
    if (gdb->stop.kind == GDB_BREAKPOINT) {
        /* Behind an INT3 of ours; one of the program's own is an instruction like others. */
        if (gdb_breakpoint_at(gdb, *rip - 1))
            --*rip;
        else
            gdb->stop = (struct gdb_stop){GDB_SIGNALLED, GDB_SIGTRAP};
    }
    gdb->stopped_at = *rip;
}

/* An exit that the debugger has been shown and that nothing stands in the way of any more. */
static bool exit_is_due(const struct gdb *gdb)
{
    return gdb->stop.kind == GDB_EXITING && gdb->stopped_at == gdb->registers.core[GDB_RIP];
}

/* Between two steps nobody else looks at the line, and a range may be an endless loop. */
static bool is_called(struct gdb *gdb)
{
    gdb->running = true;
    if (gdb_poll(gdb))
        gdb->stop = (struct gdb_stop){GDB_INTERRUPTED, 0};
    gdb->running = false;
    return gdb->stop.kind == GDB_INTERRUPTED;
}

/* Until RIP leaves the range, which is empty for a single step. */
static void run(struct gdb *gdb, bool step, uint64_t low, uint64_t high)
{
    uint64_t rip;

    if (exit_is_due(gdb) || gdb->stop.kind == GDB_LOST) {
        reply_end(gdb, gdb->stop.kind == GDB_LOST ? 'X' : 'W',
                  gdb->stop.kind == GDB_LOST ? GDB_SIGTERM : gdb->stop.code);
        return;
    }
    do {
        run_once(gdb, step);
        rip = gdb->registers.core[GDB_RIP];
    } while (step && gdb->stop.kind == GDB_STEPPED && rip >= low && rip < high &&
             !gdb_breakpoint_at(gdb, rip) && !is_called(gdb));
    if (gdb->attached && !gdb->waiting)
        gdb_reply_stop(gdb);
}

void gdb_run_alone(struct gdb *gdb)
{
    gdb->attached = false;
    run(gdb, false, 0, 0);
    /* Nobody to ask what to do about a fault, or to be shown an exit. */
    if (!gdb->waiting)
        gdb->ended = true;
}

/* --- packets */

/* Given back the exception that stopped it, the program would meet it again: that ends it. */
static bool dies_of(struct gdb *gdb, uint64_t signal)
{
    bool dies =
        gdb->stop.kind == GDB_SIGNALLED && signal == gdb->stop.code && signal != GDB_SIGTRAP;

    if (dies)
        reply_end(gdb, 'X', (uint8_t)signal);
    return dies;
}

static bool is_for_us(const char *thread)
{
    uint64_t number;

    if (!text_skip(&thread, ':') || *thread == '-')
        return true;
    return text_number(&thread, &number) && number <= 1;
}

struct action {
    char what; /* c, s, r, or 0 */
    uint64_t signal, low, high;
};

/* One action of vCont; *packet moves behind it. False: it makes no sense. */
static bool parse_action(const char **packet, struct action *a)
{
    *a = (struct action){.what = *(*packet)++};
    if (a->what == 'C' || a->what == 'S') {
        a->what |= 'a' - 'A';
        return text_number(packet, &a->signal);
    }
    if (a->what == 'r')
        return text_number(packet, &a->low) && text_skip(packet, ',') &&
               text_number(packet, &a->high);
    return a->what == 'c' || a->what == 's';
}

static void vcont(struct gdb *gdb, const char *packet)
{
    struct action a;

    while (text_skip(&packet, ';')) {
        if (!parse_action(&packet, &a))
            break;
        if (is_for_us(packet)) {
            if (!dies_of(gdb, a.signal))
                run(gdb, a.what != 'c', a.low, a.high);
            return;
        }
        while (*packet && *packet != ';')
            packet++;
    }
    gdb_reply(gdb, "E01");
}

/* The older form: c and s with an address perhaps, C and S with a signal before that. */
static void resume_old(struct gdb *gdb, const char *packet)
{
    bool with_signal = packet[0] == 'C' || packet[0] == 'S';
    bool step = packet[0] == 's' || packet[0] == 'S';
    uint64_t signal = 0, address;

    packet++;
    if (with_signal && !text_number(&packet, &signal)) {
        gdb_reply(gdb, "E01");
        return;
    }
    text_skip(&packet, ';');
    if (text_number(&packet, &address) && !gdb_jump(gdb, address)) {
        gdb_reply(gdb, "E01");
        return;
    }
    if (!dies_of(gdb, signal))
        run(gdb, step, 0, 0);
}

bool gdb_resume_packet(struct gdb *gdb, const char *packet)
{
    if (strcmp(packet, "vCont?") == 0) {
        gdb_reply(gdb, "vCont;c;C;s;S;r");
    } else if (text_word(&packet, "vCont")) {
        vcont(gdb, packet);
    } else if (text_word(&packet, "vKill")) {
        gdb->ended = true;
        gdb_reply(gdb, "OK");
    } else if (packet[0] && strchr("csCS", packet[0])) {
        resume_old(gdb, packet);
    } else {
        return false;
    }
    return true;
}
