/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The options serial=, baud=, screen= and gdb=: where the lines of a run go, and where a
 * debugger is.
 */
#include "harness/options/option_values.h"

#include "harness/check/format.h"
#include "hw/string.h"

static const char serial_words[] = "com1|com2|com3|com4";
static const uint16_t serial_ports[] = {0x3F8, 0x2F8, 0x3E8, 0x2E8};

/* "mem:0xADDRESS" or "mem:0xADDRESS/STRIDE" */
static bool parse_memory(char *text, struct option_serial *place)
{
    char *slash = strchr(text, '/');
    uint64_t stride = 1;

    if (slash) {
        *slash = 0;
        if (!option_number(slash + 1, &stride) || (stride != 1 && stride != 2 && stride != 4))
            return false;
    }
    place->kind = SERIAL_MEMORY;
    place->stride = (unsigned)stride;
    return option_number(text, &place->address) && place->address >= 0x1000;
}

static bool parse_place(char *text, struct option_serial *place)
{
    unsigned word;

    *place = (struct option_serial){SERIAL_PORT, 0, 1};
    if (strcmp(text, "acpi") == 0)
        place->kind = SERIAL_ACPI;
    else if (memcmp(text, "mem:", 4) == 0)
        return parse_memory(text + 4, place);
    else if (option_word(text, serial_words, &word))
        place->address = serial_ports[word];
    else
        return option_number(text, &place->address) && place->address >= 0x100 &&
               place->address <= 0xFFF8;
    return true;
}

const char *option_set_serial(struct options *o, const char *value)
{
    static const char wanted[] =
        "none, or up to 4 of com1 to com4, a port from 0x100 to 0xfff8, "
        "mem:0xADDRESS[/STRIDE], acpi";
    char text[64 + 4];

    o->serials = 0;
    if (strcmp(value, "none") == 0)
        return NULL;
    while (*value) {
        size_t used = 0;

        while (*value && *value != ',' && used + 4 < sizeof(text))
            text[used++] = *value++;
        /* Room for the longest word that is compared with it. */
        memset(text + used, 0, 4);
        if (o->serials == OPTION_SERIAL_MAX || !parse_place(text, &o->serial[o->serials++]))
            return wanted;
        value += *value == ',';
    }
    return o->serials ? NULL : wanted;
}

const char *option_set_baud(struct options *o, const char *value)
{
    uint64_t number;

    /* What the divisor latch of a 16550 can give. */
    if (!option_number(value, &number) || number < 50 || number > 115200 ||
        115200 % number != 0)
        return "a divisor of 115200 that is at least 50";
    o->baud = (uint32_t)number;
    return NULL;
}

const char *option_set_gdb(struct options *o, const char *value)
{
    char text[64 + 4];

    if (strlen(value) + 4 > sizeof(text))
        return "one port, as for serial=";
    /* Room for the longest word that is compared with it. */
    memset(text, 0, sizeof(text));
    memcpy(text, value, strlen(value));
    return parse_place(text, &o->gdb) && o->gdb.kind != SERIAL_ACPI
               ? NULL
               : "com1 to com4, a port from 0x100 to 0xfff8 or mem:0xADDRESS[/STRIDE]";
}

const char *option_set_screen(struct options *o, const char *value)
{
    char width_text[8];
    const char *times = strchr(value, 'x');
    uint64_t width, height;

    o->screen_console = strcmp(value, "console") == 0;
    o->screen_width = o->screen_height = 0;
    if (o->screen_console || strcmp(value, "auto") == 0)
        return NULL;
    if (times)
        fmt(width_text, sizeof(width_text), "%.*s", (int)(times - value), value);
    if (!times || !option_number(width_text, &width) || !option_number(times + 1, &height) ||
        width < 640 || width > 16384 || height < 400 || height > 16384)
        return "auto, console or WIDTHxHEIGHT";
    o->screen_width = (uint16_t)width;
    o->screen_height = (uint16_t)height;
    return NULL;
}
