/* SPDX-License-Identifier: BSD-2-Clause */
/* Who is there, and running something on all of them, by the firmware's services. */
#include "boot/mp_services.h"

#define MP_SERVICES_GUID                                                                       \
    {                                                                                          \
        0x3FDDA605, 0xA76E, 0x4F46,                                                            \
        {                                                                                      \
            0xAD, 0x29, 0x12, 0xF4, 0x53, 0x1B, 0x3D, 0x08                                     \
        }                                                                                      \
    }

/* EFI_PROCESSOR_INFORMATION; newer firmware writes more behind what is named here. */
struct processor_information {
    uint64_t processor_id; /* the APIC ID */
    uint32_t status;
    uint32_t rest[13];
};
#define STATUS_IS_BOOT_PROCESSOR 1u

struct mp_services *mp_services(void)
{
    struct mp_services *mp = NULL;
    EFI_GUID guid = MP_SERVICES_GUID;

    if (firmware_boot->LocateProtocol(&guid, NULL, (void **)&mp) != EFI_SUCCESS)
        return NULL;
    return mp;
}

size_t mp_apic_ids(uint32_t *ids, size_t most)
{
    struct mp_services *mp = mp_services();
    UINTN all = 0, enabled = 0;

    if (!mp || mp->get_number_of_processors(mp, &all, &enabled) != EFI_SUCCESS || all > most)
        return 0;
    for (UINTN i = 0; i < all; i++) {
        struct processor_information info = {0};
        uint32_t first = ids[0];

        if (mp->get_processor_info(mp, i, &info) != EFI_SUCCESS)
            return 0;
        ids[i] = (uint32_t)info.processor_id;
        if (i > 0 && info.status & STATUS_IS_BOOT_PROCESSOR) {
            ids[0] = ids[i];
            ids[i] = first;
        }
    }
    return all;
}

void mp_run(ap_procedure procedure, unsigned microseconds)
{
    struct mp_services *mp = mp_services();

    if (mp)
        mp->startup_all_aps(mp, procedure, TRUE, NULL, microseconds, NULL, NULL);
}
