/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of processor quirks. A row names the models of family 6 that share them. */
#include "hw/quirk.h"

#include "hw/cpuid.h"
#include "hw/string.h"

#include <stddef.h>

#define FAMILY(signature) ((signature) >> 8 & 0xF)
#define MODEL(signature)  (((signature) >> 4 & 0xF) | ((signature) >> 12 & 0xF0))

#define CORE2                                                                                  \
    "Linux, arch/x86/events/intel/core.c: PEBS is unreliable on the first Core 2 (AJ67, "      \
    "AJ68, AJ69, AJ106), and taken so on its successors; ds.c: format 0 in one page"
#define FIRST_ATOM                                                                             \
    "Linux, arch/x86/events/intel/ds.c: format 0 in one page; constraints of Atom"
#define SILVERMONT "Linux, arch/x86/events/intel/ds.c: constraints of Silvermont and Goldmont"

static const struct {
    uint8_t models[8]; /* 0 ends them */
    uint8_t quirks;    /* enum quirk */
    const char *source;
} rows[] = {
    {{0x0F, 0x16, 0x17, 0x1D},
     QUIRK_NO_PEBS | QUIRK_PEBS_ONE_PAGE | QUIRK_PEBS_FIRST_ONLY,
     CORE2},
    {{0x1C, 0x26, 0x27, 0x35, 0x36}, QUIRK_PEBS_ONE_PAGE | QUIRK_PEBS_FIRST_ONLY, FIRST_ATOM},
    {{0x37, 0x4A, 0x4D, 0x4C, 0x5A, 0x5C, 0x5F}, QUIRK_PEBS_FIRST_ONLY, SILVERMONT},
};

/* Number of the row, or that of all rows. */
static size_t row_of(const char *vendor, uint32_t signature)
{
    size_t count = sizeof(rows) / sizeof(rows[0]);

    if (strcmp(vendor, "GenuineIntel") != 0 || FAMILY(signature) != 6)
        return count;
    for (size_t i = 0; i < count; i++)
        for (size_t m = 0; m < sizeof(rows[i].models) && rows[i].models[m]; m++)
            if (rows[i].models[m] == MODEL(signature))
                return i;
    return count;
}

unsigned quirks_of(const char *vendor, uint32_t signature)
{
    size_t row = row_of(vendor, signature);

    return row < sizeof(rows) / sizeof(rows[0]) ? rows[row].quirks : 0;
}

const char *quirk_source(const char *vendor, uint32_t signature)
{
    size_t row = row_of(vendor, signature);

    return row < sizeof(rows) / sizeof(rows[0]) ? rows[row].source : NULL;
}

unsigned cpu_quirks(void)
{
    struct cpuid_regs name = cpuid_query(0, 0);
    char vendor[13] = "";

    if (cpu_has_hypervisor())
        return 0;
    memcpy(vendor, &name.ebx, 4);
    memcpy(vendor + 4, &name.edx, 4);
    memcpy(vendor + 8, &name.ecx, 4);
    return quirks_of(vendor, cpuid_query(1, 0).eax);
}
