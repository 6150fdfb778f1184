/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The firmware's text output, sent to each screen by itself.
 *
 * The console of the system table is a splitter that feeds screens and serial terminals alike.
 * Writing to it would put a second copy of everything on the serial port that boot/serial.c
 * drives, so it is used only where that port is absent, or where no screen is found.
 */
#include "boot/screen.h"

#include "boot/firmware.h"
#include "boot/panel.h"

#include "harness/check/format.h"

#define SCREENS_MAX 8
#define CHUNK_UNITS 256

typedef SIMPLE_TEXT_OUTPUT_INTERFACE text_output;

static text_output *screens[SCREENS_MAX];
static size_t screen_count;
static bool panel; /* drawn by ourselves; the firmware's text would be drawn across it */

/* UEFI Specification, "Device Path Protocol": a serial terminal has a UART node in its path. */
static bool has_uart_node(const EFI_DEVICE_PATH *node)
{
    /* A path is a handful of nodes; a broken one must not be followed for ever. */
    for (unsigned depth = 0; node && depth < 32; depth++) {
        size_t bytes = (size_t)node->Length[0] | (size_t)node->Length[1] << 8;

        if ((node->Type & 0x7F) == END_DEVICE_PATH_TYPE || bytes < sizeof(*node))
            return false;
        if (node->Type == MESSAGING_DEVICE_PATH && node->SubType == MSG_UART_DP)
            return true;
        node = (const EFI_DEVICE_PATH *)((const uint8_t *)node + bytes);
    }
    return false;
}

void screen_init(bool serial_in_use, const struct options *options)
{
    EFI_HANDLE handles[SCREENS_MAX];
    size_t found;
    bool uart_seen = false;

    screen_count = 0;
    panel =
        !options->screen_console && panel_open(options->screen_width, options->screen_height);
    if (panel)
        return;
    if (serial_in_use) {
        found = firmware_handles((EFI_GUID)EFI_SIMPLE_TEXT_OUTPUT_PROTOCOL_GUID, handles,
                                 SCREENS_MAX);
        for (size_t i = 0; i < found; i++) {
            EFI_DEVICE_PATH *path =
                firmware_protocol(handles[i], (EFI_GUID)EFI_DEVICE_PATH_PROTOCOL_GUID);

            /* The splitter itself has no path. */
            if (!path)
                continue;
            if (has_uart_node(path))
                uart_seen = true;
            else
                screens[screen_count++] = firmware_protocol(
                    handles[i], (EFI_GUID)EFI_SIMPLE_TEXT_OUTPUT_PROTOCOL_GUID);
        }
    }
    if (screen_count == 0 && !(serial_in_use && uart_seen) && firmware_table->ConOut)
        screens[screen_count++] = firmware_table->ConOut;
    for (size_t i = 0; i < screen_count; i++) {
        screens[i]->ClearScreen(screens[i]);
        screens[i]->EnableCursor(screens[i], FALSE);
    }
}

bool screen_is_panel(void)
{
    return panel;
}

void screen_describe(char *text, size_t bytes)
{
    EFI_GUID id = EFI_GRAPHICS_OUTPUT_PROTOCOL_GUID;
    EFI_GRAPHICS_OUTPUT_PROTOCOL *graphics = NULL;
    UINTN columns = 0, rows = 0;
    size_t used;

    text[0] = 0;
    if (panel) {
        panel_describe(text, bytes);
        return;
    }
    if (screen_count == 0 || !screens[0]->Mode ||
        screens[0]->QueryMode(screens[0], (UINTN)screens[0]->Mode->Mode, &columns, &rows) !=
            EFI_SUCCESS)
        return;
    used = fmt(text, bytes, "screen %ux%u", (unsigned)columns, (unsigned)rows);
    if (firmware_boot->LocateProtocol(&id, NULL, (void **)&graphics) == EFI_SUCCESS)
        fmt(text + used, bytes - used, " on %ux%u",
            (unsigned)graphics->Mode->Info->HorizontalResolution,
            (unsigned)graphics->Mode->Info->VerticalResolution);
}

static void show(CHAR16 *text)
{
    for (size_t i = 0; i < screen_count; i++)
        screens[i]->OutputString(screens[i], text);
}

void screen_write(const char *text, size_t bytes)
{
    CHAR16 chunk[CHUNK_UNITS + 1];
    size_t used = 0;

    if (panel)
        panel_write(text, bytes);
    for (size_t i = 0; screen_count > 0 && i < bytes; i++) {
        if (text[i] == '\n')
            chunk[used++] = '\r';
        chunk[used++] = (unsigned char)text[i];
        if (used >= CHUNK_UNITS - 1 || i + 1 == bytes) {
            chunk[used] = 0;
            show(chunk);
            used = 0;
        }
    }
}

void screen_linger(unsigned seconds)
{
    SIMPLE_INPUT_INTERFACE *keys = firmware_table->ConIn;
    EFI_INPUT_KEY key;

    static const char prompt[] = "\nPress a key to return to the firmware.\n";

    if ((screen_count == 0 && !panel) || !keys)
        return;
    screen_write(prompt, sizeof(prompt) - 1);
    keys->Reset(keys, FALSE);
    for (unsigned tenths = 0; tenths < 10 * seconds; tenths++) {
        if (keys->ReadKeyStroke(keys, &key) == EFI_SUCCESS)
            return;
        firmware_boot->Stall(100000);
    }
}
