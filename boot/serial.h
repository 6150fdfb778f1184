/* SPDX-License-Identifier: BSD-2-Clause */
/* The serial ports: the one output that works while the machine is taken over. */
#ifndef BOOT_SERIAL_H
#define BOOT_SERIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SERIAL_PORTS_MAX 4

struct serial_place {
    uint64_t address; /* of register 0: an I/O port, or in memory below 4 GiB */
    bool in_memory;
    unsigned stride; /* bytes from one register to the next, and the width of an access */
};

/* Forgets all ports: writing is a no-op until one is opened. */
void serial_init(void);

/*
 * Sets a 16550 up for 8N1 at baud (a divisor of 115200) and moves it to column 1. False when
 * nothing answers there, it cannot be reached, or there are SERIAL_PORTS_MAX already.
 */
bool serial_open(struct serial_place place, uint32_t baud);
bool serial_present(void);

/*
 * Bytes as they are, to every port. One that stops sending costs one bounded wait; what it
 * misses until it sends again is lost to it.
 */
void serial_write(const char *bytes, size_t count);

/*
 * One more port, for a protocol: no line of the log ever goes there. Errors as serial_open. Of
 * its input nothing is lost as long as the other side waits for answers.
 */
bool serial_open_protocol(struct serial_place place, uint32_t baud);
/* The next byte that has come in, -1 when there is none now. */
int serial_protocol_get(void *unused);
/* Given up after a bounded wait, this time: the next bytes are tried again. */
void serial_protocol_write(void *unused, const char *bytes, size_t count);

/* Waits, bounded, until the last bit has left: before the machine is switched off. */
void serial_drain(void);

#endif
