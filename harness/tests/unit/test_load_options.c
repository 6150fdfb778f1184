/* SPDX-License-Identifier: BSD-2-Clause */
/* Load options and option files: what counts as text, and where a program name ends. */
#include "boot/load_options.h"

#include "harness/tests/fakes/unit.h"

static char out[64];

/* UTF-16 of an ASCII text, with its terminating 0 unit. */
static size_t wide(uint8_t *to, const char *text)
{
    size_t units = strlen(text) + 1;

    for (size_t i = 0; i < units; i++) {
        to[2 * i] = (uint8_t)text[i];
        to[2 * i + 1] = 0;
    }
    return 2 * units;
}

static void utf16_text(void)
{
    uint8_t data[128];
    size_t bytes = wide(data, "run=bts.* exit=debug");

    EXPECT_EQ(load_options_text(data, bytes, out, sizeof(out)), TEXT_WORDS);
    EXPECT_STR(out, "run=bts.* exit=debug");
    /* Without the terminator, as some loaders pass it. */
    EXPECT_EQ(load_options_text(data, bytes - 2, out, sizeof(out)), TEXT_WORDS);
    EXPECT_STR(out, "run=bts.* exit=debug");
    /* An odd byte at the end is no unit. */
    EXPECT_EQ(load_options_text(data, 2 * 9 + 1, out, sizeof(out)), TEXT_WORDS);
    EXPECT_STR(out, "run=bts.*");
}

static void what_follows_the_end_is_ignored(void)
{
    uint8_t data[128];
    size_t bytes = wide(data, "soak=1");

    data[bytes] = 0xFF;
    data[bytes + 1] = 0xFF;
    EXPECT_EQ(load_options_text(data, bytes + 2, out, sizeof(out)), TEXT_WORDS);
    EXPECT_STR(out, "soak=1");
}

static void binary_is_left_alone(void)
{
    /* The GUID by which OVMF marks the boot entries that it made. */
    static const uint8_t guid[] = {0x9C, 0xD2, 0x0E, 0x4E, 0x8B, 0xC8, 0x6A, 0x4A,
                                   0xBE, 0x17, 0x54, 0x72, 0xB2, 0xAC, 0x4E, 0x4B};
    /* Eight-bit text read as UTF-16 is none. */
    static const uint8_t ascii[] = "soak=1";

    EXPECT_EQ(load_options_text(guid, sizeof(guid), out, sizeof(out)), TEXT_BINARY);
    EXPECT_EQ(load_options_text(ascii, sizeof(ascii), out, sizeof(out)), TEXT_BINARY);
}

/* Attributes, size of the paths, description, one node and the end, then the data. */
static size_t boot_entry(uint8_t *to, const char *data)
{
    static const uint8_t path[] = {4, 4, 8, 0, 'x', 0, 0, 0, 0x7F, 0xFF, 4, 0};
    size_t used = 6;

    memset(to, 0, used);
    to[0] = 1;
    to[4] = sizeof(path);
    used += wide(to + used, "Waymark stick");
    memcpy(to + used, path, sizeof(path));
    used += sizeof(path);
    return used + wide(to + used, data);
}

static void whole_boot_entry(void)
{
    uint8_t data[160];
    char name[20];
    size_t bytes = boot_entry(data, "soak=1"), at;

    at = load_option_unwrap(data, bytes, name, sizeof(name));
    EXPECT_STR(name, "Waymark stick");
    EXPECT_EQ(load_options_text(data + at, bytes - at, out, sizeof(out)), TEXT_WORDS);
    EXPECT_STR(out, "soak=1");
    /* Cut anywhere before its data it is none, and so are paths that do not end. */
    for (size_t i = 0; i < at; i++)
        EXPECT_EQ(load_option_unwrap(data, i, name, sizeof(name)), 0);
    data[at - 3] = 0;
    EXPECT_EQ(load_option_unwrap(data, bytes, name, sizeof(name)), 0);
    bytes = wide(data, "run=bts.* exit=debug");
    EXPECT_EQ(load_option_unwrap(data, bytes, name, sizeof(name)), 0);
}

static void nothing_at_all(void)
{
    uint8_t data[16];

    EXPECT_EQ(load_options_text(NULL, 0, out, sizeof(out)), TEXT_EMPTY);
    EXPECT_EQ(load_options_text(NULL, 16, out, sizeof(out)), TEXT_EMPTY);
    EXPECT_EQ(load_options_text(data, wide(data, ""), out, sizeof(out)), TEXT_EMPTY);
    EXPECT_EQ(load_options_text(data, wide(data, " \r\n\t"), out, sizeof(out)), TEXT_EMPTY);
}

