/* SPDX-License-Identifier: BSD-2-Clause */
/* One writer for all outputs: each gets the same bytes, line by line, in the same order. */
#include "boot/console.h"

#include "boot/screen.h"
#include "boot/serial.h"

#include "harness/check/format.h"
#include "harness/check/out.h"
#include "hw/string.h"

static const char full_note[] = "# log: memory is full, the lines that follow are not kept";

#define RECALL_LINES 16 /* with the end line they fit on the smallest screen, 25 lines */

static char *log_text;
static size_t log_size, log_end;
static size_t serial_sent; /* of the log; behind log_end only while held */
static size_t screen_sent;
static bool firmware_mode = true;
static bool held;
static bool full;

void console_init(char *log, size_t bytes)
{
    log_text = log;
    log_size = bytes;
}

static void log_append(const char *text, size_t bytes)
{
    memcpy(log_text + log_end, text, bytes);
    log_text[log_end + bytes] = '\n';
    log_end += bytes + 1;
}

/* Lines of the log from *sent on, each with the line end of a wire. */
static void send_serial(void)
{
    while (serial_sent < log_end) {
        const char *line = log_text + serial_sent;
        size_t bytes = 0;

        while (line[bytes] != '\n')
            bytes++;
        serial_write(line, bytes);
        serial_write("\r\n", 2);
        serial_sent += bytes + 1;
    }
}

static void send(void)
{
    if (held)
        return;
    send_serial();
    if (firmware_mode && screen_sent < log_end) {
        screen_write(log_text + screen_sent, log_end - screen_sent);
        screen_sent = log_end;
    }
}

void console_line(const char *text, size_t bytes)
{
    bool room = log_end + bytes + 1 + sizeof(full_note) <= log_size;

    if (room && !full) {
        log_append(text, bytes);
        send();
        return;
    }
    if (!full && log_end + sizeof(full_note) <= log_size) {
        log_append(full_note, sizeof(full_note) - 1);
        send();
    }
    full = true;
    serial_write(text, bytes);
    serial_write("\r\n", 2);
}

void console_print(const char *format, ...)
{
    char line[OUT_LINE_BYTES + 1];
    va_list arguments;
    size_t bytes;

    va_start(arguments, format);
    bytes = vfmt(line, sizeof(line), format, arguments);
    va_end(arguments);
    console_line(line, bytes);
}

void console_firmware_mode(bool on)
{
    firmware_mode = on;
    if (on)
        send();
}

void console_hold(void)
{
    held = true;
}

void console_ahead(const char *text)
{
    serial_write(text, strlen(text));
    serial_write("\r\n", 2);
    if (firmware_mode) {
        screen_write(text, strlen(text));
        screen_write("\n", 1);
    }
}

void console_release(void)
{
    held = false;
    send();
}

const char *console_log(size_t *bytes)
{
    *bytes = log_end;
    return log_text;
}

static bool begins(const char *line, size_t bytes, const char *word)
{
    size_t length = strlen(word);

    return bytes >= length && memcmp(line, word, length) == 0;
}

/* What a photograph of the screen must show beside the verdict. */
static bool is_identity(const char *line, size_t bytes)
{
    return !screen_is_panel() &&
           (begins(line, bytes, "# cpu=") || begins(line, bytes, "# provider=") ||
            begins(line, bytes, "# results: "));
}

void console_recall_failures(void)
{
    unsigned shown = 0;
    size_t detail = 0, detail_bytes = 0; /* the first line that the check said of itself */

    for (size_t at = 0; at < log_end && shown < RECALL_LINES;) {
        size_t bytes = 0;

        while (log_text[at + bytes] != '\n')
            bytes++;
        if (begins(log_text + at, bytes, "# step ")) {
            detail = at + bytes + 1;
            detail_bytes = 0;
        } else if (at == detail && begins(log_text + at, bytes, "# ")) {
            detail_bytes = bytes;
        } else if (is_identity(log_text + at, bytes)) {
            screen_write(log_text + at, bytes + 1);
            shown++;
        } else if (begins(log_text + at, bytes, "not ok ")) {
            screen_write(log_text + at, bytes + 1);
            if (detail_bytes > 0)
                screen_write(log_text + detail, detail_bytes + 1);
            shown += detail_bytes > 0 ? 2 : 1;
        }
        at += bytes + 1;
    }
}

static bool is_tap(const char *line, size_t bytes)
{
    static const char *const words[] = {"#", "ok ", "not ok ", "1..", "KTAP ", "Bail out!"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (begins(line, bytes, words[i]))
            return true;
    return false;
}

bool console_each_tap_line(size_t offset, bool (*use)(const char *line, size_t bytes))
{
    while (offset < log_end) {
        size_t bytes = 0;

        while (log_text[offset + bytes] != '\n')
            bytes++;
        if (is_tap(log_text + offset, bytes) && !use(log_text + offset, bytes + 1))
            return false;
        offset += bytes + 1;
    }
    return true;
}
