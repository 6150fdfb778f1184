/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the loaded image has its code. */
#ifndef HW_IMAGE_H
#define HW_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Whether a byte of this physical range is code of the image, for either ring. The image is
 * loaded where it is identity-mapped.
 */
bool image_has_code(uint64_t physical, uint64_t bytes);

#endif
