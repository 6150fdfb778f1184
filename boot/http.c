/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One exchange at a time, each over a client of its own: made, configured with the address that
 * the boot got, used, destroyed. Waits poll the client and end after WAIT_MS without progress.
 */
#include "boot/http.h"

#include "boot/http_protocol.h"
#include "boot/net_text.h"
#include "boot/network.h"

#include "harness/check/format.h"
#include "hw/string.h"

#define WAIT_MS   10000
#define POLL_US   100
#define POLLS     (WAIT_MS * 1000 / POLL_US)
#define URL_UNITS (NETWORK_URL_BYTES + 80)

enum { STATUS_OK = 200, STATUS_MULTIPLE = 300 };

static struct http_binding *binding;
static struct http_address address;
static char base[NETWORK_URL_BYTES], host[NETWORK_URL_BYTES];

/* The answer to one exchange. */
struct exchange {
    struct http *http;
    struct http_token token;
    struct http_message message;
    unsigned status;     /* 200, 404, ... */
    uint64_t body_bytes; /* as the server announces it, UINT64_MAX when it does not */
};

/* EFI_HTTP_STATUS_CODE counts the codes in this order, from 1 on. */
static unsigned code_of(UINT32 index)
{
    static const uint16_t codes[] = {100, 101, 200, 201, 202, 203, 204, 205, 206, 300, 301,
                                     302, 303, 304, 305, 307, 400, 401, 402, 403, 404, 405,
                                     406, 407, 408, 409, 410, 411, 412, 413, 414, 415, 416,
                                     417, 500, 501, 502, 503, 504, 505, 308};

    return index >= 1 && index <= sizeof(codes) / sizeof(codes[0]) ? codes[index - 1] : 0;
}

/* UEFI Specification, "IPv4 Device Path". */
static bool take_address(const EFI_DEVICE_PATH *path)
{
    enum { LOCAL_AT = 4, MASK_AT = 23, BYTES = 27 };
    const EFI_DEVICE_PATH *node = firmware_path_node(path, MESSAGING_DEVICE_PATH, MSG_IPv4_DP);
    const uint8_t *raw = (const uint8_t *)node;

    if (!node || firmware_path_bytes(node) < BYTES ||
        memcmp(raw + LOCAL_AT, "\0\0\0\0", 4) == 0)
        return false;
    memset(&address, 0, sizeof(address));
    memcpy(address.local, raw + LOCAL_AT, sizeof(address.local));
    memcpy(address.mask, raw + MASK_AT, sizeof(address.mask));
    return true;
}

bool http_open(const EFI_DEVICE_PATH *path, const char *url, char *folder, size_t bytes)
{
    EFI_GUID guid = HTTP_BINDING_GUID;
    EFI_DEVICE_PATH *rest = (EFI_DEVICE_PATH *)path;
    EFI_HANDLE card = NULL;

    if (firmware_boot->LocateDevicePath(&guid, &rest, &card) != EFI_SUCCESS)
        return false;
    binding = firmware_protocol(card, guid);
    if (!binding || !take_address(path) ||
        !url_split(url, host, sizeof(host), base, sizeof(base)))
        return false;
    fmt(folder, bytes, "%s", base);
    return true;
}

static EFI_STATUS wait(struct exchange *x)
{
    for (unsigned polls = 0; polls < POLLS; polls++) {
        x->http->poll(x->http);
        if (firmware_boot->CheckEvent(x->token.event) == EFI_SUCCESS)
            return x->token.status;
        firmware_boot->Stall(POLL_US);
    }
    x->http->cancel(x->http, &x->token);
    return EFI_TIMEOUT;
}

static EFI_STATUS ask(struct exchange *x, enum http_method method, const char *name,
                      const void *body, size_t count)
{
    static CHAR16 wide[URL_UNITS];
    char url[URL_UNITS], length[24];
    struct http_header headers[] = {{(CHAR8 *)"Host", (CHAR8 *)host},
                                    {(CHAR8 *)"Connection", (CHAR8 *)"close"},
                                    {(CHAR8 *)"Content-Type", (CHAR8 *)"text/plain"},
                                    {(CHAR8 *)"Content-Length", (CHAR8 *)length}};
    struct http_request request = {method, wide};
    EFI_STATUS status;

    fmt(url, sizeof(url), "%s%s", base, name);
    firmware_wide(wide, URL_UNITS, url);
    fmt(length, sizeof(length), "%zu", count);
    x->message = (struct http_message){.data.request = &request,
                                       .header_count = !body ? 2 : 4,
                                       .headers = headers,
                                       .body_bytes = count,
                                       .body = (void *)body};
    x->token.status = EFI_NOT_READY;
    status = x->http->request(x->http, &x->token);
    return status == EFI_SUCCESS ? wait(x) : status;
}

static bool same_word(const char *a, const char *b)
{
    for (; *a && *b; a++, b++)
        if ((*a | 0x20) != (*b | 0x20))
            return false;
    return *a == *b;
}

