/* SPDX-License-Identifier: BSD-2-Clause */
/* The image's code, as the linker laid it out. */
#include "hw/image.h"

extern const uint8_t __text_start[] __attribute__((visibility("hidden")));
extern const uint8_t __guest_end[] __attribute__((visibility("hidden")));

bool image_has_code(uint64_t physical, uint64_t bytes)
{
    return physical < (uint64_t)__guest_end && (uint64_t)__text_start < physical + bytes;
}
