/* SPDX-License-Identifier: BSD-2-Clause */
/* The questions that the manual leaves open, and the answer in force for each. */
#ifndef WAYMARK_HW_MODEL_POLICY_H
#define WAYMARK_HW_MODEL_POLICY_H

#include <stdint.h>

enum policy {
    POLICY_CROSSING,
    POLICY_WRAP,
    POLICY_FULL,
    POLICY_INT_N_FROM,
    POLICY_INT3_FROM,
    POLICY_INT1_FROM,
    POLICY_DB_RECORD,
    POLICY_DB_FROM,
    POLICY_PMI_WHEN,
    POLICY_PMI_BTINT_OFF,
    POLICY_PMI_REPEAT,
    POLICY_PREDICTED_BIT,
    POLICY_FIELDS_READ,
    POLICY_AREA_FAULT,
    POLICY_ACCESSED_BITS,
    POLICY_BTS_ABSENT,
    POLICY_OFF_ABSENT,
    POLICY_BIT_13,
    POLICY_BIT_14,
    POLICY_BIT_15,
    POLICY_FREEZE_ABSENT,
    POLICY_MISC_ENABLE_WRITE,
    POLICY_DF_RECORDS,
    POLICY_SYSENTER_RECORD,
    POLICY_UPPER_HALF,
    POLICY_COUNT
};

/* Values, in the order of the table in policy.c; 0 is the default. */
enum { CROSSING_NEW, CROSSING_OLD, CROSSING_BOTH, CROSSING_EITHER };
enum { WRAP_AFTER, WRAP_BEFORE };
enum { FULL_STOP, FULL_WRAP, FULL_OVERWRITE_LAST };
enum { FROM_INSN, FROM_NEXT };
enum { DB_FROM_NEXT, DB_FROM_INSN };
enum { YES, NO };
enum { PMI_REACH, PMI_WRITE };
enum { BTINT_OFF_NONE, BTINT_OFF_PMI };
enum { FIELDS_EACH_RECORD, FIELDS_AT_ENABLE };
enum { AREA_FAULT_SKIP, AREA_FAULT_DELIVER };
enum { ACCESSED_SET, ACCESSED_LEAVE, ACCESSED_SKIP_RECORD };
enum { ABSENT_GP, ABSENT_DROP };
enum { MISC_IGNORE, MISC_GP };
enum { DF_LAST, DF_EACH };
enum { UPPER_ZERO, UPPER_ONES };

extern uint8_t policy_values[POLICY_COUNT];

static inline unsigned policy(enum policy which)
{
    return policy_values[which];
}

#endif
