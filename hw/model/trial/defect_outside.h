/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Breaks of the trace that came from people outside the suite, each of which once went unseen:
 * kept, so that it is seen from now on. defect.h takes them into its table.
 */
#ifndef HW_MODEL_TRIAL_DEFECT_OUTSIDE_H
#define HW_MODEL_TRIAL_DEFECT_OUTSIDE_H

#define DEFECTS_OUTSIDE(X)                                                                     \
    X(WRAP_DRIFTS, "wrap-keeps-remainder", "BUF-02",                                           \
      "the wrap goes to the base plus what no record fits into")                               \
    X(WATCH_CLEARS_TR, "watchpoint-clears-tr", "LBR-03",                                       \
      "the debug exception of a data breakpoint clears TR")                                    \
    X(RESERVED_BESIDE_BTS, "reserved-beside-bts", "DCTL-02",                                   \
      "a reserved bit beside BTS alone is dropped")                                            \
    X(RESERVED_BESIDE_BTINT, "reserved-beside-btint", "DCTL-02",                               \
      "a reserved bit beside BTINT alone is dropped")                                          \
    X(RESERVED_BESIDE_TR, "reserved-beside-tr", "DCTL-02",                                     \
      "a reserved bit beside TR is dropped")                                                   \
    X(RESERVED_BESIDE_FREEZE, "reserved-beside-freeze", "DCTL-02",                             \
      "a reserved bit beside one FREEZE bit is dropped")                                       \
    X(AREA_HELD, "ds-area-held-while-on", "DCTL-06",                                           \
      "an area that is written while tracing is on serves from the next start only")           \
    X(VECTOR_CLOBBERED, "record-clobbers-xmm7", "GEN-01", "each record clears XMM7")           \
    X(MXCSR_CLOBBERED, "record-clobbers-mxcsr", "GEN-01", "each record resets MXCSR")          \
    X(TABLES_ONE_LATE, "cr3-one-late", "MEM-11",                                               \
      "the first record behind MOV to CR3 goes through the tables before it")                  \
    X(BTF_CPUID, "cpuid-clears-btf", "BTF-01", "CPUID clears BTF")                             \
    X(X87_CLOBBERED, "record-clobbers-x87-control", "GEN-01",                                  \
      "each record resets the x87 control word")

#endif
