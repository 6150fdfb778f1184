/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The firmware's multi-processor services; GNU-EFI has no header for the protocol.
 * Source: Platform Initialization Specification, "EFI_MP_SERVICES_PROTOCOL".
 */
#ifndef BOOT_MP_SERVICES_H
#define BOOT_MP_SERVICES_H

#include "boot/firmware.h"

typedef void(EFIAPI *ap_procedure)(void *argument);
struct mp_services {
    EFI_STATUS(EFIAPI *get_number_of_processors)
    (struct mp_services *self, UINTN *all, UINTN *enabled);
    EFI_STATUS(EFIAPI *get_processor_info)
    (struct mp_services *self, UINTN number, void *info);
    EFI_STATUS(EFIAPI *startup_all_aps)
    (struct mp_services *self, ap_procedure procedure, BOOLEAN one_at_a_time, EFI_EVENT done,
     UINTN microseconds, void *argument, UINTN **failed);
};

/* NULL where firmware has none. */
struct mp_services *mp_services(void);

/*
 * The APIC IDs of all processors, the caller's first; how many there are, 0 without services.
 */
size_t mp_apic_ids(uint32_t *ids, size_t most);

/* Runs the procedure on each of the others, one after the other, for at most so long. */
void mp_run(ap_procedure procedure, unsigned microseconds);

#endif
