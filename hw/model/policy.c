/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of policies: name, open clause, values, question. */
#include "hw/model/policy.h"

#include "hw/model/model.h"

uint8_t policy_values[POLICY_COUNT];

static const struct model_policy table[POLICY_COUNT] = {
    [POLICY_CROSSING] = {"crossing", "CPL-05", "new|old|both|either",
                         "whose privilege level decides for a record that crosses levels"},
    [POLICY_WRAP] = {"wrap", "BUF-03", "after|before",
                     "the index wraps after the last record or before the next one"},
    [POLICY_FULL] = {"full", "BUF-10", "stop|wrap|overwrite-last",
                     "a full buffer in interrupt mode"},
    [POLICY_INT_N_FROM] = {"int-n-from", "GEN-11", "insn|next", "source of INT n"},
    [POLICY_INT3_FROM] = {"int3-from", "GEN-07", "insn|next", "source of INT3"},
    [POLICY_INT1_FROM] = {"int1-from", "GEN-11", "insn|next", "source of INT1"},
    [POLICY_DB_RECORD] = {"db-record", "GEN-10", "yes|no", "a record for a debug exception"},
    [POLICY_DB_FROM] = {"db-from", "GEN-07", "next|insn", "source of a single-step trap"},
    [POLICY_PMI_WHEN] = {"pmi-when", "BUF-08", "reach|write",
                         "interrupt when the index reaches the threshold, or when the record "
                         "at the threshold is written"},
    [POLICY_PMI_BTINT_OFF] = {"bts-int-off-threshold", "BUF-09", "none|pmi",
                              "threshold inside the buffer while BTINT=0"},
    [POLICY_PMI_REPEAT] = {"repeat-pmi", "BUF-11", "yes|no",
                           "every further record beyond the threshold asks again"},
    [POLICY_PREDICTED_BIT] = {"predicted-bit", "REC-03", "0|1", "bit 4 of the flags"},
    [POLICY_FIELDS_READ] = {"fields-read", "LAY-08", "each-record|at-enable",
                            "when base, maximum and threshold are read"},
    [POLICY_AREA_FAULT] = {"area-fault", "MEM-04", "skip|deliver",
                           "a store to the area or the buffer that faults"},
    [POLICY_ACCESSED_BITS] = {"accessed-bits", "MEM-03", "set|leave|skip-record",
                              "accessed and dirty bits clear in the buffer's mapping"},
    [POLICY_BTS_ABSENT] = {"bts-absent", "ENUM-04", "gp|drop",
                           "setting bits 7 or 8 where stores are unavailable"},
    [POLICY_OFF_ABSENT] = {"off-absent", "ENUM-06", "gp|drop",
                           "setting bits 9 or 10 where they do not exist"},
    [POLICY_BIT_13] = {"bit-13", "DCTL-02", "gp|drop", "setting bit 13"},
    [POLICY_BIT_14] = {"bit-14", "DCTL-02", "gp|drop", "setting bit 14"},
    [POLICY_BIT_15] = {"bit-15", "DCTL-02", "gp|drop", "setting bit 15"},
    [POLICY_FREEZE_ABSENT] = {"freeze-absent", "DCTL-02", "gp|drop",
                              "setting bits 11 or 12 where they do not exist"},
    [POLICY_MISC_ENABLE_WRITE] = {"misc-enable-write", "ENUM-03", "ignore|gp",
                                  "writing the complement of read-only bits"},
    [POLICY_DF_RECORDS] = {"df-records", "GEN-22", "last|each",
                           "records for events whose delivery ends in another"},
    [POLICY_SYSENTER_RECORD] = {"sysenter-record", "GEN-12", "yes|no",
                                "records for SYSENTER and SYSEXIT"},
    [POLICY_UPPER_HALF] = {"upper-half", "REC-05", "zero|ones",
                           "upper halves of from and to outside 64-bit mode"},
    [POLICY_UPPER_FIELDS] = {"upper-fields", "LAY-09", "cut|whole",
                             "upper halves of 64-bit fields outside IA-32e mode"},
    [POLICY_AREA_HIGH] = {"area-high", "DCTL-06", "gp|drop|keep",
                          "bits 63:32 for IA32_DS_AREA outside IA-32e mode"},
    [POLICY_TASK_RECORD] = {"task-record", "GEN-13", "yes|no", "records for task switches"},
    [POLICY_DS_WATCH] = {"buffer-watch", "MEM-13", "none|db",
                         "a data breakpoint on a record's place"},
    [POLICY_REST] = {"rest", "BUF-04", "never-written|always-written",
                     "what is left below the maximum and is less than a record"},
    [POLICY_ONE_RECORD] = {"one-record", "BUF-06", "holds-newest|stores-nothing",
                           "a buffer of less than two records"},
    [POLICY_BELOW_BASE] = {"index-below-base", "BUF-13",
                           "stored-at-index|stored-at-base|stores-nothing",
                           "an index below the base"},
    [POLICY_WRAP_TARGET] = {"wrap-target", "BUF-14", "base|first-index",
                            "where the index goes at the wrap"},
    [POLICY_PARTIAL_RECORD] = {"partial-record", "BUF-15", "none|first-half",
                               "a record of which only the first page can be written"},
    [POLICY_FLAGS_OR] = {"flags-or", "REC-04", "0|60", "bits 5 and 6 of the flags"},
    [POLICY_ODD_AREA] = {"odd-area", "DCTL-09", "works|stores-nothing",
                         "an area that is not aligned to 8"},
    [POLICY_BTF_INT] = {"btf-int", "BTF-04", "next-branch|after-return",
                        "whether INT n counts as the branch of a block step"},
    [POLICY_BTF_CLEARED] = {"btf-cleared-in-shadow", "BTF-06", "trap|none",
                            "a step trap behind the WRMSR that clears BTF"},
    [POLICY_SYSCALL_RECORD] = {"syscall-record", "GEN-12", "yes|no", "a record for SYSCALL"},
    [POLICY_SYSRET_RECORD] = {"sysret-record", "GEN-12", "yes|no", "a record for SYSRET"},
    [POLICY_IRET_RECORD] = {"iret-record", "GEN-12", "yes|no", "a record for IRET"},
    [POLICY_LBR_SELECT] = {"lbr-select", "CPL-06", "lbr-only|bts-too",
                           "what the filter of the last-branch stack filters"},
    [POLICY_LBR_WHILE_TR] = {"lbr-while-tr", "LBR-02", "still|moves",
                             "the last-branch stack with LBR clear and TR set"},
    [POLICY_LBR_STREAM] = {"lbr-stream", "LBR-04", "same|differs",
                           "sources in the last-branch stack against those of the records"},
    [POLICY_LBR_ABSENT] = {"lbr-absent", "DCTL-11", "gp|drop",
                           "setting LBR where there is no such stack"},
    [POLICY_FREEZE_LBRS_TR] = {"freeze-lbrs-tr", "LBR-05", "kept|cleared",
                               "TR beside FREEZE_LBRS_ON_PMI"},
    [POLICY_FREEZE_BY] = {"freeze-by", "INT-11", "control|status",
                          "a freeze clears control bits (version 3) or sets status bits (4)"},
    [POLICY_STATUS_DS_BUFFER] = {"status-ds-buffer", "INT-06", "clear|set",
                                 "the global status after an interrupt of the buffer"},
    [POLICY_NO_AREA] = {"no-area", "DCTL-10", "nothing|fault|gp",
                        "TR and BTS set while IA32_DS_AREA is 0 and nothing lies there"},
    [POLICY_LAST_RECORD] = {"last-record", "MEM-12", "at-once|late",
                            "the last record is seen behind the WRMSR that clears TR, or only "
                            "behind the next serialising instruction"},
    [POLICY_SPACE_END] = {"space-end", "MEM-14", "wraps|stored",
                          "a record whose last byte is the last of the address space"},
    [POLICY_SKID] = {"skid", "INT-09", "none|branch",
                     "branches between the threshold and its interrupt"},
    [POLICY_STORE_COST] = {"store-cost", "BUF-16", "ordinary|heavy",
                           "how long a store holds the program up"},
    [POLICY_AFTER_SMM] = {"after-smm", "GEN-16", "goes-on|stays-off",
                          "the trace behind RSM, when FREEZE_WHILE_SMM is clear"},
    [POLICY_PERF_CAPABILITIES_WRITE] = {"perf-capabilities-write", "ENUM-07", "gp|ignore",
                                        "writing IA32_PERF_CAPABILITIES"},
    [POLICY_PMC_CROSSING] = {"pmc-crossing", "PMC-09", "before|after",
                             "whose privilege level an instruction counts at that crosses"},
    [POLICY_PMC_EVENT] = {"pmc-event", "PMC-10", "none|instruction",
                          "what the delivery of an interrupt or exception counts as"},
    [POLICY_PEBS_TRAP] = {"pebs-trap", "ENUM-08", "trap|fault",
                          "a sampled event is recorded after its instruction or before it"},
    [POLICY_PEBS_RESET_BITS] = {"pebs-reset-bits", "LAY-06", "whole|40",
                                "bits of a reset field that reach the counter"},
    [POLICY_PEBS_FIXED_RESET] = {"pebs-fixed-reset", "LAY-04", "8|32",
                                 "reset fields before those of the fixed counters"},
    [POLICY_PEBS_FULL] = {"pebs-full", "PEBS-08", "skip|retry",
                          "a record without a place disarms, or the next event tries again"},
    [POLICY_PEBS_ARMING] = {"pebs-arming", "PEBS-02", "at-once|later",
                            "events that pass unrecorded between an overflow and its record"},
};

size_t model_policy_count(void)
{
    return POLICY_COUNT;
}

const struct model_policy *model_policy(size_t index)
{
    return index < POLICY_COUNT ? &table[index] : NULL;
}

unsigned model_policy_current(size_t index)
{
    return index < POLICY_COUNT ? policy_values[index] : 0;
}
