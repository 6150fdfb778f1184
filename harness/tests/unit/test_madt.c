/* SPDX-License-Identifier: BSD-2-Clause */
/* ACPI's table of interrupt controllers: kinds of entries, wide APIC ids, and any damage. */
#include "boot/madt.h"
#include "harness/tests/fakes/unit.h"

static uint8_t table[400];
static size_t bytes;

static void apic(uint8_t id, uint32_t flags)
{
    const uint8_t entry[] = {0, 8, 1, id};

    memcpy(table + bytes, entry, sizeof(entry));
    memcpy(table + bytes + 4, &flags, sizeof(flags));
    bytes += 8;
}

static void x2apic(uint32_t id, uint32_t flags)
{
    table[bytes] = 9;
    table[bytes + 1] = 16;
    memcpy(table + bytes + 4, &id, sizeof(id));
    memcpy(table + bytes + 8, &flags, sizeof(flags));
    bytes += 16;
}

static void start(void)
{
    static const uint8_t io_apic[12] = {1, 12};

    memset(table, 0, sizeof(table));
    memcpy(table + 44, io_apic, sizeof(io_apic));
    bytes = 44 + sizeof(io_apic);
}

static void kinds_of_processors(void)
{
    struct madt_processors found;

    start();
    apic(0, 1);
    apic(2, 1);
    apic(4, 2);
    apic(6, 0);
    apic(0xFF, 0);
    x2apic(300, 1);
    x2apic(400, 0);
    found = madt_read(table, bytes);
    EXPECT_EQ(found.enabled, 3);
    EXPECT_EQ(found.can_come, 1);
    EXPECT_EQ(found.disabled, 2);
    EXPECT_EQ(found.highest_apic_id, 300);
}

/* Each length in a block of its own, so that a byte read too far is seen. */
static void cut_anywhere(void)
{
    struct madt_processors whole;

    start();
    apic(0, 1);
    x2apic(5, 1);
    apic(7, 1);
    whole = madt_read(table, bytes);
    EXPECT_EQ(whole.enabled, 3);
    for (size_t length = 0; length < bytes; length++) {
        uint8_t *copy = malloc(length ? length : 1);

        memcpy(copy, table, length);
        EXPECT(madt_read(copy, length).enabled < whole.enabled);
        free(copy);
    }
}

static void broken_lengths(void)
{
    for (unsigned place = 44; place < 100; place++)
        for (unsigned value = 0; value < 256; value += 5) {
            struct madt_processors found;

            start();
            apic(0, 1);
            x2apic(5, 1);
            apic(7, 1);
            table[place] = (uint8_t)value;
            found = madt_read(table, bytes);
            EXPECT(found.enabled + found.can_come + found.disabled <= (bytes - 44) / 8);
        }
}

int main(void)
{
    RUN(kinds_of_processors);
    RUN(cut_anywhere);
    RUN(broken_lengths);
    UNIT_END();
}