/* The headers are the firmware's pool, and ours to give back. */
static void take_headers(struct exchange *x)
{
    x->body_bytes = UINT64_MAX;
    for (UINTN i = 0; i < x->message.header_count; i++) {
        const char *value = (const char *)x->message.headers[i].value;

        if (same_word((const char *)x->message.headers[i].name, "content-length"))
            for (x->body_bytes = 0; *value >= '0' && *value <= '9'; value++)
                x->body_bytes = x->body_bytes * 10 + (uint64_t)(*value - '0');
        firmware_boot->FreePool(x->message.headers[i].name);
        firmware_boot->FreePool(x->message.headers[i].value);
    }
    if (x->message.headers)
        firmware_boot->FreePool(x->message.headers);
}

/* The head of the answer; an answer that says no is no error here. */
static EFI_STATUS hear(struct exchange *x)
{
    struct http_response response = {0};
    EFI_STATUS status;

    x->message = (struct http_message){.data.response = &response};
    x->token.status = EFI_NOT_READY;
    status = x->http->response(x->http, &x->token);
    if (status == EFI_SUCCESS)
        status = wait(x);
    if (status == EFI_TIMEOUT)
        return status;
    x->status = code_of(response.status);
    take_headers(x);
    return status == EFI_HTTP_ERROR ? EFI_SUCCESS : status;
}

static EFI_STATUS hear_body(struct exchange *x, char *to, size_t count)
{
    while (count > 0) {
        EFI_STATUS status;

        x->message = (struct http_message){.body_bytes = count, .body = to};
        x->token.status = EFI_NOT_READY;
        status = x->http->response(x->http, &x->token);
        if (status == EFI_SUCCESS)
            status = wait(x);
        if (status != EFI_SUCCESS)
            return status;
        if (x->message.body_bytes == 0 || x->message.body_bytes > count)
            return EFI_DEVICE_ERROR;
        to += x->message.body_bytes;
        count -= x->message.body_bytes;
    }
    return EFI_SUCCESS;
}

/* Runs use(x) over a client that is configured, and leaves nothing behind. */
static EFI_STATUS with_client(struct exchange *x, EFI_STATUS (*use)(struct exchange *, void *),
                              void *argument)
{
    struct http_config config = {.version = 1, .timeout_ms = WAIT_MS, .address = &address};
    EFI_HANDLE child = NULL;
    EFI_STATUS status = binding->create_child(binding, &child);

    if (status != EFI_SUCCESS)
        return status;
    x->http = firmware_protocol(child, (EFI_GUID)HTTP_GUID);
    x->token.message = &x->message;
    status = !x->http ? EFI_UNSUPPORTED : x->http->configure(x->http, &config);
    if (status == EFI_SUCCESS)
        status = firmware_boot->CreateEvent(0, 0, NULL, NULL, &x->token.event);
    if (status == EFI_SUCCESS) {
        status = use(x, argument);
        x->http->configure(x->http, NULL);
        firmware_boot->CloseEvent(x->token.event);
    }
    binding->destroy_child(binding, child);
    return status;
}

struct file {
    const char *name;
    void *bytes;
    size_t count;
};

static EFI_STATUS get(struct exchange *x, void *argument)
{
    struct file *file = argument;
    EFI_STATUS status = ask(x, HTTP_GET, file->name, NULL, 0);

    if (status == EFI_SUCCESS)
        status = hear(x);
    if (status != EFI_SUCCESS)
        return status;
    if (x->status != STATUS_OK)
        return EFI_NOT_FOUND;
    if (x->body_bytes == UINT64_MAX)
        return EFI_UNSUPPORTED; /* in pieces of unknown length: no file is sent that way */
    if (x->body_bytes > file->count)
        return EFI_BUFFER_TOO_SMALL;
    file->count = x->body_bytes;
    return hear_body(x, file->bytes, file->count);
}

EFI_STATUS http_read(const char *name, void *to, size_t *bytes)
{
    struct file file = {name, to, *bytes};
    struct exchange x = {0};
    EFI_STATUS status = with_client(&x, get, &file);

    *bytes = file.count;
    return status;
}

static EFI_STATUS put(struct exchange *x, void *argument)
{
    const struct file *file = argument;
    EFI_STATUS status = ask(x, HTTP_PUT, file->name, file->bytes, file->count);

    return status == EFI_SUCCESS ? hear(x) : status;
}

const char *http_send(const char *name, const void *bytes, size_t count)
{
    static char why[60];
    struct file file = {name, (void *)bytes, count};
    struct exchange x = {0};
    EFI_STATUS status = with_client(&x, put, &file);

    if (status != EFI_SUCCESS)
        return firmware_status(status);
    if (x.status >= STATUS_OK && x.status < STATUS_MULTIPLE)
        return NULL;
    fmt(why, sizeof(why), "the server answers PUT with %u", x.status);
    return why;
}
