/* SPDX-License-Identifier: BSD-2-Clause */
/* The machine's state around a check: what must be after it as it was before. */
#ifndef HARNESS_SUITE_SNAPSHOT_H
#define HARNESS_SUITE_SNAPSHOT_H

#include "ds/broker.h"
#include "hw/pmc.h"
#include "hw/trap.h"

#include <stddef.h>
#include <stdint.h>

struct snapshot {
    struct broker_state broker; /* IA32_DEBUGCTL, IA32_DS_AREA */
    struct pmc_state pmc;
    uint64_t cr0, cr3, cr4, rflags, efer, misc_enable, dr7;
    uint32_t lvt_perf;
    uint8_t idt[16 * VECTOR_COUNT];
    struct trap_slot traps[TRAP_SYSCALL + 1];
    bool return_by_iret;
    size_t free_pages;
};

void snapshot_take(struct snapshot *s);
/*
 * Compares the machine with the snapshot and puts back what differs. Returns how many things
 * leaked and writes their names to text.
 */
unsigned snapshot_restore(const struct snapshot *s, char *text, size_t bytes);

#endif
