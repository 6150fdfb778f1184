/* SPDX-License-Identifier: BSD-2-Clause */
/* The defects of performance counters and of sampling; defect.h takes them into its table. */
#ifndef HW_MODEL_TRIAL_DEFECT_PERFMON_H
#define HW_MODEL_TRIAL_DEFECT_PERFMON_H

/* As DEFECTS in defect.h. */
#define DEFECTS_PERFMON(X)                                                                     \
    X(PMC_COUNT_LIES, "pmc-count-lies", "PMC-01",                                              \
      "leaf 0AH names a counter that is not there")                                            \
    X(PMC_RESERVED, "pmc-reserved-accepted", "PMC-02", "reserved bits are dropped")            \
    X(PMC_NOT_EXTENDED, "pmc-not-extended", "PMC-03", "bit 31 of a 32-bit write stays alone")  \
    X(PMC_FULL_AS_32, "pmc-full-as-32", "PMC-03", "IA32_A_PMCx takes 32 bits")                 \
    X(PMC_WIDTH_40, "pmc-width-40", "PMC-03", "counters hold 40 bits")                         \
    X(PMC_TAKEN_ONLY, "pmc-branches-taken-only", "PMC-04",                                     \
      "branches not taken are missing from all branches")                                      \
    X(PMC_NEAR_ALL, "pmc-near-taken-all", "PMC-04", "near taken branches are also the others") \
    X(PMC_FAULTS, "pmc-faults-counted", "PMC-04", "an instruction that faults counts")         \
    X(PMC_REP_TWICE, "pmc-rep-counted-twice", "PMC-04", "an instruction with REP counts 2")    \
    X(PMC_LONG_RUN, "pmc-long-run", "PMC-04",                                                  \
      "an instruction is lost whenever bit 16 of the count changes")                           \
    X(PMC_RINGS_EXCHANGED, "pmc-rings-exchanged", "PMC-05", "OS and USR change places")        \
    X(PMC_OS_IGNORED, "pmc-os-ignored", "PMC-05", "ring 0 counts without OS")                  \
    X(PMC_OVERFLOW_SILENT, "pmc-overflow-silent", "PMC-06", "an overflow sets no status bit")  \
    X(PMC_STATUS_STICKS, "pmc-status-sticks", "PMC-06", "overflow bits cannot be cleared")     \
    X(PMC_NO_PMI, "pmc-overflow-no-pmi", "PMC-07", "an overflow never interrupts")             \
    X(PMC_PMI_UNASKED, "pmc-pmi-unasked", "PMC-07", "an overflow interrupts without INT")      \
    X(PMC_RDPMC_ANY_RING, "pmc-rdpmc-any-ring", "PMC-08",                                      \
      "RDPMC in ring 3 in spite of CR4.PCE")                                                   \
    X(PMC_RDPMC_FIXED, "pmc-rdpmc-fixed-as-general", "PMC-08", "bit 30 of ECX is ignored")     \
    X(PMC_GLOBAL_IGNORED, "pmc-global-ignored", "PMC-11",                                      \
      "general counters run without the global control")                                       \
    X(PMC_ENABLE_IGNORED, "pmc-enable-ignored", "PMC-11", "general counters run without EN")   \
    X(PMC_CYCLES_GLOBAL, "pmc-cycles-global-ignored", "PMC-11",                                \
      "fixed counters of cycles run without the global control")                               \
    X(PMC_FIXED_BIT, "pmc-fixed-bit-shared", "PMC-06", "fixed counters share one status bit")  \
    X(PMC_UPPER_WIDTH, "pmc-upper-width-cut", "PMC-03",                                        \
      "IA32_A_PMC1 and up drop bits beyond the width")                                         \
    X(PMC_UPPER_RESERVED, "pmc-upper-reserved", "PMC-02",                                      \
      "reserved bits of IA32_PERFEVTSEL1 and up are dropped")                                  \
    X(PEBS_ABSENT_UPPER, "pebs-absent-upper", "ENUM-02",                                       \
      "IA32_PEBS_ENABLE takes bits from 1 on where PEBS is unavailable")                       \
    X(PEBS_FIRST_EVENT, "pebs-first-event", "PEBS-02", "the overflowing event is recorded")    \
    X(PEBS_ANY_RING, "pebs-any-ring", "PEBS-02", "the recorded event may be in any ring")      \
    X(PEBS_RESET_IGNORED, "pebs-reset-ignored", "PEBS-03", "the counter goes on from 0")       \
    X(PEBS_RESET_FIRST, "pebs-reset-first", "LAY-03",                                          \
      "every counter is reloaded from the first reset field")                                  \
    X(PEBS_INDEX_40, "pebs-index-40", "PEBS-04", "the index advances by 40")                   \
    X(PEBS_LATE, "pebs-threshold-late", "PEBS-05", "the interrupt comes one record late")      \
    X(PEBS_EARLY, "pebs-pmi-early", "PEBS-05", "an interrupt below the threshold")             \
    X(PEBS_STATUS_62, "pebs-status-62", "PEBS-05", "the status never names the buffer")        \
    X(PEBS_PAST_MAX, "pebs-past-max", "PEBS-06",                                               \
      "a record that crosses the maximum is written")                                          \
    X(PEBS_FULL_SIGNALS, "pebs-full-signals", "PEBS-06",                                       \
      "a record without a place interrupts")                                                   \
    X(PEBS_IP_OF_INSN, "pebs-ip-of-insn", "PEBS-07", "RIP is that of the sampled instruction") \
    X(PEBS_FLAGS_BEFORE, "pebs-flags-before", "PEBS-07", "RFLAGS are those before it")         \
    X(PEBS_SWAP_GPR, "pebs-swap-gpr", "PEBS-07", "RBX and RCX change places")                  \
    X(PEBS_EVENTING_NEXT, "pebs-eventing-next", "PEBS-07",                                     \
      "the eventing IP is that of the next instruction")                                       \
    X(PEBS_ANY_BIT, "pebs-any-bit", "PEBS-10", "IA32_PEBS_ENABLE takes any bit")               \
    X(PEBS_FORMAT_LIES, "pebs-format-lies", "ENUM-09", "records are of another format")        \
    X(PEBS_GROUPS, "pebs-adaptive-ignored", "ENUM-09",                                         \
      "adaptive records have their groups without the counter's bit")                          \
    X(PEBS_XMM_STALE, "pebs-xmm-stale", "PEBS-07",                                             \
      "the XMM registers of a record are those of the record before it")                       \
    X(PEBS_XMM_SWAP, "pebs-xmm-swap", "PEBS-07", "halves of XMM registers change places")      \
    X(PEBS_LBR_OLDEST, "pebs-lbr-oldest", "PEBS-07", "branches of a record: oldest first")     \
    X(PEBS_ABSENT_ENABLED, "pebs-absent-enabled", "ENUM-02",                                   \
      "IA32_PEBS_ENABLE takes bits where PEBS is unavailable")                                 \
    X(PEBS_AFTER_BTS, "pebs-after-bts", "INT-10", "BTS and its interrupt come before PEBS")    \
    X(PEBS_TOUCHES_BTS, "pebs-touches-bts", "PEBS-01",                                         \
      "the index of BTS follows that of PEBS")                                                 \
    X(PEBS_FREEZE_IGNORED, "pebs-freeze-ignored", "INT-11",                                    \
      "the interrupt of the other buffer freezes nothing")

#endif
