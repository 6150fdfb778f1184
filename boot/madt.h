/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What ACPI's table of interrupt controllers says of the processors, those included that are
 * switched off or not there yet. Pure reading of bytes; tested on the host.
 * Source: ACPI Specification, "Multiple APIC Description Table (MADT)", "Processor Local APIC
 * Structure", "Processor Local x2APIC Structure".
 */
#ifndef BOOT_MADT_H
#define BOOT_MADT_H

#include <stddef.h>
#include <stdint.h>

struct madt_processors {
    unsigned enabled;
    unsigned can_come; /* not enabled, but firmware may bring it later */
    unsigned disabled;
    uint32_t highest_apic_id; /* of the enabled ones */
};

/* The whole table with its header; what does not fit into its bytes ends the reading. */
struct madt_processors madt_read(const uint8_t *table, size_t bytes);

#endif
