/* SPDX-License-Identifier: BSD-2-Clause */
/* The TFTP server of a PXE boot, through the firmware's clients. */
#ifndef BOOT_TFTP_H
#define BOOT_TFTP_H

#include "boot/firmware.h"

/*
 * device is the card as the image was loaded from it, path the image's whole device path. False
 * when the firmware keeps no answer that names server and file, or spoke IPv6.
 */
bool tftp_open(EFI_HANDLE device, const EFI_DEVICE_PATH *path, char *folder, size_t bytes);

/* As network_read and network_send. */
EFI_STATUS tftp_read(const char *name, void *to, size_t *bytes);
const char *tftp_send(const char *name, const void *bytes, size_t count);

#endif
