/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * x87 and SSE state of ring-3 code. The kernel itself uses neither, so the registers need to be
 * saved only where firmware will run. Source: SDM Vol. 1, "FXSAVE and FXRSTOR Instructions".
 */
#ifndef HW_FPU_H
#define HW_FPU_H

#include "hw/string.h"

#include <stdint.h>

struct fpu_image {
    uint8_t bytes[512];
} __attribute__((aligned(16)));

#define FPU_CONTROL_AT_START 0x037Fu /* x87: everything masked, 64-bit precision */
#define MXCSR_AT_START       0x1F80u /* SSE: everything masked */

/* As a program finds it when it starts; SDM Vol. 1, "Layout of the FXSAVE Area". */
static inline void fpu_start(struct fpu_image *image)
{
    static const uint16_t control = FPU_CONTROL_AT_START;
    static const uint32_t mxcsr = MXCSR_AT_START;

    memset(image, 0, sizeof(*image));
    memcpy(image->bytes, &control, sizeof(control));
    memcpy(image->bytes + 24, &mxcsr, sizeof(mxcsr));
}

static inline void fpu_save(struct fpu_image *image)
{
    __asm__ volatile("fxsave64 %0" : "=m"(*image));
}

/* The image must come from the two functions above: a reserved MXCSR bit would be #GP. */
static inline void fpu_load(const struct fpu_image *image)
{
    __asm__ volatile("fxrstor64 %0" : : "m"(*image));
}

#endif
