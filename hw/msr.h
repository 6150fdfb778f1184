/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Model-specific registers: numbers, the bits directly beneath, and the accessors.
 * The only place above hw/model/ that knows an MSR number.
 * Source: SDM Vol. 4, "Architectural MSRs"; Vol. 3, "IA32_DEBUGCTL MSR", "Architectural
 * Performance Monitoring", "Processor Event Based Sampling (PEBS)".
 */
#ifndef HW_MSR_H
#define HW_MSR_H

#include <stdint.h>

#define MSR_IA32_TIME_STAMP_COUNTER 0x010u

#define MSR_IA32_PLATFORM_ID 0x017u

#define MSR_IA32_APIC_BASE 0x01Bu
#define APIC_BASE_BSP      (1ull << 8)  /* this processor booted the machine */
#define APIC_BASE_EXTD     (1ull << 10) /* x2APIC mode */
#define APIC_BASE_EN       (1ull << 11) /* local APIC globally enabled */
#define APIC_BASE_ADDRESS  0x000FFFFFFFFFF000ull

#define MSR_SMI_COUNT              0x034u
#define MSR_IA32_FEATURE_CONTROL   0x03Au
#define MSR_IA32_BIOS_SIGN_ID      0x08Bu /* microcode revision in 63:32 after CPUID leaf 1 */
#define MSR_IA32_ARCH_CAPABILITIES 0x10Au
#define MSR_IA32_SYSENTER_CS       0x174u
#define MSR_IA32_SYSENTER_ESP      0x175u
#define MSR_IA32_SYSENTER_EIP      0x176u

#define MSR_IA32_MISC_ENABLE         0x1A0u
#define MISC_ENABLE_PERFMON          (1ull << 7)  /* performance monitoring available, RO */
#define MISC_ENABLE_BTS_UNAVAILABLE  (1ull << 11) /* RO */
#define MISC_ENABLE_PEBS_UNAVAILABLE (1ull << 12) /* RO */

#define MSR_LBR_SELECT     0x1C8u /* a set bit leaves a kind of branch out of the LBR stack */
#define LBR_SELECT_CPL_0   (1ull << 0)
#define LBR_SELECT_CPL_123 (1ull << 1)
#define LBR_SELECT_JCC     (1ull << 2)
#define MSR_LASTBRANCH_TOS 0x1C9u /* number of the newest entry of the LBR stack */

#define MSR_IA32_DEBUGCTL              0x1D9u
#define DEBUGCTL_LBR                   (1ull << 0)
#define DEBUGCTL_BTF                   (1ull << 1)  /* single-step on branches */
#define DEBUGCTL_BUS_LOCK_DETECT       (1ull << 2)  /* reserved unless enumerated */
#define DEBUGCTL_TR                    (1ull << 6)  /* branch trace messages or store */
#define DEBUGCTL_BTS                   (1ull << 7)  /* store to the BTS buffer */
#define DEBUGCTL_BTINT                 (1ull << 8)  /* interrupt at the threshold */
#define DEBUGCTL_BTS_OFF_OS            (1ull << 9)  /* do not store at CPL 0 */
#define DEBUGCTL_BTS_OFF_USR           (1ull << 10) /* do not store at CPL > 0 */
#define DEBUGCTL_FREEZE_LBRS_ON_PMI    (1ull << 11)
#define DEBUGCTL_FREEZE_PERFMON_ON_PMI (1ull << 12)
#define DEBUGCTL_UNCORE_PMI            (1ull << 13)
#define DEBUGCTL_FREEZE_WHILE_SMM      (1ull << 14)
#define DEBUGCTL_RTM_DEBUG             (1ull << 15)

/*
 * MSR_DEBUGCTLA: the same register in family 0FH. SDM Vol. 3, "Last Branch, Interrupt, and
 * Exception Recording (Processors based on Intel NetBurst Microarchitecture)".
 */
#define DEBUGCTLA_TR          (1ull << 2)
#define DEBUGCTLA_BTS         (1ull << 3)
#define DEBUGCTLA_BTINT       (1ull << 4)
#define DEBUGCTLA_BTS_OFF_OS  (1ull << 5)
#define DEBUGCTLA_BTS_OFF_USR (1ull << 6)

#define MSR_IA32_PAT               0x277u /* eight types, one a byte */
#define PAT_UC                     0x00u
#define PAT_WC                     0x01u
#define PAT_WT                     0x04u
#define PAT_WB                     0x06u
#define PAT_UC_MINUS               0x07u
#define MSR_IA32_PERF_CAPABILITIES 0x345u
#define PERF_CAP_LBR_FORMAT        0x3Full
#define PERF_CAP_LBR_FORMAT_LAST   8u          /* of those that the manual lists; 3FH: none */
#define PERF_CAP_PEBS_TRAP         (1ull << 6) /* the record's IP is the next instruction */
#define PERF_CAP_PEBS_REGISTERS    (1ull << 7) /* all architectural registers are saved */
#define PERF_CAP_PEBS_FORMAT_SHIFT 8u          /* 11:8, record format */
#define PERF_CAP_PEBS_FORMAT_MASK  0xFull
#define PERF_CAP_FREEZE_SMM        (1ull << 12) /* FREEZE_WHILE_SMM can be set */
#define PERF_CAP_FULL_WIDTH        (1ull << 13) /* IA32_A_PMCx exist */
#define PERF_CAP_PEBS_BASELINE     (1ull << 14) /* every counter, MSR_PEBS_DATA_CFG */

