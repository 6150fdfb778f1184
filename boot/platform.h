/* SPDX-License-Identifier: BSD-2-Clause */
/* struct platform for the suite, over the rest of boot/. */
#ifndef BOOT_PLATFORM_H
#define BOOT_PLATFORM_H

#include "harness/check/platform.h"
#include "harness/options/options.h"

/* Usable at once for lines; take-overs need platform_memory. */
const struct platform *platform_init(const struct options *options);

/*
 * Page pool, processor state, arena. False when firmware has too little memory, or runs with
 * 5-level paging, whose tables the kernel cannot replace; *why says which.
 */
bool platform_memory(const char **why);

uint64_t platform_top_of_ram(void);

/* The other processors go back to the firmware; a run in which one does not is aborted. */
void platform_release(void);

/* A take-over without provider, as in struct platform. */
uint64_t platform_take_over_bare(uint64_t (*fn)(void *), void *arg);

/* Copies the provider's name and reason into struct platform. */
void platform_provider(void);

/*
 * Ends the run as the options say: exit device, power off, or just return to firmware. Files
 * are closed before, output is drained.
 */
void platform_exit(void);

#endif
