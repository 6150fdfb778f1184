/* SPDX-License-Identifier: BSD-2-Clause */
/* DHCP answers and addresses: what is taken from them, and that no bytes lead outside. */
#include "boot/net_text.h"

#include "harness/tests/fakes/unit.h"

#include <stdlib.h>

enum { NEXT_SERVER = 20, FILE_NAME = 108, OPTIONS = 240 };

static uint8_t message[400];
static uint8_t server[4];
static char folder[40], host[40];

static void fresh(const char *file)
{
    memset(message, 0, sizeof(message));
    snprintf((char *)message + FILE_NAME, 128, "%s", file);
    message[NEXT_SERVER] = 192;
    message[NEXT_SERVER + 3] = 7;
    message[OPTIONS] = 255;
}

static void put(size_t at, unsigned code, const char *value)
{
    message[at] = (uint8_t)code;
    message[at + 1] = (uint8_t)strlen(value);
    memcpy(message + at + 2, value, strlen(value));
    message[at + 2 + strlen(value)] = 255;
}

static bool boot(size_t bytes)
{
    return dhcp_boot(message, bytes, server, folder, sizeof(folder));
}

static void server_and_file(void)
{
    fresh("lab/a/boot.efi");
    ASSERT(boot(sizeof(message)));
    EXPECT_STR(folder, "lab/a/");
    EXPECT_EQ(server[3], 7);
    fresh("boot.efi");
    ASSERT(boot(sizeof(message)));
    EXPECT_STR(folder, "");
    fresh("");
    EXPECT(!boot(sizeof(message)));
    EXPECT(!boot(OPTIONS - 1));
}

static void options_win(void)
{
    fresh("old/x");
    put(OPTIONS + 1, DHCP_BOOT_FILE, "new\\y"); /* behind a byte of padding */
    message[OPTIONS] = 0;
    ASSERT(boot(sizeof(message)));
    EXPECT_STR(folder, "new\\");
    fresh("x");
    memset(message + NEXT_SERVER, 0, 4);
    EXPECT(!boot(sizeof(message)));
    put(OPTIONS, DHCP_SERVER, "\x0A\x01\x02\x03");
    ASSERT(boot(sizeof(message)));
    EXPECT_EQ(server[0], 10);
    put(OPTIONS, DHCP_SERVER, "\x0A\x01\x02");
    EXPECT(!boot(sizeof(message)));
}

static void too_long(void)
{
    fresh("0123456789012345678901234567890123456789/x");
    EXPECT(!boot(sizeof(message)));
}

/* In a block of its own, so that the sanitizer sees one byte too many. */
static void any_bytes(void)
{
    srand(3);
    for (unsigned round = 0; round < 20000; round++) {
        size_t bytes = (size_t)rand() % 300, length;
        uint8_t *block = malloc(bytes + 1);

        for (size_t i = 0; i < bytes; i++)
            block[i] = (uint8_t)(rand() % 3 ? rand() : rand() % 2 ? DHCP_BOOT_FILE : 1);
        if (dhcp_boot(block, bytes, server, folder, sizeof(folder)))
            EXPECT(strlen(folder) < sizeof(folder));
        if (dhcp_option(block, bytes, DHCP_ROUTER, &length))
            EXPECT(length < bytes);
        free(block);
    }
}

static bool split(const char *url)
{
    return url_split(url, host, sizeof(host), folder, sizeof(folder));
}

static void addresses(void)
{
    ASSERT(split("http://10.0.2.2:8080/lab/BOOTX64.EFI?a/b"));
    EXPECT_STR(host, "10.0.2.2:8080");
    EXPECT_STR(folder, "http://10.0.2.2:8080/lab/");
    ASSERT(split("https://h/x"));
    EXPECT_STR(folder, "https://h/");
    EXPECT(!split(""));
    EXPECT(!split("http"));
    EXPECT(!split("http:/x"));
    EXPECT(!split("http://"));
    EXPECT(!split("http:///x"));
    EXPECT(!split("http://host"));
    EXPECT(!split("http://host?/x"));
    EXPECT(!split("http://0123456789012345678901234567890123456789/x"));
}

int main(void)
{
    RUN(server_and_file);
    RUN(options_win);
    RUN(too_long);
    RUN(any_bytes);
    RUN(addresses);
    UNIT_END();
}
