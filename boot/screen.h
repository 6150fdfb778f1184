/* SPDX-License-Identifier: BSD-2-Clause */
/* Text on the firmware's screens. Firmware mode only. */
#ifndef BOOT_SCREEN_H
#define BOOT_SCREEN_H

#include "harness/options/options.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Chooses the text outputs. Those that are a serial line are left out when serial_in_use: the
 * firmware would send each line a second time, with terminal codes, over the same wire.
 */
void screen_init(bool serial_in_use, const struct options *options);

/* "screen 100x31 on 1280x800": characters and, where firmware tells, pixels; "" without one. */
void screen_describe(char *text, size_t bytes);

/* True for a screen of our own, which keeps identity and verdict together by itself. */
bool screen_is_panel(void);

/* Lines ended by LF. */
void screen_write(const char *text, size_t bytes);

/* Keeps the text readable until a key is pressed, at most seconds long. No screen, no wait. */
void screen_linger(unsigned seconds);

#endif
