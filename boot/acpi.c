/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reading ACPI's tables where the firmware left them. They are input from outside: lengths are
 * checked before anything behind them is looked at.
 * Source: ACPI Specification, "Root System Description Pointer (RSDP)", "System Description
 * Table Header", "Generic Address Structure".
 */
#include "boot/acpi.h"

#include "boot/firmware.h"

#include "hw/string.h"

#define TABLES_MAX      48
#define TABLE_BYTES_MAX (16u << 20) /* no table is larger; a broken length may be */

struct __attribute__((packed)) header {
    char signature[4];
    uint32_t bytes;
    uint8_t revision, checksum;
    char oem[6], oem_table[8];
    uint32_t oem_revision, creator, creator_revision;
};
_Static_assert(sizeof(struct header) == 36, "ACPI: System Description Table Header");

struct __attribute__((packed)) pointer {
    char signature[8];
    uint8_t checksum;
    char oem[6];
    uint8_t revision;
    uint32_t rsdt, bytes;
    uint64_t xsdt;
};
_Static_assert(__builtin_offsetof(struct pointer, xsdt) == 24, "ACPI: RSDP");

struct __attribute__((packed)) fixed_description {
    struct header header;
    uint32_t facs, dsdt;
    uint8_t reserved, profile;
    uint16_t sci;
    uint32_t smi_command;
    uint8_t acpi_enable, acpi_disable, s4bios, pstate;
    uint32_t pm1a_event, pm1b_event, pm1a_control;
};
_Static_assert(__builtin_offsetof(struct fixed_description, smi_command) == 48, "ACPI: FADT");
_Static_assert(__builtin_offsetof(struct fixed_description, pm1a_control) == 64, "ACPI: FADT");

struct __attribute__((packed)) generic_address {
    uint8_t space; /* 0 memory, 1 I/O ports */
    uint8_t bits, offset;
    uint8_t access; /* 1 byte, 2 word, 3 double word */
    uint64_t address;
};

enum { SPACE_MEMORY = 0, SPACE_PORTS = 1 };

static const EFI_GUID acpi_20 = {
    0x8868E871, 0xE4F1, 0x11D3, {0xBC, 0x22, 0x00, 0x80, 0xC7, 0x3C, 0x88, 0x81}};

/* The root table with 64-bit entries; every machine with UEFI has one. */
static const struct header *root(void)
{
    for (UINTN i = 0; i < firmware_table->NumberOfTableEntries; i++) {
        EFI_CONFIGURATION_TABLE *entry = &firmware_table->ConfigurationTable[i];
        const struct pointer *p = entry->VendorTable;

        if (memcmp(&entry->VendorGuid, &acpi_20, sizeof(acpi_20)) == 0 && p &&
            p->revision >= 2 && p->xsdt != 0)
            return (const struct header *)(uintptr_t)p->xsdt;
    }
    return NULL;
}

static bool sane(const struct header *table)
{
    return table && table->bytes >= sizeof(*table) && table->bytes <= TABLE_BYTES_MAX;
}

/* Entry number index of the root table; NULL behind the last one. */
static const struct header *table_at(size_t index)
{
    const struct header *list = root();
    uint64_t address;

    if (!sane(list) || index >= (list->bytes - sizeof(*list)) / sizeof(address) ||
        index >= TABLES_MAX)
        return NULL;
    /* The entries are not aligned. */
    memcpy(&address, (const uint8_t *)(list + 1) + index * sizeof(address), sizeof(address));
    return (const struct header *)(uintptr_t)address;
}

static void copy_text(char *to, const char *from, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        to[i] = from[i] > ' ' && from[i] <= '~' ? from[i] : from[i] == 0 ? 0 : '_';
    to[bytes] = 0;
    while (bytes > 0 && (to[bytes - 1] == 0 || to[bytes - 1] == '_'))
        to[--bytes] = 0;
}

