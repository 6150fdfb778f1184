/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading the entries of the table; it is input from outside. */
#include "boot/madt.h"

#include "hw/string.h"

enum {
    FIRST_ENTRY = 44, /* header, address of the local APICs, flags */
    TYPE_APIC = 0,
    TYPE_APIC_BYTES = 8,
    TYPE_X2APIC = 9,
    TYPE_X2APIC_BYTES = 16,
    FLAG_ENABLED = 1 << 0,
    FLAG_ONLINE_CAPABLE = 1 << 1,
    NO_APIC_ID = 0xFF, /* in a type 0 entry: none */
};

static void count(struct madt_processors *found, uint32_t apic_id, uint32_t flags)
{
    if (flags & FLAG_ENABLED) {
        found->enabled++;
        if (apic_id > found->highest_apic_id)
            found->highest_apic_id = apic_id;
    } else if (flags & FLAG_ONLINE_CAPABLE) {
        found->can_come++;
    } else {
        found->disabled++;
    }
}

static uint32_t word(const uint8_t *at)
{
    uint32_t value;

    memcpy(&value, at, sizeof(value));
    return value;
}

struct madt_processors madt_read(const uint8_t *table, size_t bytes)
{
    struct madt_processors found = {0};

    for (size_t at = FIRST_ENTRY; at + 2 <= bytes;) {
        const uint8_t *entry = table + at;
        size_t length = entry[1];

        if (length < 2 || length > bytes - at)
            break;
        if (entry[0] == TYPE_APIC && length >= TYPE_APIC_BYTES && entry[3] != NO_APIC_ID)
            count(&found, entry[3], word(entry + 4));
        else if (entry[0] == TYPE_X2APIC && length >= TYPE_X2APIC_BYTES)
            count(&found, word(entry + 4), word(entry + 8));
        at += length;
    }
    return found;
}
