/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Starting a program under the model, which stays.
 *
 * Everything that can go wrong comes first, outside the model: finding the file, loading it,
 * the memory. Then the processor enters the model in the firmware's own context, so that
 * firmware and whatever it starts are guests from there on. Nothing of boot/ is needed once the
 * program has ended the boot services. Source: UEFI Specification,
 * "EFI_BOOT_SERVICES.LoadImage()", "EFI_LOADED_IMAGE_PROTOCOL".
 */
#include "boot/under.h"

#include "boot/console.h"
#include "boot/memory.h"
#include "boot/provider.h"
#include "boot/resident.h"
#include "boot/volume.h"

#include "harness/check/format.h"
#include "hw/model/model.h"
#include "hw/string.h"

#define PATH_UNITS      (OPTION_TEXT_BYTES + 1)
#define NODE_BYTES      sizeof(EFI_DEVICE_PATH)
#define PATH_MOST_BYTES 4096
#define VOLUMES_MOST    64
#define FALL_BACK       "\\EFI\\BOOT\\BOOTX64.EFI" /* the fall-back loader */

static CHAR16 file_path[PATH_UNITS], arguments[OPTION_WORDS_BYTES];
static uint8_t device_path[PATH_MOST_BYTES];

/* From the root of the volume, whichever way the separators lean. */
static void make_file_path(const char *name)
{
    char text[OPTION_TEXT_BYTES + 1];

    fmt(text, sizeof(text), "%s%s", *name == '/' || *name == '\\' ? "" : "\\", name);
    for (char *c = text; *c; c++)
        if (*c == '/')
            *c = '\\';
    firmware_wide(file_path, PATH_UNITS, text);
}

static void put_node(uint8_t *at, uint8_t type, uint8_t subtype, size_t bytes)
{
    const EFI_DEVICE_PATH node = {type, subtype, {(UINT8)bytes, (UINT8)(bytes >> 8)}};

    memcpy(at, &node, sizeof(node));
}

/*
 * The volume's path with the file's name behind it: from it firmware tells the program where it
 * was started from. False when the volume has none.
 */
static bool make_device_path(EFI_HANDLE volume)
{
    const EFI_DEVICE_PATH *from =
        firmware_protocol(volume, (EFI_GUID)EFI_DEVICE_PATH_PROTOCOL_GUID);
    size_t used = 0, name_bytes = sizeof(CHAR16);

    if (!from)
        return false;
    for (const CHAR16 *c = file_path; *c; c++)
        name_bytes += sizeof(CHAR16);
    while (from->Type != END_DEVICE_PATH_TYPE) {
        size_t bytes = firmware_path_bytes(from);

        if (bytes < NODE_BYTES || used + bytes + name_bytes + 2 * NODE_BYTES > PATH_MOST_BYTES)
            return false;
        memcpy(device_path + used, from, bytes);
        used += bytes;
        from = (const EFI_DEVICE_PATH *)((const uint8_t *)from + bytes);
    }
    put_node(device_path + used, MEDIA_DEVICE_PATH, MEDIA_FILEPATH_DP, NODE_BYTES + name_bytes);
    memcpy(device_path + used + NODE_BYTES, file_path, name_bytes);
    used += NODE_BYTES + name_bytes;
    put_node(device_path + used, END_DEVICE_PATH_TYPE, END_ENTIRE_DEVICE_PATH_SUBTYPE,
             NODE_BYTES);
    return true;
}

static EFI_STATUS refuse(const struct options *options, EFI_STATUS status, const char *why)
{
    console_print("waymark: under=%s: %s", options->under, why);
    return status;
}

/* Firmware in a hurry to start us has not looked at the other disks yet. */
static void connect_all(void)
{
    UINTN count = 0;
    EFI_HANDLE *all = NULL;

    if (firmware_boot->LocateHandleBuffer(AllHandles, NULL, NULL, &count, &all) != EFI_SUCCESS)
        return;
    for (UINTN i = 0; i < count; i++)
        firmware_boot->ConnectController(all[i], NULL, NULL, TRUE);
    firmware_boot->FreePool(all);
}

static bool has_file(EFI_HANDLE handle)
{
    EFI_FILE_IO_INTERFACE *volume =
        firmware_protocol(handle, (EFI_GUID)EFI_SIMPLE_FILE_SYSTEM_PROTOCOL_GUID);
    EFI_FILE_HANDLE root, file;
    bool found;

    if (!volume || volume->OpenVolume(volume, &root) != EFI_SUCCESS)
        return false;
    found = root->Open(root, &file, file_path, EFI_FILE_MODE_READ, 0) == EFI_SUCCESS;
    if (found)
        file->Close(file);
    root->Close(root);
    return found;
}

