/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses that the kernel would give to edges_resolve; far from anything real. */
#ifndef HARNESS_TESTS_FAKES_GUEST_FAKE_H
#define HARNESS_TESTS_FAKES_GUEST_FAKE_H

#include "hw/trap.h"

#define FAKE_KERNEL 0xFFFFE00000000000ull

uint64_t trap_entry_address(unsigned vector)
{
    return FAKE_KERNEL + vector * 16;
}
uint64_t trap_iretq_address(void)
{
    return FAKE_KERNEL + 0x2000;
}
uint64_t syscall_entry_address(void)
{
    return FAKE_KERNEL + 0x3000;
}
uint64_t syscall_sysret_address(void)
{
    return FAKE_KERNEL + 0x4000;
}

#endif
