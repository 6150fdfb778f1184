/* SPDX-License-Identifier: BSD-2-Clause */
/* The registers that decide what a run can find, read once for the record of a machine. */
#ifndef HW_MSR_DUMP_H
#define HW_MSR_DUMP_H

#include <stddef.h>
#include <stdint.h>

struct msr_reading {
    const char *name; /* the manual's */
    uint32_t number;
    int vector; /* 0: value holds what was read; else the exception's vector */
    uint64_t value;
};

#define MSR_READINGS 14

/* Fills all entries; on the taken-over machine, where a fault comes back as its vector. */
void msr_dump(struct msr_reading readings[MSR_READINGS]);

#endif
