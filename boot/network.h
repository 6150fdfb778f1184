/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The server that the image came from, when it came over the network: by PXE (TFTP) or by UEFI
 * HTTP boot. Files beside the image can be read there, and some servers take files. Firmware
 * mode only; every wait ends, by the firmware's own time-outs or by ours.
 */
#ifndef BOOT_NETWORK_H
#define BOOT_NETWORK_H

#include "boot/firmware.h"

#define NETWORK_URL_BYTES 200

/* True when the firmware tells a server and has the protocol to speak with it. */
bool network_open(void);

/* Where the image lies, with a '/' at its end: "tftp://10.0.2.2/lab/". Empty: no network. */
const char *network_folder(void);

/* The network card's address, 12 hexadecimal digits. */
const char *network_card(void);

/*
 * Reads a text that lies beside the image; as volume_read. EFI_NOT_FOUND is any answer that
 * says no: servers do not agree on the one for a missing file.
 */
EFI_STATUS network_read(const char *name, void *to, size_t *bytes);

/* Writes a file beside the image. NULL, or in a few words why it is not there. */
const char *network_send(const char *name, const void *bytes, size_t count);

#endif
