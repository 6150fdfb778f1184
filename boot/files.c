/* SPDX-License-Identifier: BSD-2-Clause */
/* The result files: created before the first check, flushed now and then, read back. */
#include "boot/files.h"

#include "boot/console.h"
#include "boot/volume.h"

#include "harness/check/format.h"
#include "harness/suite/harness.h"
#include "hw/string.h"

#define NAME_BYTES  64
#define NUMBER_MAX  9999u
#define CHUNK_BYTES 4096

enum result_file { FILE_LOG, FILE_TAP, FILE_REPORT, FILE_MACHINE, FILE_COUNT };
static const char *const names[FILE_COUNT] = {"log.txt", "report.tap", "report.json",
                                              "machine.json"};

static EFI_FILE_HANDLE folder, files[FILE_COUNT];
static char folder_name[NAME_BYTES];
static bool open; /* false: none were made, or writing failed and was reported */
static size_t log_written;

static EFI_STATUS open_in(EFI_FILE_HANDLE parent, const char *name, bool directory,
                          EFI_FILE_HANDLE *file)
{
    CHAR16 wide[NAME_BYTES];

    firmware_wide(wide, NAME_BYTES, name);
    return parent->Open(parent, file, wide,
                        EFI_FILE_MODE_READ | EFI_FILE_MODE_WRITE | EFI_FILE_MODE_CREATE,
                        directory ? EFI_FILE_DIRECTORY : 0);
}

/* The number that a folder's name begins with, 0 when it is none of ours. */
static unsigned folder_number(const CHAR16 *name)
{
    unsigned number = 0, i;

    for (i = 0; i < 4; i++) {
        if (name[i] < '0' || name[i] > '9')
            return 0;
        number = number * 10 + (name[i] - '0');
    }
    return name[i] == '-' ? number : 0;
}

static unsigned highest_number(EFI_FILE_HANDLE parent)
{
    static uint64_t room[128];
    EFI_FILE_INFO *info = (EFI_FILE_INFO *)room;
    unsigned highest = 0;

    /* Bounded, so that a volume with a looping cluster chain cannot hold the run. */
    for (unsigned entries = 0; entries < 4 * NUMBER_MAX; entries++) {
        UINTN bytes = sizeof(room);

        if (parent->Read(parent, &bytes, info) != EFI_SUCCESS || bytes == 0)
            break;
        if (folder_number(info->FileName) > highest)
            highest = folder_number(info->FileName);
    }
    return highest;
}

static const char *failure(const char *name, EFI_STATUS status)
{
    static char why[NAME_BYTES + 40];

    fmt(why, sizeof(why), "cannot create %s (%s)", name, firmware_status(status));
    return why;
}

/* NULL when the folder of this run is made, else what went wrong; so are the files. */
static const char *make_folder(const char *signature)
{
    EFI_FILE_HANDLE parent;
    EFI_STATUS status = open_in(volume_root(), "waymark", true, &parent);
    EFI_FILE_INFO *info;
    unsigned number;

    if (status != EFI_SUCCESS)
        return failure("waymark", status);
    info = volume_file_info(parent);
    if (info && (info->Attribute & EFI_FILE_DIRECTORY) == 0) {
        parent->Close(parent);
        return "waymark on the boot volume is a file";
    }
    number = highest_number(parent) + 1;
    fmt(folder_name, sizeof(folder_name), "%04u-%s", number, signature);
    if (number <= NUMBER_MAX)
        status = open_in(parent, folder_name, true, &folder);
    parent->Close(parent);
    if (number > NUMBER_MAX)
        return "all numbers up to 9999 are in use in waymark";
    return status == EFI_SUCCESS ? NULL : failure(folder_name, status);
}

static const char *make_files(void)
{
    for (int i = 0; i < FILE_COUNT; i++) {
        EFI_STATUS status = open_in(folder, names[i], false, &files[i]);

        if (status == EFI_SUCCESS)
            status = files[i]->Flush(files[i]);
        if (status != EFI_SUCCESS)
            return failure(names[i], status);
    }
    return NULL;
}

void files_open(const char *signature)
{
    const char *why = volume_unusable();

    if (!why)
        why = make_folder(signature);
    if (!why)
        why = make_files();
    open = !why;
    if (open)
        console_print("# results: waymark/%s on the boot volume", folder_name);
    else
        console_print("# results: not kept in files: %s", why);
}

bool files_are_open(void)
{
    return open;
}

static EFI_STATUS write_all(EFI_FILE_HANDLE file, const char *bytes, size_t count)
{
    while (count > 0) {
        UINTN written = count;
        EFI_STATUS status = file->Write(file, &written, (void *)bytes);

        if (status != EFI_SUCCESS)
            return status;
        if (written == 0)
            return EFI_VOLUME_FULL;
        bytes += written;
        count -= written;
    }
    return EFI_SUCCESS;
}

