/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which of the two it was, from the path that the firmware loaded the image by: an address in
 * it means HTTP; else a card with the PXE Base Code that has an answer means TFTP.
 */
#include "boot/network.h"

#include "boot/http.h"
#include "boot/tftp.h"

#include "harness/check/format.h"
#include "hw/string.h"

#define IMAGE_PATH_GUID                                                                        \
    {                                                                                          \
        0xBC62157E, 0x3E33, 0x4FEC,                                                            \
        {                                                                                      \
            0x99, 0x20, 0x2D, 0x3B, 0x36, 0xD7, 0x50, 0xDF                                     \
        }                                                                                      \
    }

static enum { NOT_LOOKED, BY_NONE, BY_TFTP, BY_HTTP } kind;
static char folder[NETWORK_URL_BYTES], card[13];

static void take_card(const EFI_DEVICE_PATH *path)
{
    const EFI_DEVICE_PATH *node =
        firmware_path_node(path, MESSAGING_DEVICE_PATH, MSG_MAC_ADDR_DP);
    const uint8_t *mac = (const uint8_t *)(node + 1);

    if (node && firmware_path_bytes(node) >= sizeof(*node) + 6)
        fmt(card, sizeof(card), "%02x%02x%02x%02x%02x%02x", mac[0], mac[1], mac[2], mac[3],
            mac[4], mac[5]);
}

/* The address is text without an end; false when there is none, or it is too long for us. */
static bool image_url(const EFI_DEVICE_PATH *path, char *url)
{
    const EFI_DEVICE_PATH *node = firmware_path_node(path, MESSAGING_DEVICE_PATH, MSG_URI_DP);
    size_t bytes = !node ? 0 : firmware_path_bytes(node) - sizeof(*node);

    if (bytes == 0 || bytes >= NETWORK_URL_BYTES)
        return false;
    memcpy(url, node + 1, bytes);
    url[bytes] = 0;
    return true;
}

bool network_open(void)
{
    const EFI_DEVICE_PATH *path = firmware_protocol(firmware_image, (EFI_GUID)IMAGE_PATH_GUID);
    char url[NETWORK_URL_BYTES];

    if (kind != NOT_LOOKED)
        return kind != BY_NONE;
    kind = BY_NONE;
    if (!path || !firmware_loaded)
        return false;
    take_card(path);
    if (card[0] && image_url(path, url) && http_open(path, url, folder, sizeof(folder)))
        kind = BY_HTTP;
    else if (card[0] && tftp_open(firmware_loaded->DeviceHandle, path, folder, sizeof(folder)))
        kind = BY_TFTP;
    return kind != BY_NONE;
}

const char *network_folder(void)
{
    return folder;
}

const char *network_card(void)
{
    return card;
}

EFI_STATUS network_read(const char *name, void *to, size_t *bytes)
{
    return kind == BY_HTTP ? http_read(name, to, bytes) : tftp_read(name, to, bytes);
}

const char *network_send(const char *name, const void *bytes, size_t count)
{
    return kind == BY_HTTP ? http_send(name, bytes, count) : tftp_send(name, bytes, count);
}
