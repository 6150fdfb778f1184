/* SPDX-License-Identifier: BSD-2-Clause */
/* What the model enumerates: gates that can be closed one by one, and a format to choose. */
#ifndef HW_MODEL_TRIAL_FEATURE_GATE_H
#define HW_MODEL_TRIAL_FEATURE_GATE_H

#include <stdbool.h>
#include <stdint.h>

enum feature_gate {
    GATE_NO_DS,
    GATE_NO_DTES64,
    GATE_NO_DSCPL,
    GATE_NO_BTS,
    GATE_NO_PDCM,       /* IA32_PERF_CAPABILITIES, and PEBS with it */
    GATE_NO_PERFMON,    /* architectural performance monitoring */
    GATE_NO_LBR,        /* the last-branch stack; no CPUID bit tells */
    GATE_NO_FREEZE_SMM, /* FREEZE_WHILE_SMM */
    GATE_NETBURST,      /* closes what later families have: control bits as in family 0FH */
    GATE_COUNT
};

extern bool gate_closed[GATE_COUNT];

/* The last-branch stack: asked by what reads it and by the records that copy it. */
static inline bool branch_stack_exists(void)
{
    return !gate_closed[GATE_NO_LBR];
}

/* Code of the format of PEBS records, 0 to 4; or there are none. */
enum { PEBS_FORMAT_DEFAULT = 3, PEBS_FORMAT_OFF = 5 };
extern uint8_t pebs_format;

#endif