/* The whole document again; it may have become shorter. */
static EFI_STATUS rewrite(EFI_FILE_HANDLE file, const char *bytes, size_t count)
{
    static EFI_GUID id = EFI_FILE_INFO_ID;
    EFI_FILE_INFO *info;
    EFI_STATUS status = file->SetPosition(file, 0);

    if (status == EFI_SUCCESS)
        status = write_all(file, bytes, count);
    if (status != EFI_SUCCESS)
        return status;
    info = volume_file_info(file);
    if (!info)
        return EFI_DEVICE_ERROR;
    if (info->FileSize <= count)
        return EFI_SUCCESS;
    info->FileSize = count;
    return file->SetInfo(file, &id, info->Size, info);
}

static EFI_STATUS tap_status;
static bool write_tap_line(const char *line, size_t bytes)
{
    tap_status = write_all(files[FILE_TAP], line, bytes);
    return tap_status == EFI_SUCCESS;
}

static EFI_STATUS update(enum result_file which)
{
    size_t bytes;
    const char *text;

    switch (which) {
    case FILE_LOG:
        text = console_log(&bytes);
        return write_all(files[which], text + log_written, bytes - log_written);
    case FILE_TAP:
        tap_status = EFI_SUCCESS;
        console_each_tap_line(log_written, write_tap_line);
        return tap_status;
    case FILE_REPORT:
        text = harness_report_json(&bytes);
        return rewrite(files[which], text, bytes);
    default:
        text = harness_machine_json(&bytes);
        return rewrite(files[which], text, bytes);
    }
}

void files_lost(EFI_STATUS status)
{
    if (open)
        console_print("# results: the volume is gone (%s): the files end here",
                      firmware_status(status));
    open = false;
}

void files_flush(void)
{
    size_t log_end;

    if (!open)
        return;
    console_log(&log_end);
    for (int i = 0; i < FILE_COUNT; i++) {
        EFI_STATUS status = update(i);

        if (status == EFI_SUCCESS)
            status = files[i]->Flush(files[i]);
        if (status != EFI_SUCCESS) {
            open = false;
            console_print("# results: writing %s failed (%s): the files end here", names[i],
                          firmware_status(status));
            return;
        }
    }
    log_written = log_end;
}

/* --- a file that grows */

static EFI_FILE_HANDLE added;

bool files_add(const char *name)
{
    if (added)
        added->Close(added);
    added = NULL;
    return open && open_in(folder, name, false, &added) == EFI_SUCCESS;
}

bool files_append(const void *bytes, size_t count)
{
    return added && write_all(added, bytes, count) == EFI_SUCCESS &&
           added->Flush(added) == EFI_SUCCESS;
}

uint64_t files_room(void)
{
    return open ? volume_free() : 0;
}

/* --- reading back */

static EFI_FILE_HANDLE judged;
static size_t judged_at; /* first byte that differs, or the bytes that agreed */

static bool same_bytes(const char *want, size_t count)
{
    static char chunk[CHUNK_BYTES];

    while (count > 0) {
        UINTN bytes = count < sizeof(chunk) ? count : sizeof(chunk);
        UINTN asked = bytes;

        if (judged->Read(judged, &bytes, chunk) != EFI_SUCCESS || bytes == 0)
            return false;
        for (UINTN i = 0; i < bytes; i++, judged_at++)
            if (chunk[i] != *want++)
                return false;
        if (bytes != asked)
            return false;
        count -= bytes;
    }
    return true;
}

static bool same_content(enum result_file which)
{
    char extra;
    UINTN one = 1;
    size_t bytes;
    const char *text;
    bool same;

    switch (which) {
    case FILE_LOG:
        text = console_log(&bytes);
        same = same_bytes(text, bytes);
        break;
    case FILE_TAP:
        same = console_each_tap_line(0, same_bytes);
        break;
    case FILE_REPORT:
        text = harness_report_json(&bytes);
        same = same_bytes(text, bytes);
        break;
    default:
        text = harness_machine_json(&bytes);
        same = same_bytes(text, bytes);
    }
    return same && judged->Read(judged, &one, &extra) == EFI_SUCCESS && one == 0;
}

const char *files_close(void)
{
    static char line[120];
    const char *wrong = NULL;
    bool written;

    if (!open)
        return NULL;
    files_flush();
    written = open;
    open = false;
    for (int i = 0; i < FILE_COUNT; i++) {
        files[i]->Close(files[i]);
        if (!written || wrong)
            continue;
        judged_at = 0;
        if (open_in(folder, names[i], false, &judged) != EFI_SUCCESS) {
            fmt(line, sizeof(line), "# results: %s is not there any more", names[i]);
            wrong = line;
            continue;
        }
        if (!same_content(i)) {
            fmt(line, sizeof(line), "# results: %s reads back wrong from byte %zu on", names[i],
                judged_at);
            wrong = line;
        }
        judged->Close(judged);
    }
    folder->Close(folder);
    return wrong;
}
