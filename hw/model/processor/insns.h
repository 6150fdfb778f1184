/* SPDX-License-Identifier: BSD-2-Clause */
/* Privileged instructions of the host, one inline function each. */
#ifndef HW_MODEL_PROCESSOR_INSNS_H
#define HW_MODEL_PROCESSOR_INSNS_H

#include "hw/model/processor/cpu.h"

static inline uint64_t read_msr(uint32_t index)
{
    uint32_t low, high;
    __asm__ volatile("rdmsr" : "=a"(low), "=d"(high) : "c"(index));
    return (uint64_t)high << 32 | low;
}

static inline void write_msr(uint32_t index, uint64_t value)
{
    __asm__ volatile("wrmsr"
                     :
                     : "c"(index), "a"((uint32_t)value), "d"((uint32_t)(value >> 32))
                     : "memory");
}

struct cpuid_result {
    uint32_t eax, ebx, ecx, edx;
};

static inline struct cpuid_result cpuid(uint32_t leaf, uint32_t subleaf)
{
    struct cpuid_result r;
    __asm__ volatile("cpuid"
                     : "=a"(r.eax), "=b"(r.ebx), "=c"(r.ecx), "=d"(r.edx)
                     : "a"(leaf), "c"(subleaf));
    return r;
}

#define CONTROL_REGISTER(name)                                                                 \
    static inline uint64_t read_##name(void)                                                   \
    {                                                                                          \
        uint64_t value;                                                                        \
        __asm__ volatile("mov %%" #name ", %0" : "=r"(value));                                 \
        return value;                                                                          \
    }                                                                                          \
    static inline void write_##name(uint64_t value)                                            \
    {                                                                                          \
        __asm__ volatile("mov %0, %%" #name : : "r"(value) : "memory");                        \
    }
CONTROL_REGISTER(cr0)
CONTROL_REGISTER(cr2)
CONTROL_REGISTER(cr3)
CONTROL_REGISTER(cr4)
CONTROL_REGISTER(dr0)
CONTROL_REGISTER(dr1)
CONTROL_REGISTER(dr2)
CONTROL_REGISTER(dr3)
CONTROL_REGISTER(dr6)
CONTROL_REGISTER(dr7)

static inline uint16_t read_selector_cs(void)
{
    uint16_t value;
    __asm__ volatile("mov %%cs, %0" : "=r"(value));
    return value;
}

static inline uint16_t read_selector_ss(void)
{
    uint16_t value;
    __asm__ volatile("mov %%ss, %0" : "=r"(value));
    return value;
}

static inline uint16_t read_selector_ds(void)
{
    uint16_t value;
    __asm__ volatile("mov %%ds, %0" : "=r"(value));
    return value;
}

static inline uint16_t read_selector_es(void)
{
    uint16_t value;
    __asm__ volatile("mov %%es, %0" : "=r"(value));
    return value;
}

static inline void port_write(uint16_t port, uint8_t value)
{
    __asm__ volatile("outb %0, %1" : : "a"(value), "Nd"(port));
}

static inline uint8_t port_read(uint16_t port)
{
    uint8_t value;
    __asm__ volatile("inb %1, %0" : "=a"(value) : "Nd"(port));
    return value;
}

#endif
