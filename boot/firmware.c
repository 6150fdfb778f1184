/* SPDX-License-Identifier: BSD-2-Clause */
/* The firmware's tables, and small services over them. */
#include "boot/firmware.h"

#include "harness/check/format.h"
#include "hw/string.h"

EFI_HANDLE firmware_image;
EFI_SYSTEM_TABLE *firmware_table;
EFI_BOOT_SERVICES *firmware_boot;
EFI_LOADED_IMAGE *firmware_loaded;

void firmware_init(EFI_HANDLE image, EFI_SYSTEM_TABLE *table)
{
    firmware_image = image;
    firmware_table = table;
    firmware_boot = table->BootServices;
    firmware_boot->SetWatchdogTimer(0, 0, 0, NULL);
    firmware_loaded = firmware_protocol(image, (EFI_GUID)EFI_LOADED_IMAGE_PROTOCOL_GUID);
}

void *firmware_protocol(EFI_HANDLE handle, EFI_GUID guid)
{
    void *interface = NULL;

    if (!handle || firmware_boot->HandleProtocol(handle, &guid, &interface) != EFI_SUCCESS)
        return NULL;
    return interface;
}

size_t firmware_handles(EFI_GUID guid, EFI_HANDLE *handles, size_t max)
{
    UINTN found = 0;
    EFI_HANDLE *all = NULL;

    if (firmware_boot->LocateHandleBuffer(ByProtocol, &guid, NULL, &found, &all) != EFI_SUCCESS)
        return 0;
    if (found > max)
        found = max;
    memcpy(handles, all, found * sizeof(*handles));
    firmware_boot->FreePool(all);
    return found;
}

size_t firmware_path_bytes(const EFI_DEVICE_PATH *node)
{
    return (size_t)node->Length[0] | (size_t)node->Length[1] << 8;
}

const EFI_DEVICE_PATH *firmware_path_node(const EFI_DEVICE_PATH *path, unsigned type,
                                          unsigned subtype)
{
    /* A path of more nodes, or with one that has no length, is damaged. */
    for (unsigned depth = 0; depth < 32; depth++) {
        if (path->Type == END_DEVICE_PATH_TYPE || firmware_path_bytes(path) < sizeof(*path))
            break;
        if (path->Type == type && path->SubType == subtype)
            return path;
        path = (const EFI_DEVICE_PATH *)((const uint8_t *)path + firmware_path_bytes(path));
    }
    return NULL;
}

void firmware_ascii(char *to, size_t bytes, const CHAR16 *from)
{
    size_t i = 0;

    for (; from && from[i] != 0 && i + 1 < bytes; i++)
        to[i] = from[i] >= 0x20 && from[i] < 0x7F ? (char)from[i] : '?';
    to[i] = 0;
}

void firmware_wide(CHAR16 *to, size_t units, const char *from)
{
    size_t i = 0;

    for (; from[i] != 0 && i + 1 < units; i++)
        to[i] = (unsigned char)from[i];
    to[i] = 0;
}

const char *firmware_status(EFI_STATUS status)
{
    static char text[24];

    switch (status) {
    case EFI_SUCCESS:
        return "success";
    case EFI_UNSUPPORTED:
        return "unsupported";
    case EFI_BAD_BUFFER_SIZE:
    case EFI_BUFFER_TOO_SMALL:
        return "wrong buffer size";
    case EFI_NOT_READY:
        return "not ready";
    case EFI_DEVICE_ERROR:
        return "device error";
    case EFI_WRITE_PROTECTED:
        return "write protected";
    case EFI_OUT_OF_RESOURCES:
        return "out of resources";
    case EFI_VOLUME_CORRUPTED:
        return "volume corrupted";
    case EFI_VOLUME_FULL:
        return "volume full";
    case EFI_NO_MEDIA:
    case EFI_MEDIA_CHANGED:
        return "medium gone";
    case EFI_NOT_FOUND:
        return "not found";
    case EFI_INVALID_PARAMETER:
        return "not a name there";
    case EFI_ACCESS_DENIED:
        return "access denied";
    case EFI_NO_RESPONSE:
    case EFI_TIMEOUT:
        return "no answer in time";
    }
    fmt(text, sizeof(text), "status %x", (unsigned)status);
    return text;
}

const char *firmware_name(void)
{
    static char name[80];
    char vendor[60];

    firmware_ascii(vendor, sizeof(vendor), firmware_table->FirmwareVendor);
    fmt(name, sizeof(name), "%s %x", vendor, (unsigned)firmware_table->FirmwareRevision);
    return name;
}

/* UEFI Specification, "Globally Defined Variables". */
const char *firmware_secure_boot(void)
{
    EFI_GUID global = EFI_GLOBAL_VARIABLE;
    UINT8 value = 0;
    UINTN bytes = sizeof(value);

    if (firmware_table->RuntimeServices->GetVariable(u"SecureBoot", &global, NULL, &bytes,
                                                     &value) != EFI_SUCCESS)
        return "unknown";
    return value != 0 ? "on" : "off";
}

bool firmware_timer_works(unsigned ms)
{
    EFI_EVENT event;
    bool fired = false;

    if (firmware_boot->CreateEvent(EVT_TIMER, 0, NULL, NULL, &event) != EFI_SUCCESS)
        return false;
    /* In units of 100 ns. Stall does not depend on the timer interrupt, so it can judge. */
    if (firmware_boot->SetTimer(event, TimerRelative, (UINT64)ms * 10000) == EFI_SUCCESS) {
        for (unsigned waited = 0; !fired && waited <= 4 * ms + 100; waited++) {
            firmware_boot->Stall(1000);
            fired = firmware_boot->CheckEvent(event) == EFI_SUCCESS;
        }
    }
    firmware_boot->CloseEvent(event);
    return fired;
}

bool firmware_is_shell(void)
{
    return firmware_protocol(firmware_image, (EFI_GUID)EFI_SHELL_PARAMETERS_PROTOCOL_GUID) !=
           NULL;
}

void firmware_power_off(void)
{
    firmware_table->RuntimeServices->ResetSystem(EfiResetShutdown, EFI_SUCCESS, 0, NULL);
}
