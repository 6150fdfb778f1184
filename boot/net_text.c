/* SPDX-License-Identifier: BSD-2-Clause */
/* Taking DHCP answers and addresses apart. Sources: RFC 2131, RFC 2132, RFC 3986. */
#include "boot/net_text.h"

#include "hw/string.h"

/* RFC 2131, "Protocol Summary": offsets in the message. */
enum { NEXT_SERVER = 20, FILE_NAME = 108, FILE_BYTES = 128, OPTIONS = 240 };
enum { OPTION_PAD = 0, OPTION_END = 255 };

const uint8_t *dhcp_option(const uint8_t *message, size_t message_bytes, unsigned code,
                           size_t *bytes)
{
    size_t at = OPTIONS;

    while (at < message_bytes && message[at] != OPTION_END) {
        size_t length;

        if (message[at] == OPTION_PAD) {
            at++;
            continue;
        }
        if (message_bytes - at < 2)
            break;
        length = message[at + 1];
        if (message_bytes - at - 2 < length)
            break;
        if (message[at] == code) {
            *bytes = length;
            return message + at + 2;
        }
        at += 2 + length;
    }
    return NULL;
}

static bool is_set(const uint8_t address[4])
{
    return (address[0] | address[1] | address[2] | address[3]) != 0;
}

bool dhcp_boot(const uint8_t *message, size_t message_bytes, uint8_t server[4], char *folder,
               size_t folder_bytes)
{
    const uint8_t *name, *given;
    size_t bytes = FILE_BYTES, length = 0, end = 0;

    if (message_bytes < OPTIONS)
        return false;
    name = message + FILE_NAME;
    given = dhcp_option(message, message_bytes, DHCP_BOOT_FILE, &bytes);
    if (given)
        name = given;
    for (; length < bytes && name[length] != 0; length++)
        if (name[length] == '/' || name[length] == '\\')
            end = length + 1;
    if (length == 0 || end >= folder_bytes)
        return false;
    memcpy(folder, name, end);
    folder[end] = 0;
    memcpy(server, message + NEXT_SERVER, 4);
    given = dhcp_option(message, message_bytes, DHCP_SERVER, &bytes);
    if (!is_set(server) && given && bytes == 4)
        memcpy(server, given, 4);
    return is_set(server);
}

bool url_split(const char *url, char *host, size_t host_bytes, char *folder,
               size_t folder_bytes)
{
    const char *authority = strchr(url, ':');
    size_t length = 0, end = 0;

    if (!authority || authority[1] != '/' || authority[2] != '/')
        return false;
    authority += 3;
    while (authority[length] && authority[length] != '/' && authority[length] != '?')
        length++;
    for (size_t i = (size_t)(authority - url) + length; url[i] && url[i] != '?'; i++)
        if (url[i] == '/')
            end = i + 1;
    if (length == 0 || end == 0 || length >= host_bytes || end >= folder_bytes)
        return false;
    memcpy(host, authority, length);
    host[length] = 0;
    memcpy(folder, url, end);
    folder[end] = 0;
    return true;
}
