/* SPDX-License-Identifier: BSD-2-Clause */
/* The firmware's ACPI tables: their list, and the serial port that they name. */
#ifndef BOOT_ACPI_H
#define BOOT_ACPI_H

#include "harness/check/platform.h"

#include "boot/madt.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The tables of the root table, at most 48; *count is 0 when there is no ACPI. */
const struct firmware_table_entry *acpi_list(size_t *count);

struct acpi_uart {
    uint64_t address;
    bool in_memory;  /* false: an I/O port */
    unsigned stride; /* bytes from one register to the next: 1, 2 or 4 */
    const char *table;
};

/*
 * A 16550 named by SPCR, else by DBG2; false when neither does. The speed is not taken over.
 * Sources: "Serial Port Console Redirection Table", "Microsoft Debug Port Table 2".
 */
bool acpi_find_uart(struct acpi_uart *uart);

/*
 * The command port that FADT names; port 0 where it names none (hardware-reduced ACPI). Source:
 * ACPI Specification, "Fixed ACPI Description Table (FADT)".
 */
void acpi_find_smi(struct smi_command *smi);

/* The processors of the MADT; all zeros where there is none. */
struct madt_processors acpi_processors(void);

#endif
