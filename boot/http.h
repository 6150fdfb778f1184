/* SPDX-License-Identifier: BSD-2-Clause */
/* The web server of a UEFI HTTP boot, through the firmware's own HTTP client. */
#ifndef BOOT_HTTP_H
#define BOOT_HTTP_H

#include "boot/firmware.h"

/*
 * path is the image's whole device path, url the address in it. False when the firmware has no
 * HTTP client on that card, or the path holds no IPv4 address of ours.
 */
bool http_open(const EFI_DEVICE_PATH *path, const char *url, char *folder, size_t bytes);

/* As network_read and network_send. */
EFI_STATUS http_read(const char *name, void *to, size_t *bytes);
const char *http_send(const char *name, const void *bytes, size_t count);

#endif
