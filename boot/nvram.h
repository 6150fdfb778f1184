/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The journal where there is no volume to write on: one small variable of the firmware, which
 * keeps it in flash. Flash wears, and firmware suffers when it is full: so one value of at most
 * NVRAM_BYTES, a bounded number of writes, none where room is scarce, and it is taken away at
 * the end. What it holds is too little to carry results over: a run that goes on with it does
 * everything again but the check that never came back.
 */
#ifndef BOOT_NVRAM_H
#define BOOT_NVRAM_H

#include "boot/firmware.h"

#define NVRAM_BYTES      1536 /* for as many boots as may go on, with the longest names */
#define NVRAM_WRITES_MAX 1000 /* in one boot */

/* What an earlier boot left; *bytes is the room, then the length. */
EFI_STATUS nvram_read(char *to, size_t *bytes);

/* Begins with the text, or adds it to what nvram_read gave. NULL, or why it is not kept. */
const char *nvram_open(const char *text, size_t bytes, bool anew);

/* Keeps the last step of the text, in place of the one before. NULL, or why not. */
const char *nvram_step(const char *text, size_t bytes);

/* Takes the variable away if it is there. */
void nvram_remove(void);

#endif
