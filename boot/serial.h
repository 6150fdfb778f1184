/* SPDX-License-Identifier: BSD-2-Clause */
/* The serial port: the one output that works while the machine is taken over. */
#ifndef BOOT_SERIAL_H
#define BOOT_SERIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Sets a 16550 at an I/O port up for 8N1 at baud (a divisor of 115200) and moves to column 1.
 * False when nothing answers there, or port is 0: writing is then a no-op.
 */
bool serial_init(uint16_t port, uint32_t baud);
bool serial_present(void);

/* Bytes as they are. A port that stops sending is given up after a bounded wait. */
void serial_write(const char *bytes, size_t count);

/* Waits, bounded, until the last bit has left: before the machine is switched off. */
void serial_drain(void);

#endif