/* General counter N; the number of them is CPUID's to say. 8 have registers side by side. */
#define MSR_IA32_PMC0        0x0C1u /* writes take 31:0, sign-extended */
#define MSR_IA32_A_PMC0      0x4C1u /* the same counter, written in full width */
#define MSR_IA32_PERFEVTSEL0 0x186u
#define PERFEVTSEL_EVENT     0xFFull
#define PERFEVTSEL_UMASK     0xFF00ull
#define PERFEVTSEL_USR       (1ull << 16) /* counts at CPL > 0 */
#define PERFEVTSEL_OS        (1ull << 17) /* counts at CPL 0 */
#define PERFEVTSEL_EDGE      (1ull << 18)
#define PERFEVTSEL_PC        (1ull << 19) /* pin control */
#define PERFEVTSEL_INT       (1ull << 20) /* interrupt on overflow */
#define PERFEVTSEL_ANY       (1ull << 21) /* any thread of the core */
#define PERFEVTSEL_EN        (1ull << 22)
#define PERFEVTSEL_INV       (1ull << 23)
#define PERFEVTSEL_CMASK     0xFF000000ull
#define PERFEVTSEL_ADAPTIVE  (1ull << 34) /* adaptive PEBS record, with the baseline bit */

#define MSR_IA32_FIXED_CTR0           0x309u /* instructions retired */
#define MSR_IA32_FIXED_CTR_CTRL       0x38Du /* four bits a counter, FIXED_CTR_* in each */
#define FIXED_CTR_OS                  1ull
#define FIXED_CTR_USR                 2ull
#define FIXED_CTR_ANY                 4ull
#define FIXED_CTR_INT                 8ull         /* interrupt on overflow */
#define FIXED_CTR_ADAPTIVE            (1ull << 32) /* adaptive PEBS record */
#define FIXED_CTR0_ALL_RINGS          3ull
#define MSR_IA32_PERF_GLOBAL_STATUS   0x38Eu /* bit N: counter N, bit 32 + N: fixed counter N */
#define GLOBAL_STATUS_LBR_FRZ         (1ull << 58)
#define GLOBAL_STATUS_CTR_FRZ         (1ull << 59)
#define GLOBAL_STATUS_OVF_BUFFER      (1ull << 62) /* the DS buffer overflowed */
#define GLOBAL_STATUS_COND_CHANGED    (1ull << 63)
#define MSR_IA32_PERF_GLOBAL_CTRL     0x38Fu
#define GLOBAL_CTRL_FIXED_CTR0        (1ull << 32)
#define MSR_IA32_PERF_GLOBAL_OVF_CTRL 0x390u /* writing 1 clears a status bit */
#define MSR_IA32_PEBS_ENABLE          0x3F1u /* bit N: counter N writes records */
#define MSR_PEBS_DATA_CFG             0x3F2u /* groups of an adaptive record */
#define PEBS_DATA_MEMORY              (1ull << 0)
#define PEBS_DATA_GPR                 (1ull << 1)
#define PEBS_DATA_XMM                 (1ull << 2)
#define PEBS_DATA_LBR                 (1ull << 3)

#define MSR_IA32_DS_AREA         0x600u
#define MSR_IA32_PKRS            0x6E1u /* 63:32 reserved; absent on most processors */
#define MSR_LASTBRANCH_0_FROM_IP 0x680u /* one register an entry, from Nehalem on */
#define MSR_LASTBRANCH_0_TO_IP   0x6C0u
#define MSR_X2APIC_BASE          0x800u /* register at MMIO offset N is MSR 800H + N/16 */

#define MSR_IA32_EFER 0xC0000080u
#define EFER_SCE      (1ull << 0)
#define EFER_LME      (1ull << 8)
#define EFER_LMA      (1ull << 10)
#define EFER_NXE      (1ull << 11)
#define EFER_SVME     (1ull << 12)

#define MSR_IA32_STAR           0xC0000081u
#define MSR_IA32_LSTAR          0xC0000082u
#define MSR_IA32_CSTAR          0xC0000083u
#define MSR_IA32_FMASK          0xC0000084u
#define MSR_IA32_FS_BASE        0xC0000100u
#define MSR_IA32_GS_BASE        0xC0000101u
#define MSR_IA32_KERNEL_GS_BASE 0xC0000102u

/* Inside 40000000H..400000FFH, which no processor implements. */
#define MSR_NEVER_IMPLEMENTED 0x400000F0u

/* Plain forms: only where the manual guarantees that the access cannot fault. */
static inline uint64_t msr_read(uint32_t msr);
static inline void msr_write(uint32_t msr, uint64_t value);

/*
 * Fault-returning forms: 0 on success, else the vector of the exception (13 = #GP).
 * A failed read leaves *value alone. Usable at any IF state, also inside handlers.
 */
int msr_read_try(uint32_t msr, uint64_t *value);
int msr_write_try(uint32_t msr, uint64_t value);
/* The same; *error becomes the exception's error code, and is left alone when none comes. */
int msr_write_error(uint32_t msr, uint64_t value, uint32_t *error);

#ifdef WAYMARK_HOST
uint64_t fake_msr_read(uint32_t msr);
void fake_msr_write(uint32_t msr, uint64_t value);
static inline uint64_t msr_read(uint32_t msr)
{
    return fake_msr_read(msr);
}
static inline void msr_write(uint32_t msr, uint64_t value)
{
    fake_msr_write(msr, value);
}
#else
static inline uint64_t msr_read(uint32_t msr)
{
    uint32_t low, high;

    __asm__ volatile("rdmsr" : "=a"(low), "=d"(high) : "c"(msr) : "memory");
    return (uint64_t)high << 32 | low;
}
static inline void msr_write(uint32_t msr, uint64_t value)
{
    __asm__ volatile("wrmsr"
                     :
                     : "c"(msr), "a"((uint32_t)value), "d"((uint32_t)(value >> 32))
                     : "memory");
}
#endif

#endif
