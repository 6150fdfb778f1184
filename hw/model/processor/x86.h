/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Architectural numbers the model uses: flags, control registers, MSRs, vectors.
 *
 * Written from the manuals for the model alone; nothing here may come from the headers of
 * the code that the model is there to judge.
 */
#ifndef HW_MODEL_PROCESSOR_X86_H
#define HW_MODEL_PROCESSOR_X86_H

#include <stdint.h>

#define FLAG_CF     0x000001ull
#define FLAG_FIXED  0x000002ull
#define FLAG_PF     0x000004ull
#define FLAG_AF     0x000010ull
#define FLAG_ZF     0x000040ull
#define FLAG_SF     0x000080ull
#define FLAG_TF     0x000100ull
#define FLAG_IF     0x000200ull
#define FLAG_DF     0x000400ull
#define FLAG_OF     0x000800ull
#define FLAG_IOPL   0x003000ull
#define FLAG_NT     0x004000ull
#define FLAG_RF     0x010000ull
#define FLAG_VM     0x020000ull
#define FLAG_AC     0x040000ull
#define FLAG_VIF    0x080000ull
#define FLAG_VIP    0x100000ull
#define FLAG_ID     0x200000ull
#define FLAG_STATUS (FLAG_CF | FLAG_PF | FLAG_AF | FLAG_ZF | FLAG_SF | FLAG_OF)

#define CR0_PE   (1ull << 0)
#define CR0_WP   (1ull << 16)
#define CR0_NW   (1ull << 29)
#define CR0_CD   (1ull << 30)
#define CR0_PG   (1ull << 31)
#define CR4_DE   (1ull << 3)
#define CR4_PSE  (1ull << 4)
#define CR4_PAE  (1ull << 5)
#define CR4_PCE  (1ull << 8)
#define CR4_LA57 (1ull << 12)
#define CR4_SMEP (1ull << 20)
#define CR4_SMAP (1ull << 21)

#define EFER_SCE   (1ull << 0)
#define EFER_LME   (1ull << 8)
#define EFER_LMA   (1ull << 10)
#define EFER_NXE   (1ull << 11)
#define EFER_SVME  (1ull << 12)
#define EFER_LMSLE (1ull << 13)
#define EFER_FFXSR (1ull << 14)
#define EFER_TCE   (1ull << 15)

/* SDM Vol. 4, "Architectural MSRs"; APM Vol. 2, "SVM Related MSRs". */
#define MSR_APIC_BASE         0x0000001Bu
#define MSR_SMI_COUNT         0x00000034u
#define MSR_UPDATE_TRIGGER    0x00000079u /* of microcode: the address of an update */
#define MSR_UPDATE_SIGNATURE  0x0000008Bu /* its revision in 63:32, put there by CPUID */
#define MSR_COUNTER           0x000000C1u /* general counters, 32-bit writes */
#define MSR_EVENT_SELECT      0x00000186u
#define MSR_MISC_ENABLE       0x000001A0u
#define MSR_LBR_SELECT        0x000001C8u
#define MSR_LBR_TOP           0x000001C9u
#define MSR_DEBUGCTL          0x000001D9u
#define MSR_PAT               0x00000277u
#define MSR_FIXED_COUNTER     0x00000309u
#define MSR_PERF_CAPABILITIES 0x00000345u
#define MSR_FIXED_CONTROL     0x0000038Du
#define MSR_PERF_STATUS       0x0000038Eu
#define MSR_PERF_CONTROL      0x0000038Fu
#define MSR_PERF_STATUS_CLEAR 0x00000390u
#define MSR_PERF_STATUS_SET   0x00000391u
#define MSR_PERF_IN_USE       0x00000392u
#define MSR_PEBS_ENABLE       0x000003F1u
#define MSR_PEBS_DATA         0x000003F2u
#define MSR_FULL_COUNTER      0x000004C1u
#define MSR_DS_AREA           0x00000600u
#define MSR_LBR_FROM          0x00000680u
#define MSR_LBR_TO            0x000006C0u
#define MSR_X2APIC            0x00000800u
#define MSR_X2APIC_ICR        0x00000830u
#define MSR_EFER              0xC0000080u
#define MSR_STAR              0xC0000081u
#define MSR_VM_CR             0xC0010114u
#define MSR_VM_HSAVE_PA       0xC0010117u

#define APIC_BASE_X2APIC 0x400u
#define APIC_BASE_ENABLE 0x800u
#define VM_CR_SVMDIS     0x10u

/* SDM Vol. 3, "IA32_DEBUGCTL MSR". */
#define DEBUGCTL_LBR            (1ull << 0)
#define DEBUGCTL_BTF            (1ull << 1)
#define DEBUGCTL_BUS_LOCK       (1ull << 2)
#define DEBUGCTL_TR             (1ull << 6)
#define DEBUGCTL_BTS            (1ull << 7)
#define DEBUGCTL_BTINT          (1ull << 8)
#define DEBUGCTL_OFF_OS         (1ull << 9)
#define DEBUGCTL_OFF_USR        (1ull << 10)
#define DEBUGCTL_FREEZE_LBRS    (1ull << 11)
#define DEBUGCTL_FREEZE_PERFMON (1ull << 12)
#define DEBUGCTL_UNCORE_PMI     (1ull << 13)
#define DEBUGCTL_FREEZE_SMM     (1ull << 14)
#define DEBUGCTL_RTM            (1ull << 15)

/* SDM Vol. 4, IA32_MISC_ENABLE. */
#define MISC_ENABLE_PERFMON          (1ull << 7)
#define MISC_ENABLE_BTS_UNAVAILABLE  (1ull << 11)
#define MISC_ENABLE_PEBS_UNAVAILABLE (1ull << 12)

enum vector {
    VECTOR_DE = 0,
    VECTOR_DB = 1,
    VECTOR_NMI = 2,
    VECTOR_BP = 3,
    VECTOR_OF = 4,
    VECTOR_UD = 6,
    VECTOR_DF = 8,
    VECTOR_TS = 10,
    VECTOR_NP = 11,
    VECTOR_SS = 12,
    VECTOR_GP = 13,
    VECTOR_PF = 14
};

/* Page-fault error code bits (SDM Vol. 3, "Page-Fault Exceptions"). */
enum { PF_PRESENT = 1, PF_WRITE = 2, PF_USER = 4, PF_RESERVED = 8, PF_FETCH = 16 };

#define DR6_FIXED 0xFFFF0FF0ull
#define DR6_BS    0x4000ull
#define DR6_BD    0x2000ull
#define DR7_FIXED 0x400ull

#define RAX 0
#define RCX 1
#define RDX 2
#define RBX 3
#define RSP 4
#define RBP 5
#define RSI 6
#define RDI 7
#define R11 11

#endif
