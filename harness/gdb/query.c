/* SPDX-License-Identifier: BSD-2-Clause */
/* What a debugger asks about the stub, and the switches it sets: q and Q packets. */
#include "harness/gdb/stub.h"
#include "harness/gdb/text.h"
#include "hw/string.h"

static const char supported[] =
    "PacketSize=1008;qXfer:features:read+;qXfer:exec-file:read+;"
    "Qbtrace:bts+;Qbtrace:off+;Qbtrace-conf:bts:size+;qXfer:btrace:read+;"
    "qXfer:btrace-conf:read+;QStartNoAckMode+;vContSupported+;swbreak+;hwbreak+;"
    "QCatchSyscalls+;multiprocess+";
_Static_assert(PACKET_BYTES == 0x1008, "supported[] says so");

static const char help_text[] =
    "blockstep on|off  single steps go from branch to branch (IA32_DEBUGCTL.BTF)\n"
    "exit              end the session, and the program\n"
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
    else if (!*packet && strcmp(command, "exit") == 0) {
        gdb->ended = true;
        answer = "the session ends\n";
    }
    gdb_reply_to(gdb, text_bytes(gdb->line.sent, answer, strlen(answer)));
}

/* --- system calls */

/* `1` and, with semicolons, those that are wanted; none named: all. `0`: no more. */
static bool catch_calls(struct gdb *gdb, const char *packet)
{
    uint64_t number, on;

    gdb->catch_count = 0;
    gdb->catching = gdb->catching_all = false;
    if (!text_number(&packet, &on) || on > 1)
        return false;
    gdb->catching = on == 1;
    gdb->catching_all = gdb->catching && !*packet;
    while (text_skip(&packet, ';')) {
        if (!text_number(&packet, &number) || gdb->catch_count == GDB_CATCHES)
            return false;
        gdb->catches[gdb->catch_count++] = (uint32_t)number;
    }
    return !*packet;
}

bool gdb_catches(const struct gdb *gdb, uint32_t number)
{
    bool wanted = gdb->catching_all;

    for (unsigned i = 0; i < gdb->catch_count; i++)
        wanted |= gdb->catches[i] == number;
    return gdb->catching && wanted;
}

/* --- thread-local storage */

enum { AT_PHDR = 3, AT_PHENT = 4, AT_PHNUM = 5, PT_TLS = 7 };
/* Of a program header: type, memory size, alignment. */
enum { HEADER_TYPE = 0, HEADER_MEMORY = 40, HEADER_ALIGN = 48, HEADER_BYTES = 56 };

/*
 * `THREAD,OFFSET,MODULE`. A static program has one module, whose block ends where FS points
 * (System V ABI, "ELF Handling For Thread-Local Storage", variant II).
 */
static void reply_tls(struct gdb *gdb, const char *packet)
{
    uint64_t offset, at = 0, count = 0, bytes, align;
    uint8_t header[HEADER_BYTES];
    const char *rest = strchr(packet, ',');
    uint32_t type;

    if (!rest || !text_skip(&rest, ',') || !text_number(&rest, &offset) ||
        !gdb_auxv_entry(gdb, AT_PHDR, &at) || !gdb_auxv_entry(gdb, AT_PHNUM, &count)) {
        gdb_reply(gdb, "E01");
        return;
    }
    for (; count > 0; count--, at += HEADER_BYTES) {
        if (gdb->target.read(gdb->target.context, at, header, HEADER_BYTES) != HEADER_BYTES)
            break;
        memcpy(&type, header + HEADER_TYPE, sizeof(type));
        memcpy(&bytes, header + HEADER_MEMORY, sizeof(bytes));
        memcpy(&align, header + HEADER_ALIGN, sizeof(align));
        if (type != PT_TLS)
            continue;
        align = align ? align : 1;
        bytes = (bytes + align - 1) / align * align;
        gdb_reply_to(gdb,
                     text_hex(gdb->line.sent, gdb->registers.fs_base - bytes + offset, 16));
        return;
    }
    gdb_reply(gdb, "E.The program has no thread-local storage.");
}

/* --- the rest */

static bool announces(const char *packet, const char *feature)
{
    for (; *packet; packet++)
        if (strncmp(packet, feature, strlen(feature)) == 0)
            return true;
    return false;
}

/* A new session: nothing of an older one, whose line dropped, may be left but the recording. */
static void begin_session(struct gdb *gdb, const char *packet)
{
    char *to = gdb->line.sent;

    gdb_breakpoints_forget(gdb);
    gdb->extended = gdb->catching = false;
    gdb->swbreak = announces(packet, "swbreak+");
    gdb->processes = announces(packet, "multiprocess+");
    /*
     * LLDB, which does not know swbreak, would take a program that stands at its entry for one
     * that a dynamic loader still has to find the libraries of, and let it go on at once.
     */
    to = text_put(to, supported);
    gdb_reply_to(gdb, text_put(to, gdb->swbreak ? ";qXfer:auxv:read+" : ""));
}

/* Who is there: nobody once the program has gone. */
static bool threads(struct gdb *gdb, const char *packet)
{
    char *to = gdb->line.sent;

    if (strcmp(packet, "qfThreadInfo") == 0 && !gdb->gone)
        gdb_reply_to(gdb, gdb_put_thread(gdb, text_put(to, "m")));
    else if (strcmp(packet, "qfThreadInfo") == 0 || strcmp(packet, "qsThreadInfo") == 0)
        gdb_reply(gdb, "l");
    else if (strcmp(packet, "qC") == 0 && !gdb->gone)
        gdb_reply_to(gdb, gdb_put_thread(gdb, text_put(to, "QC")));
    else if (strcmp(packet, "qAttached") == 0 || strncmp(packet, "qAttached:", 10) == 0)
        gdb_reply(gdb, gdb->ran ? "0" : "1");
    else
        return false;
    return true;
}

bool gdb_query(struct gdb *gdb, const char *packet)
{
    if (strcmp(packet, "QStartNoAckMode") == 0) {
        gdb_reply(gdb, "OK");
        gdb->line.no_ack = true;
        return true;
    }
    if (text_word(&packet, "qSupported"))
        begin_session(gdb, packet);
    else if (strcmp(packet, "qSymbol::") == 0)
        gdb_reply(gdb, "OK");
    else if (text_word(&packet, "qRcmd,"))
        monitor(gdb, packet);
    else if (text_word(&packet, "QCatchSyscalls:"))
        gdb_reply(gdb, catch_calls(gdb, packet) ? "OK" : "E01");
    else if (text_word(&packet, "qGetTLSAddr:"))
        reply_tls(gdb, packet);
    else
        return threads(gdb, packet) || gdb_transfer_packet(gdb, packet) ||
               gdb_host_packet(gdb, packet) || record_packet(gdb, packet);
    return true;
}
