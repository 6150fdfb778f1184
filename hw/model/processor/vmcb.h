/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The virtual machine control block, and the codes in it.
 *
 * Source: APM Vol. 2, "Layout of VMCB", "SVM Intercept Exit Codes".
 */
#ifndef HW_MODEL_PROCESSOR_VMCB_H
#define HW_MODEL_PROCESSOR_VMCB_H

#include <stddef.h>
#include <stdint.h>

struct vmcb_segment {
    uint16_t selector;
    uint16_t attributes; /* SEGMENT_... below: descriptor bits 40-47 and 52-55 packed */
    uint32_t limit;
    uint64_t base;
};

enum {
    SEGMENT_TYPE = 0x00F,
    SEGMENT_TYPE_WRITE = 0x002, /* data: writable; code: readable */
    SEGMENT_TYPE_CONFORM = 0x004,
    SEGMENT_TYPE_CODE = 0x008,
    SEGMENT_NOT_SYSTEM = 0x010,
    SEGMENT_DPL_SHIFT = 5,
    SEGMENT_PRESENT = 0x080,
    SEGMENT_LONG = 0x200,
    SEGMENT_BIG = 0x400,
    SEGMENT_GRANULAR = 0x800
};

struct vmcb_control {
    uint16_t cr_read, cr_write;
    uint16_t dr_read, dr_write;
    uint32_t exceptions;
    uint32_t intercept1; /* INTERCEPT1_... */
    uint32_t intercept2; /* INTERCEPT2_... */
    uint8_t reserved1[0x3C - 0x14];
    uint16_t pause_threshold, pause_count;
    uint64_t io_map, msr_map;
    uint64_t tsc_offset;
    uint32_t asid;
    uint8_t tlb_control; /* 1 = flush everything on entry */
    uint8_t reserved2[3];
    uint64_t interrupt_control;
    uint64_t interrupt_state; /* bit 0: in the shadow of STI or MOV SS */
    uint64_t exit_code, exit_info1, exit_info2, exit_interrupt;
    uint64_t nested_paging;
    uint8_t reserved3[0xA8 - 0x98];
    uint64_t event;
    uint64_t nested_cr3, lbr_control, clean_bits, next_rip;
    uint8_t reserved4[0x400 - 0xD0];
};

struct vmcb_save {
    struct vmcb_segment es, cs, ss, ds, fs, gs, gdtr, ldtr, idtr, tr;
    uint8_t reserved1[0xCB - 0xA0];
    uint8_t cpl;
    uint32_t reserved2;
    uint64_t efer;
    uint8_t reserved3[0x148 - 0xD8];
    uint64_t cr4, cr3, cr0, dr7, dr6, rflags, rip;
    uint8_t reserved4[0x1D8 - 0x180];
    uint64_t rsp;
    uint8_t reserved5[0x1F8 - 0x1E0];
    uint64_t rax, star, lstar, cstar, sfmask, kernel_gs_base;
    uint64_t sysenter_cs, sysenter_esp, sysenter_eip, cr2;
    uint8_t reserved6[0x268 - 0x248];
    uint64_t pat;
    uint8_t reserved7[0xC00 - 0x270];
};

struct vmcb {
    struct vmcb_control control;
    struct vmcb_save save;
};

_Static_assert(offsetof(struct vmcb_control, io_map) == 0x40, "VMCB control area");
_Static_assert(offsetof(struct vmcb_control, asid) == 0x58, "VMCB control area");
_Static_assert(offsetof(struct vmcb_control, exit_code) == 0x70, "VMCB control area");
_Static_assert(offsetof(struct vmcb_control, event) == 0xA8, "VMCB control area");
_Static_assert(offsetof(struct vmcb, save) == 0x400, "VMCB save area");
_Static_assert(offsetof(struct vmcb_save, tr) == 0x90, "VMCB save area");
_Static_assert(offsetof(struct vmcb_save, efer) == 0xD0, "VMCB save area");
_Static_assert(offsetof(struct vmcb_save, cr4) == 0x148, "VMCB save area");
_Static_assert(offsetof(struct vmcb_save, rip) == 0x178, "VMCB save area");
_Static_assert(offsetof(struct vmcb_save, rsp) == 0x1D8, "VMCB save area");
_Static_assert(offsetof(struct vmcb_save, rax) == 0x1F8, "VMCB save area");
_Static_assert(offsetof(struct vmcb_save, cr2) == 0x240, "VMCB save area");
_Static_assert(sizeof(struct vmcb) == 4096, "VMCB is one page");

enum {
    INTERCEPT1_INTR = 1 << 0,
    INTERCEPT1_NMI = 1 << 1,
    INTERCEPT1_RDPMC = 1 << 15,
    INTERCEPT1_CPUID = 1 << 18,
    INTERCEPT1_IRET = 1 << 20,
    INTERCEPT1_INTN = 1 << 21,
    INTERCEPT1_HLT = 1 << 24,
    INTERCEPT1_IO = 1 << 27,
    INTERCEPT1_MSR = 1 << 28
};
enum {
    INTERCEPT2_VMRUN = 1 << 0,
    INTERCEPT2_VMMCALL = 1 << 1,
    INTERCEPT2_VMLOAD = 1 << 2,
    INTERCEPT2_VMSAVE = 1 << 3,
    INTERCEPT2_STGI = 1 << 4,
    INTERCEPT2_CLGI = 1 << 5,
    INTERCEPT2_SKINIT = 1 << 6
};

/* VMRUN found a state that it does not enter; an emulator writes 32 bits of it. */
#define EXIT_INVALID    (~0ull)
#define EXIT_INVALID_32 0xFFFFFFFFull
enum exit_code {
    EXIT_DR_READ = 0x20,
    EXIT_DR_WRITE = 0x30,
    EXIT_EXCEPTION = 0x40,
    EXIT_INTR = 0x60,
    EXIT_NMI = 0x61,
    EXIT_RDPMC = 0x6F,
    EXIT_CPUID = 0x72,
    EXIT_IRET = 0x74,
    EXIT_INTN = 0x75,
    EXIT_HLT = 0x78,
    EXIT_IO = 0x7B,
    EXIT_MSR = 0x7C,
    EXIT_SHUTDOWN = 0x7F,
    EXIT_VMRUN = 0x80,
    EXIT_VMMCALL = 0x81,
    EXIT_SKINIT = 0x86,
    EXIT_NESTED = 0x400 /* nested page fault */
};

enum { EVENT_EXCEPTION = 3 << 8, EVENT_ERROR_CODE = 1 << 11 };
#define EVENT_VALID (1u << 31)

#endif