/* The disk behind ours: what it would have started, had ours not been in front. */
static EFI_STATUS find_next(const struct options *options)
{
    static char why[128];
    EFI_HANDLE volumes[VOLUMES_MOST];
    EFI_HANDLE own = firmware_loaded ? firmware_loaded->DeviceHandle : NULL;
    size_t count, others = 0;

    connect_all();
    count =
        firmware_handles((EFI_GUID)EFI_SIMPLE_FILE_SYSTEM_PROTOCOL_GUID, volumes, VOLUMES_MOST);
    make_file_path(FALL_BACK);
    for (size_t i = 0; i < count; i++) {
        if (volumes[i] == own)
            continue;
        others++;
        if (has_file(volumes[i]) && make_device_path(volumes[i]))
            return EFI_SUCCESS;
    }
    fmt(why, sizeof(why), "none of the %zu other volumes that firmware can read has " FALL_BACK,
        others);
    return refuse(options, EFI_NOT_FOUND, why);
}

static EFI_STATUS find(const struct options *options)
{
    static char why[128];
    uint64_t bytes;
    EFI_STATUS status;

    if (strcmp(options->under, "next") == 0)
        return find_next(options);
    if (!volume_open())
        return refuse(options, EFI_NOT_FOUND,
                      "the image was not started from a volume with files, so it finds none");
    make_file_path(options->under);
    status = volume_size(file_path, &bytes);
    if (status != EFI_SUCCESS) {
        fmt(why, sizeof(why), "cannot be read from the volume of this image (%s)",
            firmware_status(status));
        return refuse(options, status, why);
    }
    if (!make_device_path(firmware_loaded->DeviceHandle))
        return refuse(options, EFI_UNSUPPORTED, "the volume has no device path to start it by");
    return EFI_SUCCESS;
}

static EFI_STATUS load(const struct options *options, EFI_HANDLE *program)
{
    static char why[128];
    EFI_LOADED_IMAGE *loaded;
    EFI_STATUS status = firmware_boot->LoadImage(
        FALSE, firmware_image, (EFI_DEVICE_PATH *)device_path, NULL, 0, program);

    if (status != EFI_SUCCESS) {
        fmt(why, sizeof(why), "firmware does not load it as an EFI program (%s)",
            firmware_status(status));
        /* What Secure Boot refuses is loaded all the same, only not to be started. */
        if (status == EFI_SECURITY_VIOLATION)
            firmware_boot->UnloadImage(*program);
        return refuse(options, status, why);
    }
    loaded = firmware_protocol(*program, (EFI_GUID)EFI_LOADED_IMAGE_PROTOCOL_GUID);
    if (loaded && options->under_args[0]) {
        firmware_wide(arguments, OPTION_WORDS_BYTES, options->under_args);
        loaded->LoadOptions = arguments;
        loaded->LoadOptionsSize = (UINT32)((strlen(options->under_args) + 1) * sizeof(CHAR16));
    }
    return EFI_SUCCESS;
}

static EFI_STATUS start(const struct options *options, EFI_HANDLE program)
{
    EFI_STATUS status;

    console_print("# under: the model stays, for %lu processors in %lu KiB; starting %s",
                  resident_processors(), resident_bytes() / 1024, options->under);
    if (!resident_enter()) {
        firmware_boot->UnloadImage(program);
        return refuse(options, EFI_UNSUPPORTED, "the model cannot be entered");
    }
    status = firmware_boot->StartImage(program, NULL, NULL);
    resident_leave();
    console_print("# under: %s has ended (%s), the model too", options->under,
                  firmware_status(status));
    return status;
}

EFI_STATUS under_go(const struct options *options)
{
    const char *why;
    EFI_HANDLE program = NULL;
    EFI_STATUS status;

    if (model_active())
        return refuse(options, EFI_ALREADY_STARTED,
                      "a model stays resident already: start the program itself");
    why = provider_no_model();
    if (why)
        return refuse(options, EFI_UNSUPPORTED, why);
    status = find(options);
    if (status == EFI_SUCCESS)
        status = load(options, &program);
    if (status != EFI_SUCCESS)
        return status;
    why = resident_prepare(memory_top());
    if (why) {
        firmware_boot->UnloadImage(program);
        return refuse(options, EFI_OUT_OF_RESOURCES, why);
    }
    status = start(options, program);
    resident_release();
    return status;
}
