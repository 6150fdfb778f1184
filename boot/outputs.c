/* SPDX-License-Identifier: BSD-2-Clause */
/* Serial ports by option, by ACPI where the usual one does not answer, and the screens. */
#include "boot/outputs.h"

#include "boot/acpi.h"
#include "boot/screen.h"
#include "boot/serial.h"

#include "harness/check/format.h"
#include "hw/string.h"

#define TEXT_BYTES 96

static char found[TEXT_BYTES], missing[TEXT_BYTES];

static void add(char *list, const char *what)
{
    size_t used = strlen(list);

    fmt(list + used, TEXT_BYTES - used, "%s%s", used > 0 ? ", " : "", what);
}

static bool open_place(struct serial_place place, uint32_t baud, const char *table)
{
    bool good = serial_open(place, baud);
    char text[48];

    fmt(text, sizeof(text), "%s%s%s0x%lx", table, *table ? " " : "",
        place.in_memory ? "memory " : "", place.address);
    add(good ? found : missing, text);
    return good;
}

static bool open_acpi(uint32_t baud, bool asked)
{
    struct acpi_uart uart;

    if (acpi_find_uart(&uart))
        return open_place((struct serial_place){uart.address, uart.in_memory, uart.stride},
                          baud, uart.table);
    if (asked)
        add(missing, "a port in SPCR or DBG2");
    return false;
}

void outputs_open(const struct options *options)
{
    char screens[48];

    serial_init();
    found[0] = missing[0] = 0;
    for (unsigned i = 0; i < options->serials; i++) {
        const struct option_serial *s = &options->serial[i];

        if (s->kind == SERIAL_ACPI)
            open_acpi(options->baud, true);
        else
            open_place((struct serial_place){s->address, s->kind == SERIAL_MEMORY, s->stride},
                       options->baud, "");
    }
    if (!options->serial_given && !serial_present())
        open_acpi(options->baud, false);
    screen_init(serial_present(), options);
    screen_describe(screens, sizeof(screens));
    if (screens[0])
        add(found, screens);
}

const char *outputs_text(void)
{
    static char text[TEXT_BYTES];

    fmt(text, sizeof(text), "%s%s%s", found[0] ? found : "none",
        missing[0] ? "; no answer: " : "", missing);
    return text;
}
