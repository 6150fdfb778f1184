/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a workload may rely on: services, vectors, the data pages. Same as guest/abi.inc, which
 * harness/tests/unit/test_guest_abi.py proves.
 */
#ifndef GUEST_ABI_H
#define GUEST_ABI_H

/* Services, number in eax: SYSCALL and INT 0x80 reach the same ones. */
#define SERVICE_EXIT          0 /* ends the run; rdi = result */
#define SERVICE_NOP           1 /* rax = rdi + 1 */
#define SERVICE_SELF          2 /* VECTOR_TEST is pending on this processor when it returns */
#define SERVICE_NMI           3 /* an NMI is pending when it returns */
#define SERVICE_TIMER         4 /* VECTOR_TIMER fires once after rdi ticks */
#define SERVICE_TIMER_PENDING 5 /* the same, and is pending when it returns */

/* Offsets from rdi. */
#define DATA_ARGUMENT  0x0000 /* the run's argument; from 0x40 on this page is free */
#define DATA_WATCHED   0x0080 /* eight bytes that nothing else uses */
#define DATA_LOADED    0x0008 /* where the guest region lies in the loaded image */
#define DATA_KERNEL    0x0010 /* where the kernel sees it */
#define DATA_LEGACY    0x0020 /* numbers for WRMSR: guest/legacy.asm */
#define DATA_VECTORS   0x0100 /* vectors of real mode */
#define DATA_TASKS     0x0200 /* two TSSs; guest/task.asm */
#define DATA_DEMAND    0x1000 /* not present until a #PF maps it */
#define DATA_READ_ONLY 0x2000 /* read-only until a #PF makes it writable */
#define DATA_NEVER     0x3000 /* never present */
#define DATA_BYTES     0x4000

#endif
