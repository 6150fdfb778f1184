/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines of the run, to everywhere: serial port at once, memory, and the screen as soon as the
 * firmware may be called. The result files are written from the memory log.
 */
#ifndef BOOT_CONSOLE_H
#define BOOT_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The log grows in this buffer; when it is full one line says so and later lines are lost to
 * it, not to the serial port.
 */
void console_init(char *log, size_t bytes);

/* One line without its end. Legal in both modes; the bytes on the wire end in CR LF. */
void console_line(const char *text, size_t bytes);
void console_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* False while the machine is taken over; true brings the screen up to date. */
void console_firmware_mode(bool on);

/*
 * While held, lines go to the log alone; releasing sends them out. A line that must go first is
 * sent with console_ahead, which leaves the log as it is.
 */
void console_hold(void);
void console_ahead(const char *text);
void console_release(void);

/* Shows machine and failed results once more, on the screen alone: most has scrolled away. */
void console_recall_failures(void);

/* All lines so far, each ended by LF. */
const char *console_log(size_t *bytes);

/*
 * Calls use for each line of the log from offset on that belongs into report.tap (version,
 * plan, results, comments, Bail out), its end included; false when use said so and ended it.
 */
bool console_each_tap_line(size_t offset, bool (*use)(const char *line, size_t bytes));

#endif
