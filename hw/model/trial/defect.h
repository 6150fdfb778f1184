/* SPDX-License-Identifier: BSD-2-Clause */
/* Rules that the model breaks on purpose when it is told to. */
#ifndef HW_MODEL_TRIAL_DEFECT_H
#define HW_MODEL_TRIAL_DEFECT_H

#include "hw/model/trial/defect_outside.h"
#include "hw/model/trial/defect_perfmon.h"

#include <stdbool.h>

/* identifier, name, clause, description; one line per defect. */
#define DEFECTS(X)                                                                             \
    X(SWAP_FIELDS, "swap-from-to", "REC-01", "from and to change places")                      \
    X(FLAGS_FIRST, "flags-first", "REC-01", "the flags word comes first")                      \
    X(TO_32, "to-32-bit", "REC-06", "upper half of to is lost")                                \
    X(FROM_32, "from-32-bit", "REC-06", "upper half of from is lost")                          \
    X(FROM_END, "from-end", "REC-07", "from is the end of the branch")                         \
    X(FROM_SKIPS_PREFIX, "from-skips-prefix", "REC-07", "from is the opcode after prefixes")   \
    X(INDEX_16, "index-by-16", "BUF-01", "the index advances by 16")                           \
    X(INDEX_48, "index-by-48", "BUF-01", "the index advances by two records")                  \
    X(WRAP_LOSES, "wrap-loses-record", "BUF-02", "the record at a wrap is lost")               \
    X(WRAP_STOPS, "circular-stops", "BUF-02", "a circular buffer stops when full")             \
    X(WRAP_EARLY, "wrap-early", "BUF-02", "the last record's room is never used")              \
    X(PAST_MAX, "past-max", "BUF-05", "one byte is written at the maximum")                    \
    X(PARTIAL_FITS, "partial-fits", "BUF-05", "a record that crosses the maximum is written")  \
    X(BASE_CHANGES, "base-changes", "LAY-07", "the base field follows the index")              \
    X(THRESHOLD_CHANGES, "threshold-changes", "LAY-07", "the threshold is cleared by a PMI")   \
    X(FIELD_ORDER, "field-order", "LAY-01", "maximum and threshold change places")             \
    X(NOT_TAKEN, "not-taken-recorded", "GEN-02", "a Jcc not taken leaves a record")            \
    X(TAKEN_LOST, "jcc-lost", "GEN-01", "a taken Jcc leaves none")                             \
    X(LOOP_LOST, "loop-lost", "GEN-03", "LOOP and JRCXZ leave none")                           \
    X(CALL_LOST, "call-lost", "GEN-03", "CALL leaves none")                                    \
    X(RET_LOST, "ret-lost", "GEN-03", "RET leaves none")                                       \
    X(INDIRECT_LOST, "indirect-lost", "GEN-03", "an indirect JMP leaves none")                 \
    X(FAR_LOST, "far-lost", "GEN-03", "a far JMP, CALL or RET leaves none")                    \
    X(GATE_LOST, "call-gate-lost", "GEN-03", "a CALL through a call gate leaves none")         \
    X(BASE_MISSING, "cs-base-missing", "REC-02", "from and to lack the base of CS")            \
    X(SEGMENTED, "ds-base-added", "MEM-02", "the base of DS moves area and buffer")            \
    X(LAYOUT_BY_CODE, "layout-by-code", "ENUM-05", "32-bit code has the 32-bit layout")        \
    X(DTES64_IGNORED, "dtes64-ignored", "ENUM-05", "32-bit layout outside IA-32e mode")        \
    X(LAYOUT_WIDE, "layout-wide", "LAY-02", "64-bit layout in spite of DTES64 = 0")            \
    X(ORDER_32, "field-order-32", "LAY-02", "32-bit area: maximum and threshold exchanged")    \
    X(BASE_32, "base-32-from-pebs", "LAY-02", "32-bit area: wraps to the base of PEBS")        \
    X(LIMITED, "ds-limit-checked", "MEM-02", "no record where the area is beyond DS's limit")  \
    X(TASK_TRAPS, "task-switch-traps", "BTF-03", "a task switch with TF set traps")            \
    X(RECORD_24, "record-24-in-32", "LAY-02", "32-bit area: the index advances by 24")         \
    X(REAL_LOST, "real-mode-lost", "RST-03", "no records in real mode")                        \
    X(OUTER_RET_LOST, "outer-ret-lost", "GEN-03", "a far RET to an outer ring leaves none")    \
    X(RINGS_12_OS, "rings-1-2-as-os", "CPL-03", "the filters take rings 1 and 2 for ring 0")   \
    X(ZERO_LOST, "zero-branch-lost", "GEN-04", "a branch to the next instruction leaves none") \
    X(TARGET_FALLTHROUGH, "to-fallthrough", "GEN-03", "to is the next instruction")            \
    X(EXCEPTION_LOST, "exception-lost", "GEN-01", "an exception leaves none")                  \
    X(EXCEPTION_NEXT, "exception-from-next", "GEN-06", "from is beyond the faulting byte")     \
    X(INTERRUPT_LOST, "interrupt-lost", "GEN-01", "an external interrupt leaves none")         \
    X(INTERRUPT_FROM, "interrupt-from-handler", "GEN-05", "from is the handler")               \
    X(NMI_LOST, "nmi-lost", "GEN-01", "an NMI leaves none")                                    \
    X(ORDER, "exception-before-branch", "GEN-08", "a stepped branch comes after its trap")     \
    X(FAULT_RECORDED, "faulting-branch-recorded", "GEN-09", "a branch that faults is stored")  \
    X(FETCH_FAULT_ONE, "fetch-fault-branch-lost", "GEN-09",                                    \
      "no record of a branch whose "                                                           \
      "target is not mapped")                                                                  \
    X(REP_RECORDED, "rep-recorded", "GEN-02", "an instruction with REP leaves a record")       \
    X(ONE_IN_4096, "one-in-4096-lost", "GEN-01", "every 4096th record is lost")                \
    X(DUPLICATE, "duplicate", "GEN-20", "every 64th record is stored twice")                   \
    X(RANDOM_LOST, "random-lost", "GEN-21", "one record in 64 is lost, at random")             \
    X(INT_LOST, "int-n-lost", "GEN-11", "INT n leaves none")                                   \
    X(AFTER_SYSRET_LOST, "lost-after-sysret", "GEN-21", "the branch after SYSRET is lost")     \
    X(OFF_SWAPPED, "off-exchanged", "CPL-02", "the two OFF bits change places")                \
    X(OFF_OS_IGNORED, "off-os-ignored", "CPL-02", "BTS_OFF_OS has no effect")                  \
    X(OFF_USR_IGNORED, "off-usr-ignored", "CPL-02", "BTS_OFF_USR has no effect")               \
    X(OFF_USR_LOOP, "off-usr-loop", "CPL-02", "the OFF bits let LOOP through")                 \
    X(TR_IGNORED, "tr-ignored", "CPL-01", "BTS alone stores records")                          \
    X(BTS_IGNORED, "bts-ignored", "BTM-01", "TR alone stores records")                         \
    X(FIRST_LOST, "first-lost", "DCTL-04", "the first branch after enabling is lost")          \
    X(AREA_STALE, "ds-area-stale", "DCTL-06", "the area of the first use is kept")             \
    X(AREA_32, "ds-area-32-bit", "DCTL-06", "upper half of the area's address is lost")        \
    X(RESERVED_ACCEPTED, "reserved-accepted", "DCTL-02", "reserved bits do not fault")         \
    X(RESERVED_MIXED, "reserved-mixed-kept", "DCTL-02",                                        \
      "a reserved bit is taken beside bits that exist")                                        \
    X(FAULT_CODE, "reserved-fault-code", "DCTL-02", "#GP of an MSR access has a code")         \
    X(BITS_LOST, "btint-not-kept", "DCTL-01", "BTINT reads back as 0")                         \
    X(NONCANONICAL, "noncanonical-accepted", "DCTL-07", "any value is taken as the area")      \
    X(NONCANONICAL_KEPT, "noncanonical-kept", "DCTL-07", "the value that faulted stays")       \
    X(MISC_WRITABLE, "misc-enable-writable", "ENUM-03", "read-only bits can be changed")       \
    X(NO_DS, "ds-not-enumerated", "ENUM-01", "CPUID hides the Debug Store")                    \
    X(USER_ONLY, "supervisor-page-lost", "MEM-05",                                             \
      "no store through supervisor pages at CPL 3")                                            \
    X(PAGE_CROSS, "page-cross-lost", "MEM-01", "the part on a second page is lost")            \
    X(STALE_MAP, "stale-mapping", "MEM-11", "the map of the first record is kept for ever")    \
    X(PMI_LATE, "pmi-late", "BUF-08", "the interrupt comes two records late")                  \
    X(PMI_NEVER, "pmi-never", "CPL-01", "no interrupt at all")                                 \
    X(PMI_EVERY_RECORD, "pmi-any-index", "BUF-08", "an interrupt below the threshold")         \
    X(PMI_MASK_CLEAR, "pmi-mask-not-set", "INT-03", "the mask bit stays clear")                \
    X(PMI_MASK_IGNORED, "pmi-mask-ignored", "INT-03", "a masked entry still interrupts")       \
    X(PMI_NO_NMI, "pmi-no-nmi", "INT-02", "no interrupt in NMI mode")                          \
    X(PMI_AS_FIXED, "pmi-nmi-as-fixed", "INT-02", "NMI mode is taken as fixed")                \
    X(PMI_STOPS, "pmi-stops-trace", "INT-08", "the interrupt clears TR")                       \
    X(DB_CLEARS_TR, "db-clears-tr", "LBR-03", "a debug exception clears TR")                   \
    X(BTF_KEPT, "btf-not-cleared", "BTF-02", "a debug exception leaves BTF")                   \
    X(LBR_KEPT, "lbr-not-cleared", "LBR-03", "a debug exception leaves LBR")                   \
    X(BTF_IGNORED, "btf-ignored", "BTF-01", "TF traps every instruction in spite of BTF")      \
    X(BTF_FAR, "block-step-not-far", "BTF-01", "a far transfer does not end a block")          \
    X(CAPABILITIES_WRITABLE, "perf-capabilities-writable", "ENUM-07",                          \
      "IA32_PERF_CAPABILITIES takes what is written")                                          \
    X(FREEZE_MISSING, "freeze-bits-missing", "ENUM-10", "the FREEZE bits do not exist")        \
    X(OFF_NOT_KEPT, "off-not-kept", "ENUM-06", "both OFF bits read back as 0")                 \
    X(LBR_EXCLUDED, "lbr-beside-tr-dropped", "LBR-01", "TR pushes LBR out")                    \
    X(FREEZE_PERFMON_IGNORED, "freeze-perfmon-ignored", "INT-11",                              \
      "counters go on in spite of FREEZE_PERFMON_ON_PMI")                                      \
    X(FREEZE_LBRS_IGNORED, "freeze-lbrs-ignored", "INT-11",                                    \
      "the stack goes on in spite of FREEZE_LBRS_ON_PMI")                                      \
    X(FREEZE_LBRS_COUNTERS, "freeze-lbrs-counters", "INT-11",                                  \
      "FREEZE_LBRS_ON_PMI stops the counters, too")                                            \
    X(FREEZE_LBRS_LATE, "freeze-lbrs-late", "INT-11",                                          \
      "the stack reads as frozen and takes the handler's branches")                            \
    X(FREEZE_UNASKED, "freeze-unasked", "INT-11", "counters freeze without the bit")           \
    X(UNAVAILABLE_CLEAR, "unavailable-clear", "ENUM-02",                                       \
      "BTS_UNAVAILABLE is clear where BTS is not available")                                   \
    X(MSR_ANY_RING, "msr-any-ring", "DCTL-03", "RDMSR and WRMSR do nothing in ring 3")         \
    X(CANONICAL_57, "canonical-57", "DCTL-08", "57-bit addresses where 48 are implemented")    \
    X(UNCACHED_LOST, "uncached-lost", "MEM-07", "no store to uncached memory")                 \
    X(PMI_VECTOR, "pmi-vector", "INT-01", "the interrupt has another vector than the entry")   \
    X(BTF_ORDER, "block-step-before-branch", "BTF-05",                                         \
      "the record of a block step precedes that of its branch")                                \
    X(PEBS_INDEX, "pebs-index-moves", "PEBS-01", "the index of PEBS follows that of BTS")      \
    X(FREEZE_SMM_CLAIMED, "freeze-smm-claimed", "ENUM-08",                                     \
      "FREEZE_WHILE_SMM is announced and does not exist")                                      \
    X(AREA_SHARED, "ds-area-shared", "RST-04", "all processors have one IA32_DS_AREA")         \
    X(SMM_RECORDED, "smm-recorded", "GEN-16", "branches in SMM leave records")                 \
    X(SMM_NEXT_LOST, "smm-next-lost", "GEN-16", "the branch behind RSM leaves none")           \
    X(SMM_FREEZE_IGNORED, "smm-freeze-ignored", "SMM-01", "FREEZE_WHILE_SMM has no effect")    \
    X(SMM_TR_LOST, "smm-tr-lost", "SMM-01", "RSM leaves TR and BTS clear")                     \
    X(SMM_FREEZE_LOST, "smm-freeze-perfmon-lost", "SMM-01", "RSM loses FREEZE_PERFMON_ON_PMI") \
    X(SMM_COUNTS, "smm-counted", "SMM-01", "counters run in SMM in spite of the freeze")       \
    X(SMM_CONTROL_LOST, "smm-global-control-lost", "SMM-01", "RSM leaves the counters off")    \
    X(PEBS_TAKES_BTS, "pebs-takes-bts", "ENUM-11", "without PEBS there is no BTS either")      \
    X(NETBURST_BITS, "netburst-bits-as-later", "DCTL-05", "family 0FH has the later layout")   \
    X(NETBURST_UNMASKED, "netburst-unmasked", "INT-12", "family 0FH leaves the entry open")    \
    X(REPEAT_NEXT, "interrupt-in-repeat-next", "GEN-05",                                       \
      "an interrupt in a REP comes from behind it")                                            \
    X(RETF_IMM_LOST, "far-ret-imm16-lost", "GEN-03",                                           \
      "a far RET with an immediate leaves none")                                               \
    X(PEBS_TAKES_BTINT, "pebs-takes-btint", "ENUM-11", "without PEBS BTINT reads as 0")        \
    X(INDEX_HALF_CACHED, "index-half-cached", "LAY-08",                                        \
      "a moved index is used once, then forgotten")                                            \
    X(AREA_ONE_LATE, "ds-area-one-late", "DCTL-06",                                            \
      "a new area serves from the second record on")                                           \
    X(AREA_ALIGNED, "ds-area-aligned-16", "DCTL-06", "the area's address is cut to 16 bytes")  \
    X(NO_AREA_HALF, "no-area-half-refused", "DCTL-10",                                         \
      "the WRMSR faults, and TR and BTS are set")                                              \
    X(FROM_SECOND_PREFIX, "from-second-prefix", "REC-07",                                      \
      "of two prefixes from skips the first")                                                  \
    X(CAPABILITIES_BIT, "perf-capabilities-one-bit", "ENUM-07",                                \
      "a write that changes bit 6 alone is kept")                                              \
    X(CR2_DEBUG, "debug-clears-cr2", "GEN-06", "a debug exception clears CR2")                 \
    X(SYSRET_NEXT, "sysret-from-next", "GEN-12", "SYSRET comes from behind itself")            \
    X(ES_BASE, "es-base-added", "MEM-02", "the base of ES moves area and buffer")              \
    X(JCC_LONG_LOST, "jcc-forward-far-lost", "GEN-01",                                         \
      "a Jcc of 64 bytes or more forward leaves none")                                         \
    X(DS_CPL_ALONE, "ds-cpl-without-ds", "ENUM-01",                                            \
      "without DS its extensions are enumerated")                                              \
    X(WRAP_32_EARLY, "wrap-32-early", "LAY-02",                                                \
      "32-bit area: wraps where 24 bytes have no room")                                        \
    X(LBR_TOP_READ_ONLY, "lbr-top-read-only", "LBR-04",                                        \
      "the number of the newest pair cannot be written")                                       \
    X(LBR_TOP_MOVES, "lbr-top-without-entry", "LBR-02",                                        \
      "TR moves the top of a stack that stands still")                                         \
    X(NETBURST_MASK_FREE, "netburst-mask-ignored", "INT-12",                                   \
      "family 0FH interrupts though masked")                                                   \
    X(BTINT_ALONE, "btint-without-bts", "ENUM-02",                                             \
      "BTINT can be set where BTS is unavailable")                                             \
    X(INDEX_LINE, "index-skips-line", "BUF-01", "from slot 32 on the index moves by 32")       \
    X(CALL_RIP_LOST, "call-rip-relative-lost", "GEN-03",                                       \
      "CALL through RIP-relative memory leaves none")                                          \
    X(INIT_RECORDS, "init-keeps-bts", "RST-01", "BTS is set after INIT")                       \
    X(INIT_UNMASKED, "init-unmasked", "RST-02", "the performance entry is open after INIT")

enum defect {
#define X(identifier, name, clause, description) DEFECT_##identifier,
    DEFECTS(X) DEFECTS_OUTSIDE(X) DEFECTS_PERFMON(X)
#undef X
        DEFECT_COUNT
};

extern bool defect_values[DEFECT_COUNT];

static inline bool defect(enum defect which)
{
    return defect_values[which];
}

#endif
