/* SPDX-License-Identifier: BSD-2-Clause */
/* What is sent to the server, and when. */
#include "boot/upload.h"

#include "boot/console.h"
#include "boot/memory.h"
#include "boot/network.h"

#include "harness/check/format.h"
#include "harness/suite/harness.h"
#include "hw/string.h"

/* The log is sent again when it has grown by so much: a few times in a run. */
#define GROWN_BYTES 4096
#define NAME_BYTES  64

static bool open;
static char prefix[NAME_BYTES - 16];
static size_t log_sent;

static const char *send(const char *document, const char *text, size_t bytes)
{
    char name[NAME_BYTES];

    fmt(name, sizeof(name), "%s%s", prefix, document);
    return network_send(name, text, bytes);
}

static const char *send_log(void)
{
    const char *text = console_log(&log_sent);

    return send("log.txt", text, log_sent);
}

void upload_open(void)
{
    const char *why;

    if (!network_open())
        return;
    fmt(prefix, sizeof(prefix), "waymark-%s-%08X-", network_card(), (unsigned)harness_run_id());
    why = send_log();
    open = !why;
    if (open)
        console_print("# results: sent as %s%sreport.json, and so on", network_folder(),
                      prefix);
    else
        console_print("# results: not sent to %s: %s", network_folder(), why);
}

void upload_flush(void)
{
    const char *why;
    size_t bytes;

    console_log(&bytes);
    if (!open || bytes - log_sent < GROWN_BYTES)
        return;
    why = send_log();
    open = !why;
    if (!open)
        console_print("# results: sending log.txt failed (%s): nothing more is sent", why);
}

/* report.tap is the log without the lines that are for people; put together in one piece. */
static char *tap;
static size_t tap_bytes;
static bool add_tap_line(const char *line, size_t bytes)
{
    memcpy(tap + tap_bytes, line, bytes);
    tap_bytes += bytes;
    return true;
}

static const char *send_tap(void)
{
    size_t log_bytes;

    console_log(&log_bytes);
    tap = memory_pages(log_bytes, 4096);
    tap_bytes = 0;
    if (!tap)
        return "no memory";
    console_each_tap_line(0, add_tap_line);
    return send("report.tap", tap, tap_bytes);
}

static const char *send_report(void)
{
    size_t bytes;
    const char *text = harness_report_json(&bytes);

    return send("report.json", text, bytes);
}

static const char *send_machine(void)
{
    size_t bytes;
    const char *text = harness_machine_json(&bytes);

    return send("machine.json", text, bytes);
}

const char *upload_close(void)
{
    static const struct {
        const char *name;
        const char *(*send)(void);
    } documents[] = {{"report.json", send_report},
                     {"report.tap", send_tap},
                     {"machine.json", send_machine},
                     {"log.txt", send_log}};
    static char line[120];

    if (!open)
        return NULL;
    open = false;
    for (size_t i = 0; i < sizeof(documents) / sizeof(documents[0]); i++) {
        const char *why = documents[i].send();

        if (!why)
            continue;
        fmt(line, sizeof(line), "# results: sending %s failed (%.60s)", documents[i].name, why);
        return line;
    }
    return NULL;
}
