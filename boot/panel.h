/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Text in our own size on the graphics screen, where the firmware's would be too small to read:
 * a line of progress and counts on top, below it what is not just a passed check. Firmware mode
 * only.
 */
#ifndef BOOT_PANEL_H
#define BOOT_PANEL_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Takes the screen over. With a width and height it is switched to that mode first; without
 * (0), only a screen of 1440 lines or more is taken. False when the firmware has no graphics,
 * no font, not that mode or too little memory: nothing is then changed.
 */
bool panel_open(unsigned width, unsigned height);

/* Lines ended by LF. */
void panel_write(const char *text, size_t bytes);

/* "panel 160x37 on 3840x2160" */
void panel_describe(char *text, size_t bytes);

#endif
