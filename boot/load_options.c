/* SPDX-License-Identifier: BSD-2-Clause */
/* Decoding of load options and option files. */
#include "boot/load_options.h"

#include "hw/string.h"

#include <stdint.h>

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* One character more; false when it is none that an option can hold. */
static bool is_text(unsigned unit)
{
    return (unit >= 0x20 && unit < 0x7F) || unit == '\t' || unit == '\r' || unit == '\n';
}

/* Units of 1 or 2 bytes, little-endian; stops at a 0 unit where ends_at_zero is set. */
static enum text_kind decode(const uint8_t *data, size_t units, size_t unit_bytes,
                             bool ends_at_zero, char *out, size_t out_bytes)
{
    enum text_kind kind = TEXT_EMPTY;

    for (size_t i = 0; i < units; i++) {
        unsigned unit = data[i * unit_bytes];

        if (unit_bytes == 2)
            unit |= (unsigned)data[i * 2 + 1] << 8;
        if (unit == 0 && ends_at_zero) {
            units = i;
            break;
        }
        if (!is_text(unit))
            return TEXT_BINARY;
        if (i + 1 < out_bytes)
            out[i] = (char)unit;
        if (!is_space((char)unit))
            kind = TEXT_WORDS;
    }
    if (units >= out_bytes)
        return TEXT_TOO_LONG;
    out[units] = 0;
    return kind;
}

enum text_kind load_options_text(const void *data, size_t bytes, char *out, size_t out_bytes)
{
    if (!data)
        bytes = 0;
    return decode(data, bytes / 2, 2, true, out, out_bytes);
}

/* Of an EFI_LOAD_OPTION: attributes, size of the paths, then description, paths, data. */
enum { ENTRY_PATHS_AT = 4, ENTRY_TEXT_AT = 6, PATH_NODE = 4 };

static size_t word_at(const uint8_t *data)
{
    return data[0] | (size_t)data[1] << 8;
}

/* Whole nodes up to one that ends all of them. Source: UEFI, "Device Path Nodes". */
static bool is_device_path(const uint8_t *data, size_t bytes)
{
    while (bytes >= PATH_NODE) {
        size_t node = word_at(data + 2);

        if (node < PATH_NODE || node > bytes)
            return false;
        if ((data[0] & 0x7F) == 0x7F && data[1] == 0xFF)
            return node == bytes;
        data += node;
        bytes -= node;
    }
    return false;
}

size_t load_option_unwrap(const void *data, size_t bytes, char *name, size_t name_bytes)
{
    const uint8_t *b = data;
    size_t text = ENTRY_TEXT_AT, paths;

    if (!data || bytes < ENTRY_TEXT_AT + 2)
        return 0;
    while (text + 2 <= bytes && word_at(b + text) != 0)
        text += 2;
    paths = word_at(b + ENTRY_PATHS_AT);
    text += 2;
    if (text > bytes || paths > bytes - text || !is_device_path(b + text, paths))
        return 0;
    if (decode(b + ENTRY_TEXT_AT, (text - ENTRY_TEXT_AT) / 2, 2, true, name, name_bytes) !=
        TEXT_WORDS)
        name[0] = 0;
    return text + paths;
}

enum text_kind file_text(const void *data, size_t bytes, char *out, size_t out_bytes)
{
    const uint8_t *b = data;

    if (bytes >= 3 && b[0] == 0xEF && b[1] == 0xBB && b[2] == 0xBF)
        return decode(b + 3, bytes - 3, 1, false, out, out_bytes);
    if (bytes >= 2 && b[0] == 0xFF && b[1] == 0xFE) {
        if (bytes % 2 != 0)
            return TEXT_BINARY;
        return decode(b + 2, bytes / 2 - 1, 2, false, out, out_bytes);
    }
    return decode(b, bytes, 1, false, out, out_bytes);
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool same(const char *a, const char *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (lower(a[i]) != lower(b[i]))
            return false;
    return true;
}

static bool is_program_name(const char *word, size_t count, const char *file_name)
{
    static const char ending[] = ".efi";
    const size_t tail = sizeof(ending) - 1;
    size_t folder = 0, name;

    if (count > tail && same(word + count - tail, ending, tail))
        return true;
    for (size_t i = 0; i < count; i++)
        if (word[i] == '\\' || word[i] == '/' || word[i] == ':')
            folder = i + 1;
    if (!file_name || folder == count)
        return false;
    name = strlen(file_name);
    if (name > tail && same(file_name + name - tail, ending, tail))
        name -= tail;
    return name == count - folder && same(word + folder, file_name, name);
}

const char *skip_program_name(const char *text, const char *file_name)
{
    const char *word, *end;

    while (is_space(*text))
        text++;
    word = text;
    if (*word == '"') {
        end = strchr(++word, '"');
        if (!end)
            return text;
    } else {
        for (end = word; *end != 0 && !is_space(*end); end++)
            ;
    }
    if (!is_program_name(word, (size_t)(end - word), file_name))
        return text;
    return *end == '"' ? end + 1 : end;
}
