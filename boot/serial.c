/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * 16550 UART, polled. Nothing is taken over from firmware: on real machines the port may have
 * been left with another speed, with the divisor latch open or with the FIFO off.
 * Source: PC16550D data sheet, "Registers".
 */
#include "boot/serial.h"

#include "hw/regs.h"

enum {
    REG_DATA = 0,       /* write: transmit; with DLAB: divisor, low byte */
    REG_IRQ_ENABLE = 1, /* with DLAB: divisor, high byte */
    REG_FIFO = 2,       /* write; reading gives the interrupt identification */
    FIFO_RESET_ON = 0x07,
    FIFO_WORKS = 0xC0, /* both bits read back only where the FIFO is a good one */
    REG_LINE = 3,
    LINE_8N1 = 0x03,
    LINE_DLAB = 0x80, /* divisor latch access */
    REG_MODEM = 4,
    MODEM_DTR_RTS_OUT2 = 0x0B,
    REG_STATUS = 5,
    STATUS_HOLDING_EMPTY = 0x20,
    STATUS_ALL_SENT = 0x40,
    REG_SCRATCH = 7,
};

#define FIFO_BYTES 16

/*
 * A read of an ISA port takes about 1 us on hardware: this is 100 ms, where the slowest speed
 * on offer sends 16 bytes in 17 ms.
 */
#define WAIT_READS 100000u

static uint16_t base;  /* 0: no port */
static unsigned burst; /* bytes that fit when the holding register is empty */

static bool wait_for(uint8_t bits)
{
    for (unsigned reads = 0; reads < WAIT_READS; reads++)
        if ((io_in8(base + REG_STATUS) & bits) == bits)
            return true;
    return false;
}

/* An absent port reads as ones; some chipsets decode one without a scratch register. */
static bool answers(uint16_t port)
{
    static const uint8_t patterns[] = {0x5A, 0xA5};

    for (unsigned i = 0; i < sizeof(patterns); i++) {
        io_out8(port + REG_SCRATCH, patterns[i]);
        if (io_in8(port + REG_SCRATCH) != patterns[i])
            return false;
    }
    return true;
}

bool serial_init(uint16_t port, uint32_t baud)
{
    unsigned divisor = baud == 0 ? 1 : 115200 / baud;

    base = 0;
    if (port == 0 || !answers(port))
        return false;
    io_out8(port + REG_LINE, LINE_8N1);
    io_out8(port + REG_IRQ_ENABLE, 0);
    io_out8(port + REG_LINE, LINE_8N1 | LINE_DLAB);
    io_out8(port + REG_DATA, (uint8_t)divisor);
    io_out8(port + REG_IRQ_ENABLE, (uint8_t)(divisor >> 8));
    io_out8(port + REG_LINE, LINE_8N1);
    io_out8(port + REG_FIFO, FIFO_RESET_ON);
    io_out8(port + REG_MODEM, MODEM_DTR_RTS_OUT2);
    burst = (io_in8(port + REG_FIFO) & FIFO_WORKS) == FIFO_WORKS ? FIFO_BYTES : 1;
    base = port;
    /* Firmware's last line may lack its end, and ours must start in column 1. */
    serial_write("\r\n", 2);
    return base != 0;
}

bool serial_present(void)
{
    return base != 0;
}

void serial_write(const char *bytes, size_t count)
{
    while (count > 0 && base != 0) {
        if (!wait_for(STATUS_HOLDING_EMPTY)) {
            base = 0;
            return;
        }
        for (unsigned room = burst; room > 0 && count > 0; room--, count--)
            io_out8(base + REG_DATA, (uint8_t)*bytes++);
    }
}

void serial_drain(void)
{
    if (base != 0)
        wait_for(STATUS_ALL_SENT);
}
