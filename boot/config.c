/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finding the options: the file beside the image, on a volume or a server, or in \EFI\BOOT;
 * then the load options.
 */
#include "boot/config.h"

#include "boot/firmware.h"
#include "boot/load_options.h"
#include "boot/network.h"
#include "boot/volume.h"

#include "harness/check/format.h"
#include "hw/string.h"

#define TEXT_BYTES 4096 /* far more than all options together need */
#define PATH_UNITS 260

/* The GUID by which EDK II marks the boot entries that it made. */
#define MARK_BYTES 16

static const char *sources = "none";
static char aside[96];

const char *config_sources(void)
{
    static char all[192];

    fmt(all, sizeof(all), "%s%s", sources, aside);
    return all;
}

static char raw[TEXT_BYTES + 1]; /* the file as it was read */

/* Takes over what reading the file gave; it is good that there is none. */
static bool take_file(struct options *options, const char *name, const char *source,
                      EFI_STATUS status, size_t bytes, char *error, size_t error_bytes)
{
    static char text[TEXT_BYTES + 1];

    if (status == EFI_NOT_FOUND)
        return true;
    if (status == EFI_BUFFER_TOO_SMALL) {
        fmt(error, error_bytes, "%s: longer than %d bytes", name, TEXT_BYTES);
        return false;
    }
    if (status != EFI_SUCCESS) {
        fmt(error, error_bytes, "%s: cannot read it (%s)", name, firmware_status(status));
        return false;
    }
    switch (file_text(raw, bytes, text, sizeof(text))) {
    case TEXT_EMPTY:
        return true;
    case TEXT_WORDS:
        sources = source;
        return options_parse(options, text, strlen(text), error, error_bytes);
    case TEXT_TOO_LONG:
        fmt(error, error_bytes, "%s: longer than %d bytes", name, TEXT_BYTES);
        return false;
    case TEXT_BINARY:
        break;
    }
    fmt(error, error_bytes, "%s: not a text file", name);
    return false;
}

static bool parse_file(struct options *options, const CHAR16 *path, bool *found, char *error,
                       size_t error_bytes)
{
    char name[80];
    size_t bytes = sizeof(raw);
    EFI_STATUS status = volume_read(path, raw, &bytes);

    *found = status != EFI_NOT_FOUND;
    firmware_ascii(name, sizeof(name), path);
    return take_file(options, name, "waymark.cfg", status, bytes, error, error_bytes);
}

static bool read_from_network(struct options *options, char *error, size_t error_bytes)
{
    char name[NETWORK_URL_BYTES + 16];
    size_t bytes = sizeof(raw);
    EFI_STATUS status;

    if (!network_open())
        return true;
    fmt(name, sizeof(name), "%swaymark.cfg", network_folder());
    status = network_read("waymark.cfg", raw, &bytes);
    return take_file(options, name, "waymark.cfg of the server", status, bytes, error,
                     error_bytes);
}

static bool read_file(struct options *options, char *error, size_t error_bytes)
{
    static CHAR16 beside[PATH_UNITS];
    bool found = false;

    /* Network boot programs show what they loaded as a volume; the options are not on it. */
    if (!volume_open())
        return read_from_network(options, error, error_bytes);
    if (volume_image_folder(beside, PATH_UNITS)) {
        size_t end = 0;

        while (beside[end] != 0)
            end++;
        firmware_wide(beside + end, PATH_UNITS - end, "\\waymark.cfg");
        if (!parse_file(options, beside, &found, error, error_bytes))
            return false;
    }
    if (!found && !parse_file(options, u"\\EFI\\BOOT\\waymark.cfg", &found, error, error_bytes))
        return false;
    return found || read_from_network(options, error, error_bytes);
}

/* The UEFI shell hands the words over one by one, with the program's name as word 0. */
static enum text_kind shell_words(char *text, size_t bytes, bool *from_shell)
{
    EFI_SHELL_PARAMETERS_PROTOCOL *shell =
        firmware_protocol(firmware_image, (EFI_GUID)EFI_SHELL_PARAMETERS_PROTOCOL_GUID);
    size_t end = 0;

    *from_shell = shell;
    text[0] = 0;
    if (!shell)
        return TEXT_EMPTY;
    for (UINTN i = 1; i < shell->Argc; i++) {
        size_t units = 0;

        while (shell->Argv[i][units] != 0)
            units++;
        if (end + units + 2 > bytes)
            return TEXT_TOO_LONG;
        if (load_options_text(shell->Argv[i], units * 2, text + end, bytes - end - 1) ==
            TEXT_BINARY)
            return TEXT_BINARY;
        end += units;
        text[end++] = ' ';
        text[end] = 0;
    }
    return end == 0 ? TEXT_EMPTY : TEXT_WORDS;
}

/* What the boot entry passes; what lies around it is set aside, and said so. */
static enum text_kind passed_words(char *text, size_t bytes)
{
    static char name[64];
    const uint8_t *data = firmware_loaded->LoadOptions;
    size_t size = firmware_loaded->LoadOptionsSize;
    size_t wrapped = load_option_unwrap(data, size, name, sizeof(name));

    enum text_kind kind = load_options_text(data + wrapped, size - wrapped, text, bytes);

    if (wrapped)
        fmt(aside, sizeof(aside), "; the boot entry around them set aside: %s", name);
    else if (kind == TEXT_BINARY && size != MARK_BYTES)
        fmt(aside, sizeof(aside), "; %zu bytes of load options set aside, no text", size);
    return kind;
}

static bool read_load_options(struct options *options, char *error, size_t error_bytes)
{
    static char text[TEXT_BYTES + 1], all[64];
    char file_name[80];
    const char *words = text;
    bool from_shell;
    enum text_kind kind = shell_words(text, sizeof(text), &from_shell);

    if (!from_shell && firmware_loaded) {
        kind = passed_words(text, sizeof(text));
        volume_image_name(file_name, sizeof(file_name));
        if (kind == TEXT_WORDS)
            words = skip_program_name(text, file_name);
    }
    if (kind == TEXT_TOO_LONG) {
        fmt(error, error_bytes, "load options: longer than %d characters", TEXT_BYTES);
        return false;
    }
    /* Binary data is how boot entries mark themselves; it says nothing to us. */
    if (kind != TEXT_WORDS)
        return true;
    /* An empty text says nothing either; some firmware hands over the name alone. */
    if (!*words)
        return true;
    if (strcmp(sources, "none") == 0)
        fmt(all, sizeof(all), "load options");
    else
        fmt(all, sizeof(all), "%s, load options", sources);
    sources = all;
    return options_parse(options, words, strlen(words), error, error_bytes);
}

bool config_read(struct options *options, char *error, size_t error_bytes)
{
    options_default(options);
    return read_file(options, error, error_bytes) &&
           read_load_options(options, error, error_bytes);
}
