/* SPDX-License-Identifier: BSD-2-Clause */
/* The boot volume: where the image lies on it, reading a file, room for results. */
#include "boot/volume.h"

#include "hw/string.h"

#define ROOM_BYTES (1024 * 1024)
#define PATH_UNITS 260
#define INFO_WORDS 128 /* 1 KiB: the structure and a name of 255 units */

static EFI_FILE_HANDLE root;

bool volume_open(void)
{
    EFI_FILE_IO_INTERFACE *volume;

    if (root)
        return true;
    if (!firmware_loaded)
        return false;
    volume = firmware_protocol(firmware_loaded->DeviceHandle,
                               (EFI_GUID)EFI_SIMPLE_FILE_SYSTEM_PROTOCOL_GUID);
    if (!volume || volume->OpenVolume(volume, &root) != EFI_SUCCESS)
        root = NULL;
    return root;
}

EFI_FILE_HANDLE volume_root(void)
{
    return root;
}

/* The path of the image, which firmware gives as a chain of nodes with a piece of text each. */
static size_t image_path(CHAR16 *path, size_t units)
{
    const EFI_DEVICE_PATH *node = !firmware_loaded ? NULL : firmware_loaded->FilePath;
    size_t used = 0;

    for (unsigned depth = 0; node && depth < 32; depth++) {
        size_t bytes = firmware_path_bytes(node);
        const CHAR16 *text = (const CHAR16 *)(node + 1);
        size_t room = bytes < sizeof(*node) ? 0 : (bytes - sizeof(*node)) / 2;

        if (node->Type != MEDIA_DEVICE_PATH || node->SubType != MEDIA_FILEPATH_DP || room == 0)
            break;
        /* A separator may stand at the end of one piece, the start of the next, or nowhere. */
        if (used > 0 && path[used - 1] == '\\')
            used--;
        if (used + 1 < units && text[0] != '\\')
            path[used++] = '\\';
        for (size_t i = 0; i < room && text[i] != 0 && used + 1 < units; i++)
            path[used++] = text[i];
        node = (const EFI_DEVICE_PATH *)((const uint8_t *)node + bytes);
    }
    path[used] = 0;
    return used;
}

bool volume_image_folder(CHAR16 *folder, size_t units)
{
    size_t used = image_path(folder, units);

    if (used == 0 || used + 1 >= units)
        return false;
    while (used > 0 && folder[used] != '\\')
        used--;
    folder[used] = 0;
    return true;
}

void volume_image_name(char *name, size_t bytes)
{
    CHAR16 path[PATH_UNITS];
    size_t start = image_path(path, PATH_UNITS);

    while (start > 0 && path[start - 1] != '\\')
        start--;
    firmware_ascii(name, bytes, path + start);
}

EFI_FILE_INFO *volume_file_info(EFI_FILE_HANDLE file)
{
    static EFI_GUID id = EFI_FILE_INFO_ID;
    static uint64_t room[INFO_WORDS];
    UINTN bytes = sizeof(room);

    if (file->GetInfo(file, &id, &bytes, room) != EFI_SUCCESS)
        return NULL;
    return (EFI_FILE_INFO *)room;
}

EFI_STATUS volume_read(const CHAR16 *path, void *to, size_t *bytes)
{
    EFI_FILE_INFO *info;
    UINTN read = *bytes;
    EFI_FILE_HANDLE file;
    EFI_STATUS status;

    status = root->Open(root, &file, (CHAR16 *)path, EFI_FILE_MODE_READ, 0);
    if (status != EFI_SUCCESS)
        return status;
    info = volume_file_info(file);
    if (!info)
        status = EFI_DEVICE_ERROR;
    if (status == EFI_SUCCESS && (info->Attribute & EFI_FILE_DIRECTORY) != 0)
        status = EFI_ACCESS_DENIED;
    if (status == EFI_SUCCESS && info->FileSize > *bytes)
        status = EFI_BUFFER_TOO_SMALL;
    if (status == EFI_SUCCESS)
        status = file->Read(file, &read, to);
    if (status == EFI_SUCCESS && read != info->FileSize)
        status = EFI_DEVICE_ERROR;
    *bytes = read;
    file->Close(file);
    return status;
}

EFI_STATUS volume_size(const CHAR16 *path, uint64_t *bytes)
{
    EFI_FILE_INFO *info;
    EFI_FILE_HANDLE file;
    EFI_STATUS status = root->Open(root, &file, (CHAR16 *)path, EFI_FILE_MODE_READ, 0);

    if (status != EFI_SUCCESS)
        return status;
    info = volume_file_info(file);
    if (!info)
        status = EFI_DEVICE_ERROR;
    else if ((info->Attribute & EFI_FILE_DIRECTORY) != 0)
        status = EFI_ACCESS_DENIED;
    else
        *bytes = info->FileSize;
    file->Close(file);
    return status;
}

static EFI_FILE_SYSTEM_INFO *volume_info(void)
{
    static EFI_GUID id = EFI_FILE_SYSTEM_INFO_ID;
    static uint64_t room[INFO_WORDS];
    UINTN bytes = sizeof(room);

    return root->GetInfo(root, &id, &bytes, room) == EFI_SUCCESS ? (EFI_FILE_SYSTEM_INFO *)room
                                                                 : NULL;
}

uint64_t volume_free(void)
{
    EFI_FILE_SYSTEM_INFO *info = volume_info();

    return !info ? 0 : info->FreeSpace;
}

const char *volume_unusable(void)
{
    EFI_FILE_SYSTEM_INFO *info;

    if (!volume_open())
        return "the image was not started from a volume with files";
    info = volume_info();
    if (!info)
        return NULL; /* not told: creating the files decides */
    if (info->ReadOnly)
        return "the boot volume is read-only";
    if (info->FreeSpace < ROOM_BYTES)
        return "less than 1 MiB is free on the boot volume";
    return NULL;
}
