/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the guest wants the processors that it starts, and whose page they get instead. Source:
 * SDM Vol. 3, "Interrupt Command Register (ICR)".
 */
#include "hw/model/host/stay.h"

#define PAGE_BYTES 4096ull

enum {
    ICR_VECTOR = 0xFF,
    ICR_MODE = 0x700,
    ICR_STARTUP = 0x600,
    ICR_LOGICAL = 0x800,
    ICR_SHORTHAND = 0xC0000,
    XAPIC_ALL = 0xFF
};

struct seat startup_seats[MODEL_SEATS_MAX];
uint32_t startup_seat_count;
uint8_t *startup_page_used;

bool startup_watched(void)
{
    return startup_page_used;
}

uint32_t startup_command(uint32_t destination, uint32_t command)
{
    bool everyone = command & (ICR_SHORTHAND | ICR_LOGICAL) || destination == XAPIC_ALL ||
                    destination == ~0u;
    if (!startup_page_used || (command & ICR_MODE) != ICR_STARTUP)
        return command;
    for (uint32_t i = 0; i < startup_seat_count; i++)
        if (everyone || startup_seats[i].apic_id == destination)
            startup_seats[i].page = command & ICR_VECTOR;
    return (command & ~(uint32_t)ICR_VECTOR) |
           (uint32_t)((uintptr_t)startup_page_used / PAGE_BYTES);
}