static void too_long(void)
{
    uint8_t data[2 * 80];
    char text[80];

    memset(text, 'a', sizeof(text));
    text[sizeof(out) - 1] = 0;
    EXPECT_EQ(load_options_text(data, wide(data, text), out, sizeof(out)), TEXT_WORDS);
    EXPECT_STR(out, text);
    text[sizeof(out) - 1] = 'a';
    text[sizeof(out)] = 0;
    EXPECT_EQ(load_options_text(data, wide(data, text), out, sizeof(out)), TEXT_TOO_LONG);
}

static void files(void)
{
    static const uint8_t utf16[] = {0xFF, 0xFE, 's', 0, 'o', 0, '=', 0, '1', 0};
    static const uint8_t half[] = {0xFF, 0xFE, 's', 0, 'o'};

    EXPECT_EQ(file_text("a=1\r\nb=2\n", 9, out, sizeof(out)), TEXT_WORDS);
    EXPECT_STR(out, "a=1\r\nb=2\n");
    EXPECT_EQ(file_text("\xEF\xBB\xBF"
                        "a=1",
                        6, out, sizeof(out)),
              TEXT_WORDS);
    EXPECT_STR(out, "a=1");
    EXPECT_EQ(file_text(utf16, sizeof(utf16), out, sizeof(out)), TEXT_WORDS);
    EXPECT_STR(out, "so=1");
    EXPECT_EQ(file_text("", 0, out, sizeof(out)), TEXT_EMPTY);
    EXPECT_EQ(file_text(half, sizeof(half), out, sizeof(out)), TEXT_BINARY);
    EXPECT_EQ(file_text("a=\0z", 4, out, sizeof(out)), TEXT_BINARY);
    EXPECT_EQ(file_text("a=\x80", 3, out, sizeof(out)), TEXT_BINARY);
    EXPECT_EQ(file_text("\x7F", 1, out, sizeof(out)), TEXT_BINARY);
}

static const char *after_name(const char *text, const char *file_name)
{
    const char *rest = skip_program_name(text, file_name);

    while (*rest == ' ')
        rest++;
    return rest;
}

static void program_names(void)
{
    static const char image[] = "BOOTX64.EFI";

    EXPECT_STR(after_name("BOOTX64.EFI a=1", image), "a=1");
    EXPECT_STR(after_name("  fs0:\\efi\\boot\\bootx64.efi a=1", image), "a=1");
    EXPECT_STR(after_name("bootx64 a=1", image), "a=1");
    EXPECT_STR(after_name("tools/bootx64 a=1", image), "a=1");
    EXPECT_STR(after_name("fs0:bootx64 a=1", image), "a=1");
    EXPECT_STR(after_name("other.efi a=1", NULL), "a=1");
    EXPECT_STR(after_name("\"fs0:\\my tools\\w m.efi\" a=1", image), "a=1");
    EXPECT_STR(after_name("bootx64.efi", image), "");
    EXPECT_STR(after_name("", image), "");
}

static void options_are_no_program_names(void)
{
    EXPECT_STR(after_name("a=1 b=2", "BOOTX64.EFI"), "a=1 b=2");
    /* Not swallowed, so that it is reported as bad usage. */
    EXPECT_STR(after_name("list a=1", "BOOTX64.EFI"), "list a=1");
    EXPECT_STR(after_name("bootx6 a=1", "BOOTX64.EFI"), "bootx6 a=1");
    EXPECT_STR(after_name("bootx64.ef a=1", "BOOTX64.EFI"), "bootx64.ef a=1");
    EXPECT_STR(after_name("bootx64 a=1", NULL), "bootx64 a=1");
    EXPECT_STR(after_name(".efi a=1", "BOOTX64.EFI"), ".efi a=1");
    EXPECT_STR(after_name("\"unclosed.efi a=1", "x"), "\"unclosed.efi a=1");
    EXPECT_STR(after_name("fs0: a=1", "BOOTX64.EFI"), "fs0: a=1");
}

int main(void)
{
    RUN(utf16_text);
    RUN(what_follows_the_end_is_ignored);
    RUN(binary_is_left_alone);
    RUN(whole_boot_entry);
    RUN(nothing_at_all);
    RUN(too_long);
    RUN(files);
    RUN(program_names);
    RUN(options_are_no_program_names);
    UNIT_END();
}
