/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Server and folder out of the DHCP answers that the firmware keeps, and transfers.
 *
 * Reading is the PXE Base Code's own. Writing is not, though it has a call for it: in EDK II,
 * which most firmware comes from, that call leaves a pointer unset that it uses for each packet
 * that arrives, so it works or takes the machine down by what lies on the stack. The client
 * below it, MTFTPv4, is sound.
 * Source: UEFI Specification, "EFI PXE Base Code Protocol", "EFI MTFTPv4 Protocol"; RFC 1350,
 * RFC 2131, RFC 2132.
 */
#include "boot/tftp.h"

#include "boot/mtftp_protocol.h"
#include "boot/net_text.h"

#include "harness/check/format.h"
#include "hw/string.h"

#define PATH_BYTES 160
#define NAME_BYTES (PATH_BYTES + 80)
/* Fits with all headers into an Ethernet frame. */
#define BLOCK_BYTES 1400
#define BLOCK_TEXT  "1400"
#define SERVER_PORT 69
#define TRIES       3
#define TIMEOUT_S   2

enum { PACKET_ERROR = 5, ERROR_TEXT_AT = 4 };

static EFI_PXE_BASE_CODE_PROTOCOL *pxe;
static struct mtftp_binding *binding; /* NULL: nothing can be written */
static EFI_IP_ADDRESS server;
static char folder_path[PATH_BYTES]; /* on the server, with its last separator, or empty */

static bool take_answer(const EFI_PXE_BASE_CODE_PACKET *packet)
{
    memset(&server, 0, sizeof(server));
    return dhcp_boot(packet->Raw, sizeof(packet->Raw), (uint8_t *)&server, folder_path,
                     sizeof(folder_path));
}

bool tftp_open(EFI_HANDLE device, const EFI_DEVICE_PATH *path, char *folder, size_t bytes)
{
    EFI_GUID guid = MTFTP_BINDING_GUID;
    EFI_DEVICE_PATH *rest = (EFI_DEVICE_PATH *)path;
    EFI_HANDLE card = NULL;
    const EFI_PXE_BASE_CODE_MODE *mode;

    pxe = firmware_protocol(device, (EFI_GUID)EFI_PXE_BASE_CODE_PROTOCOL_GUID);
    if (!pxe || !pxe->Mode || !pxe->Mode->Started || pxe->Mode->UsingIpv6)
        return false;
    mode = pxe->Mode;
    /* The latest answer counts: the boot server's, a proxy's, the DHCP server's own. */
    if (!(mode->PxeReplyReceived && take_answer(&mode->PxeReply)) &&
        !(mode->ProxyOfferReceived && take_answer(&mode->ProxyOffer)) &&
        !(mode->DhcpAckReceived && take_answer(&mode->DhcpAck)))
        return false;
    if (firmware_boot->LocateDevicePath(&guid, &rest, &card) == EFI_SUCCESS)
        binding = firmware_protocol(card, guid);
    fmt(folder, bytes, "tftp://%u.%u.%u.%u/%s", server.v4.Addr[0], server.v4.Addr[1],
        server.v4.Addr[2], server.v4.Addr[3], folder_path + (folder_path[0] == '/'));
    return true;
}

EFI_STATUS tftp_read(const char *name, void *to, size_t *bytes)
{
    char path[NAME_BYTES];
    uint64_t count = *bytes;
    UINTN block = BLOCK_BYTES;
    EFI_STATUS status;

    fmt(path, sizeof(path), "%s%s", folder_path, name);
    /* Some do not tell how long the file was. Text has no NUL at its end, so that tells it. */
    memset(to, 0, *bytes);
    status = pxe->Mtftp(pxe, EFI_PXE_BASE_CODE_TFTP_READ_FILE, to, TRUE, &count, &block,
                        &server, (UINT8 *)path, NULL, FALSE);
    while (count > 0 && ((const char *)to)[count - 1] == 0)
        count--;
    *bytes = count;
    return status == EFI_TFTP_ERROR ? EFI_NOT_FOUND : status;
}

/* --- writing */

static char refusal[80]; /* the server's own words */

static EFI_STATUS EFIAPI look_at(struct mtftp *client, struct mtftp_token *token, UINT16 bytes,
                                 UINT8 *packet)
{
    size_t used;

    (void)client;
    (void)token;
    if (bytes <= ERROR_TEXT_AT || packet[0] != 0 || packet[1] != PACKET_ERROR)
        return EFI_SUCCESS;
    used = fmt(refusal, sizeof(refusal), "the server says: ");
    for (size_t i = ERROR_TEXT_AT; i < bytes && packet[i] != 0 && used + 1 < sizeof(refusal);
         i++)
        refusal[used++] = packet[i] >= ' ' && packet[i] <= '~' ? (char)packet[i] : '?';
    refusal[used] = 0;
    return EFI_SUCCESS;
}

static void configure(struct mtftp_config *config)
{
    const EFI_PXE_BASE_CODE_MODE *mode = pxe->Mode;
    size_t bytes = 0;
    const uint8_t *router =
        dhcp_option(mode->DhcpAck.Raw, sizeof(mode->DhcpAck.Raw), DHCP_ROUTER, &bytes);

    *config = (struct mtftp_config){
        .server_port = SERVER_PORT, .tries = TRIES, .timeout_s = TIMEOUT_S};
    memcpy(config->station, &mode->StationIp, sizeof(config->station));
    memcpy(config->mask, &mode->SubnetMask, sizeof(config->mask));
    memcpy(config->server, &server, sizeof(config->server));
    if (router && bytes >= 4)
        memcpy(config->gateway, router, sizeof(config->gateway));
}

static EFI_STATUS write_by(struct mtftp *client, const char *name, const void *bytes,
                           size_t count)
{
    char path[NAME_BYTES];
    struct mtftp_config config;
    struct mtftp_option block = {(UINT8 *)"blksize", (UINT8 *)BLOCK_TEXT};
    struct mtftp_token token = {.name = (UINT8 *)path,
                                .option_count = 1,
                                .options = &block,
                                .bytes = count,
                                .buffer = (void *)bytes,
                                .check = look_at};
    EFI_STATUS status;

    fmt(path, sizeof(path), "%s%s", folder_path, name);
    configure(&config);
    status = client->configure(client, &config);
    if (status == EFI_SUCCESS) {
        status = client->write_file(client, &token);
        client->configure(client, NULL);
    }
    return status;
}

const char *tftp_send(const char *name, const void *bytes, size_t count)
{
    EFI_HANDLE child = NULL;
    struct mtftp *client;
    EFI_STATUS status;

    refusal[0] = 0;
    if (!binding || binding->create_child(binding, &child) != EFI_SUCCESS)
        return "this firmware writes nothing by TFTP";
    client = firmware_protocol(child, (EFI_GUID)MTFTP_GUID);
    status = !client ? EFI_UNSUPPORTED : write_by(client, name, bytes, count);
    binding->destroy_child(binding, child);
    if (status == EFI_SUCCESS)
        return NULL;
    return refusal[0] ? refusal : firmware_status(status);
}