const struct firmware_table_entry *acpi_list(size_t *count)
{
    static struct firmware_table_entry list[TABLES_MAX];
    const struct header *table;

    *count = 0;
    for (size_t i = 0; (table = table_at(i)); i++) {
        struct firmware_table_entry *entry = &list[*count];

        if (!sane(table))
            continue;
        copy_text(entry->signature, table->signature, sizeof(table->signature));
        copy_text(entry->oem, table->oem, sizeof(table->oem));
        copy_text(entry->oem_table, table->oem_table, sizeof(table->oem_table));
        entry->bytes = table->bytes;
        entry->revision = table->revision;
        ++*count;
    }
    return list;
}

static const struct header *find(const char *signature, size_t least)
{
    const struct header *table;

    for (size_t i = 0; (table = table_at(i)); i++)
        if (sane(table) && table->bytes >= least &&
            memcmp(table->signature, signature, sizeof(table->signature)) == 0)
            return table;
    return NULL;
}

/* Types of both tables that mean a 16550, with its registers where the address says. */
static bool is_16550(unsigned type)
{
    return type == 0x00 || type == 0x01 || type == 0x12;
}

static bool take(const struct generic_address *a, const char *name, struct acpi_uart *uart)
{
    if (a->address == 0 || a->space > SPACE_PORTS)
        return false;
    uart->address = a->address;
    uart->in_memory = a->space == SPACE_MEMORY;
    /* Where the width of access says nothing, the width of a register does. */
    uart->stride = a->access >= 1 && a->access <= 3 ? 1u << (a->access - 1)
                   : a->bits == 32                  ? 4
                                                    : 1;
    if (!uart->in_memory)
        uart->stride = 1;
    uart->table = name;
    return true;
}

static bool from_spcr(struct acpi_uart *uart)
{
    const uint8_t *table = (const uint8_t *)find("SPCR", 52);
    struct generic_address address;

    if (!table || !is_16550(table[36]))
        return false;
    memcpy(&address, table + 40, sizeof(address));
    return take(&address, "SPCR", uart);
}

static bool from_dbg2(struct acpi_uart *uart)
{
    const uint8_t *table = (const uint8_t *)find("DBG2", 44);
    uint32_t at, devices, end;
    uint16_t length, type, subtype, offset;
    struct generic_address address;

    if (!table)
        return false;
    memcpy(&end, table + 4, sizeof(end));
    memcpy(&at, table + 36, sizeof(at));
    memcpy(&devices, table + 40, sizeof(devices));
    for (; devices > 0 && at <= end && end - at >= 22; devices--, at += length) {
        memcpy(&length, table + at + 1, sizeof(length));
        memcpy(&type, table + at + 12, sizeof(type));
        memcpy(&subtype, table + at + 14, sizeof(subtype));
        memcpy(&offset, table + at + 18, sizeof(offset));
        if (length < 22 || length > end - at)
            return false;
        /* 8000H: a serial port. */
        if (type != 0x8000 || !is_16550(subtype) || offset + sizeof(address) > length)
            continue;
        memcpy(&address, table + at + offset, sizeof(address));
        if (take(&address, "DBG2", uart))
            return true;
    }
    return false;
}

struct madt_processors acpi_processors(void)
{
    const struct header *table = find("APIC", 44);

    return !table ? (struct madt_processors){0}
                  : madt_read((const uint8_t *)table, table->bytes);
}

bool acpi_find_uart(struct acpi_uart *uart)
{
    return from_spcr(uart) || from_dbg2(uart);
}

void acpi_find_smi(struct smi_command *smi)
{
    const struct fixed_description *fadt =
        (const struct fixed_description *)find("FACP", sizeof(*fadt));

    *smi = (struct smi_command){0};
    if (!fadt || fadt->smi_command == 0 || fadt->smi_command > UINT16_MAX ||
        fadt->pm1a_control == 0 || fadt->pm1a_control > UINT16_MAX)
        return;
    *smi = (struct smi_command){.port = (uint16_t)fadt->smi_command,
                                .enable = fadt->acpi_enable,
                                .disable = fadt->acpi_disable,
                                .control = (uint16_t)fadt->pm1a_control};
}
