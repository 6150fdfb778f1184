/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Data breakpoints of the guest while it is stepped (SDM Vol. 3, "Debug Registers").
 *
 * What the guest executes itself is watched by the processor, in the three debug registers
 * that stepping leaves free; what is carried out by software is watched here. Both end as
 * bits that wait for the next instruction boundary, where the trap is due.
 */
#include "hw/model/processor/cpu.h"
#include "hw/model/processor/insns.h"

enum { ON_WRITE = 1, ON_ACCESS = 3 };
#define WATCHES    4
#define HOST_FIRST 1 /* DR0 belongs to stepping */

static unsigned condition(const struct model_cpu *cpu, unsigned number)
{
    bool on = cpu->dr7 >> (2 * number) & 3;
    unsigned when = cpu->dr7 >> (16 + 4 * number) & 3;

    return on && (when == ON_WRITE || when == ON_ACCESS) ? when : 0;
}

static unsigned length_code(const struct model_cpu *cpu, unsigned number)
{
    return cpu->dr7 >> (18 + 4 * number) & 3;
}

static uint64_t bytes_watched(const struct model_cpu *cpu, unsigned number)
{
    static const uint8_t bytes[] = {1, 2, 8, 4};

    return bytes[length_code(cpu, number)];
}

bool watch_any(const struct model_cpu *cpu)
{
    if (!(cpu->dr7 & 0xFF))
        return false;
    for (unsigned i = 0; i < WATCHES; i++)
        if (condition(cpu, i))
            return true;
    return false;
}

void watch_access(struct model_cpu *cpu, uint64_t linear, size_t bytes, unsigned access)
{
    bool of_area = access & ACCESS_AREA;

    if (!(cpu->dr7 & 0xFF) || access & ACCESS_FETCH || (access & ACCESS_IMPLICIT && !of_area))
        return;
    for (unsigned i = 0; i < WATCHES; i++) {
        unsigned when = condition(cpu, i);
        uint64_t length = bytes_watched(cpu, i), start = cpu->dr[i] & ~(length - 1);

        if ((when == ON_ACCESS || (when == ON_WRITE && access & ACCESS_WRITE)) &&
            linear < start + length && start < linear + bytes)
            cpu->watch_hits |= 1u << i;
    }
}

/*
 * Which watch of the guest lies in which register of the host; WATCHES = none. Three at most:
 * a fourth has no place.
 */
static void place(const struct model_cpu *cpu, unsigned guest_of[WATCHES])
{
    unsigned next = HOST_FIRST;

    for (unsigned i = 0; i < WATCHES; i++)
        guest_of[i] = WATCHES;
    for (unsigned i = 0; i < WATCHES && next < WATCHES; i++)
        if (condition(cpu, i))
            guest_of[next++] = i;
}

static void write_address(unsigned number, uint64_t address)
{
    if (number == 1)
        write_dr1(address);
    else if (number == 2)
        write_dr2(address);
    else
        write_dr3(address);
}

uint64_t watch_arm(struct model_cpu *cpu)
{
    unsigned guest_of[WATCHES];
    uint64_t dr7 = 0;

    place(cpu, guest_of);
    for (unsigned host = HOST_FIRST; host < WATCHES; host++) {
        unsigned guest = guest_of[host];

        if (guest == WATCHES)
            continue;
        write_address(host, cpu->dr[guest]);
        dr7 |= 2ull << (2 * host);
        dr7 |= (uint64_t)(condition(cpu, guest) | length_code(cpu, guest) << 2)
               << (16 + 4 * host);
    }
    return dr7;
}

void watch_taken(struct model_cpu *cpu, uint64_t dr6)
{
    unsigned guest_of[WATCHES];

    place(cpu, guest_of);
    for (unsigned host = HOST_FIRST; host < WATCHES; host++)
        if (dr6 >> host & 1 && guest_of[host] != WATCHES)
            cpu->watch_hits |= 1u << guest_of[host];
}

bool watch_caused(const struct model_cpu *cpu)
{
    for (unsigned i = 0; i < 4; i++)
        if (cpu->dr6 >> i & 1 && cpu->dr7 >> (16 + 4 * i) & 3)
            return true;
    return false;
}
