/* SPDX-License-Identifier: BSD-2-Clause */
/* Control, debug and flags registers, and a few plain instructions. */
#ifndef HW_REGS_H
#define HW_REGS_H

#include <stdint.h>

#define RFLAGS_CF    (1ull << 0)
#define RFLAGS_FIXED (1ull << 1)
#define RFLAGS_PF    (1ull << 2)
#define RFLAGS_AF    (1ull << 4)
#define RFLAGS_ZF    (1ull << 6)
#define RFLAGS_SF    (1ull << 7)
#define RFLAGS_TF    (1ull << 8)
#define RFLAGS_IF    (1ull << 9)
#define RFLAGS_DF    (1ull << 10)
#define RFLAGS_OF    (1ull << 11)
#define RFLAGS_IOPL  (3ull << 12)
#define RFLAGS_NT    (1ull << 14)
#define RFLAGS_RF    (1ull << 16)
#define RFLAGS_AC    (1ull << 18)

#define CR0_MP (1ull << 1)
#define CR0_EM (1ull << 2)
#define CR0_TS (1ull << 3)
#define CR0_NE (1ull << 5)
#define CR0_WP (1ull << 16)
#define CR0_AM (1ull << 18)

#define CR4_TSD        (1ull << 2)
#define CR4_DE         (1ull << 3)
#define CR4_PAE        (1ull << 5)
#define CR4_MCE        (1ull << 6)
#define CR4_PGE        (1ull << 7)
#define CR4_PCE        (1ull << 8) /* RDPMC in every ring */
#define CR4_OSFXSR     (1ull << 9)
#define CR4_OSXMMEXCPT (1ull << 10)
#define CR4_LA57       (1ull << 12)
#define CR4_PCIDE      (1ull << 17)
#define CR4_OSXSAVE    (1ull << 18)
#define CR4_SMEP       (1ull << 20)
#define CR4_SMAP       (1ull << 21)

#define DR6_B0    (1ull << 0) /* the condition of DR0 was met */
#define DR6_BD    (1ull << 13)
#define DR6_BS    (1ull << 14) /* single step */
#define DR7_FIXED 0x400ull
#define DR7_G0    (1ull << 1)  /* DR0 on, whatever the task */
#define DR7_GD    (1ull << 13) /* #DB for every access to a debug register */
/* What DR0 waits for. */
#define DR7_EXECUTE_0 0ull
#define DR7_WRITE_8_0 (1ull << 16 | 2ull << 18) /* eight bytes, aligned */

#ifndef WAYMARK_HOST
#define REG_ACCESSORS(name)                                                                    \
    static inline uint64_t name##_read(void)                                                   \
    {                                                                                          \
        uint64_t value;                                                                        \
        __asm__ volatile("mov %%" #name ", %0" : "=r"(value) : : "memory");                    \
        return value;                                                                          \
    }                                                                                          \
    static inline void name##_write(uint64_t value)                                            \
    {                                                                                          \
        __asm__ volatile("mov %0, %%" #name : : "r"(value) : "memory");                        \
    }
REG_ACCESSORS(cr0)
REG_ACCESSORS(cr2)
REG_ACCESSORS(cr3)
REG_ACCESSORS(cr4)
REG_ACCESSORS(dr0)
REG_ACCESSORS(dr1)
REG_ACCESSORS(dr2)
REG_ACCESSORS(dr3)
REG_ACCESSORS(dr6)
REG_ACCESSORS(dr7)

static inline uint64_t rflags_read(void)
{
    uint64_t flags;

    __asm__ volatile("pushfq\n\tpopq %0" : "=r"(flags) : : "memory");
    return flags;
}
static inline uint64_t tsc_read(void)
{
    uint32_t low, high;

    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}
/* Writes back and empties all caches; CPL 0. */
static inline void cache_flush(void)
{
    __asm__ volatile("wbinvd" : : : "memory");
}
static inline void cpu_pause(void)
{
    __asm__ volatile("pause");
}
static inline void io_out8(uint16_t port, uint8_t value)
{
    __asm__ volatile("outb %0, %1" : : "a"(value), "Nd"(port));
}
static inline uint8_t io_in8(uint16_t port)
{
    uint8_t value;

    __asm__ volatile("inb %1, %0" : "=a"(value) : "Nd"(port));
    return value;
}
#endif

#endif
