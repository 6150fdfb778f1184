/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Results on the boot volume: waymark/NNNN-SIGNATURE/ with report.json, report.tap, log.txt
 * and machine.json. All of it in firmware mode.
 */
#ifndef BOOT_FILES_H
#define BOOT_FILES_H

#include "boot/firmware.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Makes the folder and the four files, and says in one line where they are or why there are
 * none; a run without them goes on. NNNN is one more than the highest number there.
 */
void files_open(const char *signature);

bool files_are_open(void);

/* The volume is gone, somebody else found: says so once and touches nothing any more. */
void files_lost(EFI_STATUS status);

/* Brings the files up to date and onto the medium. A failure is said once and ends it. */
void files_flush(void);

/*
 * One more file in the folder, which grows by pieces; the one before it is done. files_append
 * makes each piece durable before it returns; false: there is no such file, or writing failed.
 */
bool files_add(const char *name);
bool files_append(const void *bytes, size_t count);
/* Bytes free on the volume, 0 when firmware does not tell. */
uint64_t files_room(void);

/*
 * Writes the rest, reads everything back and compares. NULL when all bytes are there (or there
 * are no files), else one line naming the file and the difference. The files are closed.
 */
const char *files_close(void);

#endif
