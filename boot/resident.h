/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The model in memory that an operating system leaves alone, and the processor inside it.
 *
 * The image is memory of the boot services' time: an operating system takes it for its own. So
 * the model runs from a copy, of which nothing else of the image is a part.
 */
#ifndef BOOT_RESIDENT_H
#define BOOT_RESIDENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Firmware mode. Copies the model as it is configured and allocates what all processors need;
 * NULL, or why not, and then nothing is left behind.
 */
const char *resident_prepare(uint64_t top_of_ram);

/* Bytes that stay, and for how many processors. */
size_t resident_bytes(void);
size_t resident_processors(void);

/*
 * Firmware mode, into the model and out of it: firmware runs on as its guest. Other processors
 * enter when they are started.
 */
bool resident_enter(void);
void resident_leave(void);

/* Gives everything back. Outside the model only. */
void resident_release(void);

#endif
