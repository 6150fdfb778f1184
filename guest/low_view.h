/* SPDX-License-Identifier: BSD-2-Clause */
/* The guest region's view below 1 MiB, as the other files of guest/ and its users need it. */
#ifndef GUEST_LOW_VIEW_H
#define GUEST_LOW_VIEW_H

#include "guest/run.h"

#include <stdbool.h>
#include <stdint.h>

/* Offsets from the region's start, in that view: the data page, the end of the stack page. */
uint32_t low_data(void);
uint32_t low_stack(void);

/* Copies the region, empties data and stack as before a run. */
void low_reset(const struct guest *g, uint64_t argument);
/*
 * What low memory holds behind the view: a DS area in a page of its own, and a buffer. Offsets
 * from low_memory(), which is where the view begins.
 */
#define LOW_AREA         0x11000u
#define LOW_BUFFER       0x12000u
#define LOW_BUFFER_BYTES 0x2000u

/* IDT of 32-bit gates for the workloads of protected mode; guest/legacy.asm. */
extern const uint8_t guest_idt32[], guest_idt32_end[];

/* Registers of a run in compatibility mode, ring 3. */
void low_frame(const struct guest_run *run, struct trap_frame *frame);
void low_close(struct guest *g);

#endif
