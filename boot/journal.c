/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The journal's file. It is appended to and flushed before each check; each write goes through
 * the firmware to the medium, so that a reset at any later moment finds it there. Without a
 * volume that can be written it is a variable of the firmware, boot/nvram.h.
 */
#include "boot/journal.h"

#include "boot/console.h"
#include "boot/files.h"
#include "boot/memory.h"
#include "boot/nvram.h"
#include "boot/platform_record.h"
#include "boot/volume.h"

#include "harness/suite/harness.h"

#define TEXT_BYTES (128 * 1024) /* several times what a whole run of the suite writes */

static CHAR16 path[] = u"waymark\\journal.txt";
static EFI_FILE_HANDLE file;

static void say(const char *what, EFI_STATUS status)
{
    console_print("# journal: %s (%s): a hang will end the run", what, firmware_status(status));
}

static bool append(const char *text, size_t bytes)
{
    UINTN written = bytes;
    EFI_STATUS status = file->Write(file, &written, (void *)text);

    if (status == EFI_SUCCESS && written != bytes)
        status = EFI_VOLUME_FULL;
    if (status == EFI_SUCCESS)
        status = file->Flush(file);
    if (status == EFI_SUCCESS)
        return true;
    say("writing failed", status);
    platform_journal(NULL, NULL);
    /* Each further call would wait for a stick that is gone until firmware gives up. */
    file = NULL;
    if (status != EFI_VOLUME_FULL)
        files_lost(status);
    return false;
}

static bool over(const char *text, size_t bytes)
{
    static uint64_t place = UINT64_MAX;

    if (place == UINT64_MAX && file->GetPosition(file, &place) != EFI_SUCCESS)
        return append(text, bytes);
    file->SetPosition(file, place);
    return append(text, bytes);
}

void journal_load(void)
{
    size_t bytes = TEXT_BYTES;
    char *text;

    text = memory_pages(TEXT_BYTES, 4096);
    if (!text)
        return;
    if (volume_open() && volume_read(path, text, &bytes) == EFI_SUCCESS) {
        if (bytes > 0)
            platform_journal_text(text, bytes);
        return;
    }
    bytes = TEXT_BYTES;
    if (nvram_read(text, &bytes) == EFI_SUCCESS)
        platform_journal_text(text, bytes);
}

/* --- the gate */

static EFI_FILE_HANDLE gate;

bool journal_gate_enter(void)
{
    static CHAR16 folder[] = u"waymark", name[] = u"waymark\\gate.txt";
    static char text[] = "The machine was asked for BTS. Delete this file to ask it again.\r\n";
    uint64_t mode = EFI_FILE_MODE_READ | EFI_FILE_MODE_WRITE;
    EFI_FILE_HANDLE root, made;
    UINTN bytes = sizeof(text) - 1;

    if (!volume_open() || volume_unusable())
        return true;
    root = volume_root();
    if (root->Open(root, &gate, name, EFI_FILE_MODE_READ, 0) == EFI_SUCCESS) {
        gate->Close(gate);
        gate = NULL;
        return false;
    }
    if (root->Open(root, &made, folder, mode | EFI_FILE_MODE_CREATE, EFI_FILE_DIRECTORY) ==
        EFI_SUCCESS)
        made->Close(made);
    if (root->Open(root, &gate, name, mode | EFI_FILE_MODE_CREATE, 0) != EFI_SUCCESS) {
        gate = NULL;
        return true;
    }
    gate->Write(gate, &bytes, text);
    gate->Flush(gate);
    return true;
}

void journal_gate_leave(void)
{
    if (gate)
        gate->Delete(gate);
    gate = NULL;
}

/* --- the journal */

static EFI_STATUS open_file(bool anew)
{
    EFI_FILE_HANDLE root = volume_root();
    uint64_t mode = EFI_FILE_MODE_READ | EFI_FILE_MODE_WRITE;
    EFI_STATUS status;

    if (anew && root->Open(root, &file, path, mode, 0) == EFI_SUCCESS)
        file->Delete(file);
    status = root->Open(root, &file, path, mode | (anew ? EFI_FILE_MODE_CREATE : 0), 0);
    if (status == EFI_SUCCESS && !anew)
        status = file->SetPosition(file, UINT64_MAX); /* the end, by the specification */
    return status;
}

static bool in_variable;

static bool step_in_variable(const char *text, size_t bytes)
{
    const char *why = nvram_step(text, bytes);

    if (!why)
        return true;
    console_print("# journal: %s: a hang will end the run", why);
    platform_journal(NULL, NULL);
    return false;
}

static void open_variable(const char *text, size_t bytes, bool anew)
{
    const char *why = nvram_open(text, bytes, anew);

    in_variable = !why;
    if (in_variable) {
        platform_journal(step_in_variable, step_in_variable);
        console_print("# journal: in a variable of the firmware, which leaves out what hung "
                      "and does the rest again");
    } else {
        nvram_remove(); /* the next run is not to go on with this one */
        console_print("# journal: none, %s: a hang will end the run", why);
    }
}

void journal_open(void)
{
    size_t bytes;
    bool anew;
    const char *text = harness_journal_start(&bytes, &anew);
    EFI_STATUS status;

    if (!files_are_open()) {
        open_variable(text, bytes, anew);
        return;
    }
    nvram_remove(); /* of a boot that found no volume */
    status = open_file(anew);
    if (status != EFI_SUCCESS) {
        file = NULL;
        say("cannot be written", status);
        return;
    }
    if (append(text, bytes))
        platform_journal(append, over);
}

void journal_remove(void)
{
    platform_journal(NULL, NULL);
    if (file)
        file->Delete(file);
    file = NULL;
    if (in_variable)
        nvram_remove();
    in_variable = false;
}
