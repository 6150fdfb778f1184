/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The firmware's TFTP client as its callers see it; GNU-EFI has no header for it.
 * Source: UEFI Specification, "EFI MTFTPv4 Protocol".
 */
#ifndef BOOT_MTFTP_PROTOCOL_H
#define BOOT_MTFTP_PROTOCOL_H

#include <efi.h>

/* The specification's text has a digit less (02e8...) than every implementation. */
#define MTFTP_BINDING_GUID                                                                     \
    {                                                                                          \
        0x2FE800BE, 0x8F01, 0x4AA6,                                                            \
        {                                                                                      \
            0x94, 0x6B, 0xD7, 0x13, 0x88, 0xE1, 0x83, 0x3F                                     \
        }                                                                                      \
    }
#define MTFTP_GUID                                                                             \
    {                                                                                          \
        0x78247C57, 0x63DB, 0x4708,                                                            \
        {                                                                                      \
            0x99, 0xC2, 0xA8, 0xB4, 0xA9, 0xA6, 0x1F, 0x6B                                     \
        }                                                                                      \
    }

struct mtftp_binding {
    EFI_STATUS(EFIAPI *create_child)(struct mtftp_binding *, EFI_HANDLE *child);
    EFI_STATUS(EFIAPI *destroy_child)(struct mtftp_binding *, EFI_HANDLE child);
};

struct mtftp_config {
    BOOLEAN use_default; /* the address that the firmware's settings name */
    UINT8 station[4], mask[4];
    UINT16 local_port; /* 0: any */
    UINT8 gateway[4], server[4];
    UINT16 server_port, tries, timeout_s;
};

struct mtftp_option {
    UINT8 *name, *value;
};

struct mtftp;
struct mtftp_token {
    EFI_STATUS status;
    EFI_EVENT event; /* NULL: the call returns when the transfer has ended */
    void *override;
    UINT8 *name, *mode; /* NULL: octet */
    UINT32 option_count;
    struct mtftp_option *options;
    UINT64 bytes;
    void *buffer, *context;
    /* Sees each packet that comes; an error lets it end the transfer. */
    EFI_STATUS(EFIAPI *check)
    (struct mtftp *, struct mtftp_token *, UINT16 bytes, UINT8 *packet);
    void *on_timeout, *on_need;
};

struct mtftp {
    void *get_mode_data;
    EFI_STATUS(EFIAPI *configure)(struct mtftp *, struct mtftp_config *);
    void *get_info, *parse_options, *read_file;
    EFI_STATUS(EFIAPI *write_file)(struct mtftp *, struct mtftp_token *);
    void *read_directory, *poll;
};
_Static_assert(sizeof(struct mtftp_config) == 26 && sizeof(struct mtftp_token) == 104,
               "UEFI Specification: EFI_MTFTP4_CONFIG_DATA, EFI_MTFTP4_TOKEN");

#endif
