/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a network boot tells in bytes: the server and the file of a DHCP answer, the host and
 * the folder of an address. All of it comes from outside. Pure, so it is tested on the host.
 */
#ifndef BOOT_NET_TEXT_H
#define BOOT_NET_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* RFC 2132 */
enum { DHCP_ROUTER = 3, DHCP_SERVER = 54, DHCP_BOOT_FILE = 67 };

/* The value of an option of a DHCP message and its length; NULL when it is not there. */
const uint8_t *dhcp_option(const uint8_t *message, size_t message_bytes, unsigned code,
                           size_t *bytes);

/*
 * Server and folder of the boot file, with the folder's separator at its end. False when the
 * message names no file or no server, or the folder does not fit.
 */
bool dhcp_boot(const uint8_t *message, size_t message_bytes, uint8_t server[4], char *folder,
               size_t folder_bytes);

/*
 * "http://host:80/a/b.efi?c": host and port, and the address up to the last '/' of its path.
 * False when it has no such parts or they do not fit.
 */
bool url_split(const char *url, char *host, size_t host_bytes, char *folder,
               size_t folder_bytes);

#endif
