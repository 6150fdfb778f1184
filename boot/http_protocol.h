/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The firmware's HTTP client as its callers see it; GNU-EFI has no header for it.
 * Source: UEFI Specification, "EFI HTTP Service Binding Protocol", "EFI HTTP Protocol".
 */
#ifndef BOOT_HTTP_PROTOCOL_H
#define BOOT_HTTP_PROTOCOL_H

#include <efi.h>

#define HTTP_BINDING_GUID                                                                      \
    {                                                                                          \
        0xBDC8E6AF, 0xD9BC, 0x4379,                                                            \
        {                                                                                      \
            0xA7, 0x2A, 0xE0, 0xC4, 0xE7, 0x5D, 0xAE, 0x1C                                     \
        }                                                                                      \
    }
#define HTTP_GUID                                                                              \
    {                                                                                          \
        0x7A59B29B, 0x910B, 0x4171,                                                            \
        {                                                                                      \
            0x82, 0x42, 0xA8, 0x5A, 0x0D, 0xF2, 0x5B, 0x5B                                     \
        }                                                                                      \
    }

/* A token's status where the server's answer is an error, 4xx or 5xx. */
#define EFI_HTTP_ERROR EFIERR(35)

struct http_binding {
    EFI_STATUS(EFIAPI *create_child)(struct http_binding *, EFI_HANDLE *child);
    EFI_STATUS(EFIAPI *destroy_child)(struct http_binding *, EFI_HANDLE child);
};

enum http_method { HTTP_GET = 0, HTTP_PUT = 6 };

struct http_request {
    UINT32 method;
    CHAR16 *url;
};

struct http_response {
    UINT32 status; /* an index into the list of codes, see http.c */
};

struct http_header {
    CHAR8 *name, *value;
};

struct http_message {
    union {
        struct http_request *request;
        struct http_response *response;
    } data;
    UINTN header_count;
    struct http_header *headers;
    UINTN body_bytes;
    void *body;
};

struct http_token {
    EFI_EVENT event;
    EFI_STATUS status;
    struct http_message *message;
};

struct http_address {
    BOOLEAN is_default; /* the address that the firmware's settings name */
    UINT8 local[4], mask[4];
    UINT16 port; /* 0: any */
};

struct http_config {
    UINT32 version; /* 0: 1.0, 1: 1.1 */
    UINT32 timeout_ms;
    BOOLEAN is_v6;
    struct http_address *address;
};

struct http {
    void *get_mode_data;
    EFI_STATUS(EFIAPI *configure)(struct http *, struct http_config *);
    EFI_STATUS(EFIAPI *request)(struct http *, struct http_token *);
    EFI_STATUS(EFIAPI *cancel)(struct http *, struct http_token *);
    EFI_STATUS(EFIAPI *response)(struct http *, struct http_token *);
    EFI_STATUS(EFIAPI *poll)(struct http *);
};
_Static_assert(sizeof(struct http_message) == 40 && sizeof(struct http_config) == 24 &&
                   sizeof(struct http_address) == 12,
               "UEFI Specification: EFI_HTTP_MESSAGE, EFI_HTTP_CONFIG_DATA");

#endif
