/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The variable and its text: the journal's first lines, then the one step that is under way.
 * Source: UEFI Specification, "Variable Services".
 */
#include "boot/nvram.h"

#include "hw/string.h"

/* Room that is left to the firmware: more than it sets aside for its own variables. */
#define ROOM_BYTES (16 * 1024)

static EFI_GUID ours = {
    0x5F7D9A52, 0x1C3B, 0x4B0E, {0x9D, 0x61, 0x77, 0x61, 0x79, 0x6D, 0x61, 0x72}};
static CHAR16 name[] = u"WaymarkJournal";
enum { ATTRIBUTES = EFI_VARIABLE_NON_VOLATILE | EFI_VARIABLE_BOOTSERVICE_ACCESS };

static char value[NVRAM_BYTES];
static size_t fixed_bytes; /* of it: what stays */
static unsigned writes;

EFI_STATUS nvram_read(char *to, size_t *bytes)
{
    UINTN count = *bytes;
    EFI_STATUS status =
        firmware_table->RuntimeServices->GetVariable(name, &ours, NULL, &count, to);

    *bytes = count;
    return status;
}

static const char *no_room(void)
{
    EFI_RUNTIME_SERVICES *services = firmware_table->RuntimeServices;
    UINT64 most, left, largest;

    if (!services->QueryVariableInfo ||
        services->QueryVariableInfo(ATTRIBUTES, &most, &left, &largest) != EFI_SUCCESS)
        return "the firmware does not tell how much room its variables have";
    if (left < ROOM_BYTES || largest < NVRAM_BYTES + sizeof(name))
        return "the firmware has little room for variables";
    return NULL;
}

static const char *set(size_t bytes)
{
    EFI_STATUS status;

    if (writes++ >= NVRAM_WRITES_MAX)
        return "its variable was written often enough";
    status =
        firmware_table->RuntimeServices->SetVariable(name, &ours, ATTRIBUTES, bytes, value);
    return status == EFI_SUCCESS ? NULL : firmware_status(status);
}

const char *nvram_open(const char *text, size_t bytes, bool anew)
{
    const char *why = no_room();

    fixed_bytes = sizeof(value);
    if (anew || nvram_read(value, &fixed_bytes) != EFI_SUCCESS)
        fixed_bytes = 0;
    if (!why && bytes > sizeof(value) - fixed_bytes)
        why = "its first lines are too long";
    if (why)
        return why;
    memcpy(value + fixed_bytes, text, bytes);
    fixed_bytes += bytes;
    return set(fixed_bytes);
}

/* Where the last line begins that says which step is under way; bytes when there is none. */
static size_t last_step(const char *text, size_t bytes)
{
    static const char word[] = "step ";
    size_t found = bytes;

    for (size_t at = 0; at + sizeof(word) <= bytes; at++)
        if ((at == 0 || text[at - 1] == '\n') && memcmp(text + at, word, sizeof(word) - 1) == 0)
            found = at;
    return found;
}

const char *nvram_step(const char *text, size_t bytes)
{
    size_t from = last_step(text, bytes), length = 0;

    while (from + length < bytes && text[from + length] != '\n')
        length++;
    if (from + length == bytes)
        return NULL;
    length++;
    if (length > sizeof(value) - fixed_bytes)
        return "its variable is full";
    memcpy(value + fixed_bytes, text + from, length);
    return set(fixed_bytes + length);
}

void nvram_remove(void)
{
    static char old[NVRAM_BYTES];
    size_t bytes = sizeof(old);

    if (nvram_read(old, &bytes) != EFI_NOT_FOUND)
        firmware_table->RuntimeServices->SetVariable(name, &ours, 0, 0, NULL);
}
