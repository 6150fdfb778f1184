/* SPDX-License-Identifier: BSD-2-Clause */
/* The volume that the image was started from, through the firmware's file protocol. */
#ifndef BOOT_VOLUME_H
#define BOOT_VOLUME_H

#include "boot/firmware.h"

/*
 * Opens the root folder once; false when there is no such volume (network, device path only).
 */
bool volume_open(void);
EFI_FILE_HANDLE volume_root(void);

/*
 * "\EFI\BOOT" for an image started as \EFI\BOOT\BOOTX64.EFI; false when firmware does not tell
 * or the path does not fit. The root folder is the empty text.
 */
bool volume_image_folder(CHAR16 *folder, size_t units);
/* The last part of that path in ASCII, empty when unknown. */
void volume_image_name(char *name, size_t bytes);

/*
 * Reads a whole file; *bytes is the room, then the length. EFI_BUFFER_TOO_SMALL when it is
 * longer, EFI_NOT_FOUND when a part of the path is missing, EFI_ACCESS_DENIED for a folder.
 */
EFI_STATUS volume_read(const CHAR16 *path, void *to, size_t *bytes);

/* The size of a file; errors as for volume_read. */
EFI_STATUS volume_size(const CHAR16 *path, uint64_t *bytes);
/* Bytes free, 0 when firmware does not tell. */
uint64_t volume_free(void);

/* What firmware says about an open file, NULL when nothing; valid until the next call. */
EFI_FILE_INFO *volume_file_info(EFI_FILE_HANDLE file);

/* Room for another megabyte: NULL, or why results cannot be kept, in a few words. */
const char *volume_unusable(void);

#endif
