/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * 16550 UART, polled. Nothing is taken over from firmware: on real machines the port may have
 * been left with another speed, with the divisor latch open or with the FIFO off.
 * Source: PC16550D data sheet, "Registers".
 */
#include "boot/serial.h"

#include "hw/regs.h"

enum {
    REG_DATA = 0,         /* write: transmit; with DLAB: divisor, low byte */
    REG_IRQ_ENABLE = 1,   /* with DLAB: divisor, high byte */
    REG_FIFO = 2,         /* write; reading gives the interrupt identification */
    FIFO_RESET_ON = 0xC7, /* an emulator hands in as many bytes at once as the trigger says */
    FIFO_WORKS = 0xC0,    /* both bits read back only where the FIFO is a good one */
    REG_LINE = 3,
    LINE_8N1 = 0x03,
    LINE_DLAB = 0x80, /* divisor latch access */
    REG_MODEM = 4,
    MODEM_DTR_RTS_OUT2 = 0x0B,
    REG_STATUS = 5,
    STATUS_RECEIVED = 0x01,
    STATUS_HOLDING_EMPTY = 0x20,
    STATUS_ALL_SENT = 0x40,
    REG_SCRATCH = 7,
};

#define FIFO_BYTES 16

/*
 * A read of an ISA port takes about 1 us on hardware: this is 4 s. The slowest speed on offer
 * sends 16 bytes in 17 ms, but whoever listens may hold the line, and an emulator's reader may
 * be a busy program.
 */
#define WAIT_READS 4000000u

#define FOUR_GIB (1ull << 32)

static struct port {
    struct serial_place place;
    bool good;      /* false: it stopped sending; looked at again before each line */
    unsigned burst; /* bytes that fit when the holding register is empty */
} ports[SERIAL_PORTS_MAX], protocol;
static size_t port_count;

/* In memory the registers take the width of their spacing; some buses answer no other. */
static uint8_t get(const struct port *p, unsigned reg)
{
    uint64_t at = p->place.address + reg * p->place.stride;

    if (!p->place.in_memory)
        return io_in8((uint16_t)at);
    if (p->place.stride == 4)
        return (uint8_t) * (volatile uint32_t *)(uintptr_t)at;
    if (p->place.stride == 2)
        return (uint8_t) * (volatile uint16_t *)(uintptr_t)at;
    return *(volatile uint8_t *)(uintptr_t)at;
}

static void put(const struct port *p, unsigned reg, uint8_t value)
{
    uint64_t at = p->place.address + reg * p->place.stride;

    if (!p->place.in_memory)
        io_out8((uint16_t)at, value);
    else if (p->place.stride == 4)
        *(volatile uint32_t *)(uintptr_t)at = value;
    else if (p->place.stride == 2)
        *(volatile uint16_t *)(uintptr_t)at = value;
    else
        *(volatile uint8_t *)(uintptr_t)at = value;
}

static bool wait_for(const struct port *p, uint8_t bits)
{
    for (unsigned reads = 0; reads < WAIT_READS; reads++)
        if ((get(p, REG_STATUS) & bits) == bits)
            return true;
    return false;
}

/* An absent port reads as ones; some chipsets decode one without a scratch register. */
static bool answers(const struct port *p)
{
    static const uint8_t patterns[] = {0x5A, 0xA5};

    for (unsigned i = 0; i < sizeof(patterns); i++) {
        put(p, REG_SCRATCH, patterns[i]);
        if (get(p, REG_SCRATCH) != patterns[i])
            return false;
    }
    return true;
}

void serial_init(void)
{
    port_count = 0;
}

static void write_to(struct port *p, const char *bytes, size_t count)
{
    if (!p->good)
        p->good = (get(p, REG_STATUS) & STATUS_HOLDING_EMPTY) != 0;
    while (count > 0 && p->good) {
        p->good = wait_for(p, STATUS_HOLDING_EMPTY);
        for (unsigned room = p->burst; p->good && room > 0 && count > 0; room--, count--)
            put(p, REG_DATA, (uint8_t)*bytes++);
    }
}

static bool set_up(struct port *p, struct serial_place place, uint32_t baud)
{
    unsigned divisor = baud == 0 ? 1 : 115200 / baud;

    /* Above 4 GiB the kernel maps memory only. */
    if (place.address == 0 || (place.in_memory && place.address + 8 * place.stride > FOUR_GIB))
        return false;
    *p = (struct port){.place = place, .good = true};
    if (!answers(p))
        return false;
    put(p, REG_LINE, LINE_8N1);
    put(p, REG_IRQ_ENABLE, 0);
    put(p, REG_LINE, LINE_8N1 | LINE_DLAB);
    put(p, REG_DATA, (uint8_t)divisor);
    put(p, REG_IRQ_ENABLE, (uint8_t)(divisor >> 8));
    put(p, REG_LINE, LINE_8N1);
    put(p, REG_FIFO, FIFO_RESET_ON);
    put(p, REG_MODEM, MODEM_DTR_RTS_OUT2);
    p->burst = (get(p, REG_FIFO) & FIFO_WORKS) == FIFO_WORKS ? FIFO_BYTES : 1;
    return true;
}

bool serial_open(struct serial_place place, uint32_t baud)
{
    struct port *p = &ports[port_count];

    if (port_count == SERIAL_PORTS_MAX || !set_up(p, place, baud))
        return false;
    port_count++;
    /* Firmware's last line may lack its end, and ours must start in column 1. */
    write_to(p, "\r\n", 2);
    return p->good;
}

bool serial_open_protocol(struct serial_place place, uint32_t baud)
{
    return set_up(&protocol, place, baud);
}

int serial_protocol_get(void *unused)
{
    (void)unused;
    return get(&protocol, REG_STATUS) & STATUS_RECEIVED ? get(&protocol, REG_DATA) : -1;
}

void serial_protocol_write(void *unused, const char *bytes, size_t count)
{
    (void)unused;
    protocol.good = true;
    write_to(&protocol, bytes, count);
}

bool serial_present(void)
{
    for (size_t i = 0; i < port_count; i++)
        if (ports[i].good)
            return true;
    return false;
}

void serial_write(const char *bytes, size_t count)
{
    for (size_t i = 0; i < port_count; i++)
        write_to(&ports[i], bytes, count);
}

void serial_drain(void)
{
    for (size_t i = 0; i < port_count; i++)
        if (ports[i].good)
            wait_for(&ports[i], STATUS_ALL_SENT);
}
