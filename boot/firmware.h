/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The firmware as boot/ uses it: its tables, and the few conversions that its texts need.
 * Source: UEFI Specification, "EFI System Table", "Boot Services".
 */
#ifndef BOOT_FIRMWARE_H
#define BOOT_FIRMWARE_H

#include <efi.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern EFI_HANDLE firmware_image; /* our own handle */
extern EFI_SYSTEM_TABLE *firmware_table;
extern EFI_BOOT_SERVICES *firmware_boot;
extern EFI_LOADED_IMAGE *firmware_loaded; /* NULL when firmware does not tell */

/* Remembers the tables and stops the watchdog, which would reset the machine in 5 minutes. */
void firmware_init(EFI_HANDLE image, EFI_SYSTEM_TABLE *table);

/* The protocol on a handle; NULL when the handle is NULL or lacks it. */
void *firmware_protocol(EFI_HANDLE handle, EFI_GUID guid);

/*
 * All handles with a protocol, up to max; returns how many were stored.
 */
size_t firmware_handles(EFI_GUID guid, EFI_HANDLE *handles, size_t max);

/*
 * The first node of a device path of that type, NULL when there is none; and a node's length.
 */
const EFI_DEVICE_PATH *firmware_path_node(const EFI_DEVICE_PATH *path, unsigned type,
                                          unsigned subtype);
size_t firmware_path_bytes(const EFI_DEVICE_PATH *node);

/* UTF-16 to ASCII, '?' for what has none; cut to bytes, always terminated. */
void firmware_ascii(char *to, size_t bytes, const CHAR16 *from);
/* ASCII to UTF-16; cut to units, always terminated. */
void firmware_wide(CHAR16 *to, size_t units, const char *from);

/* A status in the specification's words, for messages; "status N" for the rare ones. */
const char *firmware_status(EFI_STATUS status);

/* "vendor revision" of the firmware. */
const char *firmware_name(void);

/* "on", "off", or "unknown" where firmware has no such variable. */
const char *firmware_secure_boot(void);

/* True when a timer event set for ms milliseconds is signalled; waits four times as long. */
bool firmware_timer_works(unsigned ms);

/*
 * True when the UEFI shell started the image: the screen stays and there is somebody to read
 * it.
 */
bool firmware_is_shell(void);

/* Powers the machine off; returns only when firmware does not know how. */
void firmware_power_off(void);

#endif
