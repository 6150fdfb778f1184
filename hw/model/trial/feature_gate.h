/* SPDX-License-Identifier: BSD-2-Clause */
/* What the model enumerates: gates that can be closed one by one. */
#ifndef HW_MODEL_TRIAL_FEATURE_GATE_H
#define HW_MODEL_TRIAL_FEATURE_GATE_H

#include <stdbool.h>

enum gate {
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

#endif
