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

static char *put_watch(struct gdb *gdb, char *to)
{
    static const char *const names[] = {"hwbreak:", "watch:", "", "awatch:"};
    const struct gdb_watch *w = &gdb->watches[gdb->stop.code & 3];

    /* GDB knows the first of these reasons only when it knows the other. */
    if (!w->users || (!w->access && !gdb->swbreak))
        return to;
    to = text_put(to, names[w->access & 3]);
    if (w->access)
        to = text_hex(to, w->address, 16);
    return text_put(to, ";");
}

/* A number in as few digits as it takes. */
static char *put_number(char *to, uint32_t number)
{
    unsigned digits = 1;

    while (digits < 8 && number >> (4 * digits))
        digits++;
    return text_hex(to, number, digits);
}

void gdb_reply_stop(struct gdb *gdb)
{
    char *to = text_put(gdb->line.sent, "T");

    if (gdb->gone) {
        gdb_reply(gdb, "W00");
        return;
    }
    to = text_hex(to, signal_of(&gdb->stop), 2);
    if (gdb->stop.kind == GDB_BREAKPOINT && gdb->swbreak)
        to = text_put(to, "swbreak:;");
    if (gdb->stop.kind == GDB_WATCHED)
        to = put_watch(gdb, to);
    if (gdb->stop.kind == GDB_CALLING || gdb->stop.kind == GDB_CALLED) {
        to = text_put(to, gdb->stop.kind == GDB_CALLING ? "syscall_entry:" : "syscall_return:");
        to = text_put(put_number(to, gdb->stop.number), ";");
    }
    to = gdb_put_thread(gdb, text_put(to, "thread:"));
    gdb_reply_to(gdb, text_put(to, ";"));
}

/* The program is no more; who is in the extended mode may run it again. */
static void forget_program(struct gdb *gdb)
{
    gdb_record_end(gdb);
    gdb->gone = true;
    gdb->ended = !gdb->extended || !gdb->attached;
}

static void reply_end(struct gdb *gdb, char how, uint8_t code)
{
    char *to = gdb->line.sent;

    forget_program(gdb);
    if (!gdb->attached)
        return;
    *to++ = how;
    to = text_hex(to, code, 2);
    gdb_reply_to(gdb, text_put(to, gdb->processes ? ";process:1" : ""));
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
            gdb->stop = (struct gdb_stop){GDB_SIGNALLED, GDB_SIGTRAP, 0};
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
        gdb->stop = (struct gdb_stop){GDB_INTERRUPTED, 0, 0};
    gdb->running = false;
    return gdb->stop.kind == GDB_INTERRUPTED;
}

/* Until RIP leaves the range, which is empty for a single step. */
static void run(struct gdb *gdb, bool step, uint64_t low, uint64_t high)
{
    uint64_t rip;

    if (gdb->gone) {
        gdb_reply(gdb, "E01");
        return;
    }
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
    /* Shown before it happens only when there is a recording that would go with it. */
    if (gdb->stop.kind == GDB_EXITING && !gdb->trace.on && !gdb->waiting)
        reply_end(gdb, 'W', gdb->stop.code);
    else if (gdb->attached && !gdb->waiting)
        gdb_reply_stop(gdb);
}

void gdb_started(struct gdb *gdb)
{
    gdb->stop = (struct gdb_stop){GDB_STEPPED, 0, 0};
    gdb->stopped_at = gdb->registers.core[GDB_RIP];
    gdb->start_rsp = gdb->registers.core[GDB_RSP];
    gdb->gone = false;
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

/* `:THREAD`, or nothing for all; up to the next action. */
static bool is_for_us(const char *packet)
{
    char thread[32];
    size_t used = 0;

    if (!text_skip(&packet, ':'))
        return true;
    while (*packet && *packet != ';' && used < sizeof(thread) - 1)
        thread[used++] = *packet++;
    thread[used] = 0;
    return gdb_is_ours(thread);
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

/* --- the session's end, and the program's next run */

static void detach(struct gdb *gdb)
{
    gdb_reply(gdb, "OK");
    gdb_record_end(gdb);
    gdb_breakpoints_forget(gdb);
    gdb->catching = false;
    gdb_run_alone(gdb);
}

static bool is_path(const struct gdb *gdb, const char *name)
{
    const char *path = gdb->target.path ? gdb->target.path : "", *last = path;

    for (const char *c = path; *c; c++)
        if (*c == '/')
            last = c + 1;
    return strcmp(name, path) == 0 || strcmp(name, last) == 0;
}

static const char *restart(struct gdb *gdb, const char *words, unsigned count)
{
    const char *why;

    if (!gdb->target.restart)
        return "E.The program cannot be run again.";
    gdb_record_end(gdb);
    why = gdb->target.restart(gdb->target.context, words, count, &gdb->registers);
    gdb->gone = why;
    gdb->ran = true;
    if (!why)
        gdb_started(gdb);
    return why;
}

/* `;FILE;WORD;...` in hexadecimal; no file stands for the only one there is. */
static void run_again(struct gdb *gdb, const char *packet)
{
    static char words[GDB_WORDS];
    const char *why;
    size_t used, name;
    unsigned count = 1;

    text_skip(&packet, ';');
    used = text_unhex(&packet, words, sizeof(words) - 1);
    words[used] = 0;
    if (used == 0 && gdb->target.path) {
        used = strlen(gdb->target.path);
        used = used < sizeof(words) ? used : sizeof(words) - 1;
        memcpy(words, gdb->target.path, used);
        words[used] = 0;
    }
    if (!is_path(gdb, words)) {
        gdb_reply(gdb, "E.There is no other program than the one on the volume.");
        return;
    }
    for (used++; text_skip(&packet, ';') && used < sizeof(words) - 1; count++) {
        name = text_unhex(&packet, words + used, sizeof(words) - 1 - used);
        used += name;
        words[used++] = 0;
    }
    why = *packet ? "the words are too many" : restart(gdb, words, count);
    if (why)
        gdb_reply_to(gdb, text_put(text_put(gdb->line.sent, "E."), why));
    else
        gdb_reply_stop(gdb);
}

static void kill_program(struct gdb *gdb, bool reply)
{
    forget_program(gdb);
    if (reply)
        gdb_reply(gdb, "OK");
}

bool gdb_resume_packet(struct gdb *gdb, const char *packet)
{
    if (strcmp(packet, "vCont?") == 0)
        gdb_reply(gdb, "vCont;c;C;s;S;r");
    else if (text_word(&packet, "vCont"))
        vcont(gdb, packet);
    else if (text_word(&packet, "vKill"))
        kill_program(gdb, true);
    else if (text_word(&packet, "vRun"))
        run_again(gdb, packet);
    else if (packet[0] == 'D')
        detach(gdb);
    else if (packet[0] == 'k')
        kill_program(gdb, false);
    else if (packet[0] == 'R')
        restart(gdb, NULL, 0);
    else if (packet[0] && strchr("csCS", packet[0]))
        resume_old(gdb, packet);
    else
        return false;
    return true;
}
