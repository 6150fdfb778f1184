/* SPDX-License-Identifier: BSD-2-Clause */
/* Which transfers are recorded. */
#ifndef HW_MODEL_BTS_RECORD_FILTER_H
#define HW_MODEL_BTS_RECORD_FILTER_H

#include "hw/model/bts/bts.h"

/* Whether the trace is on at all, whatever its filters say. */
bool record_enabled(const struct model_cpu *cpu);

/* Whether the filters by level keep the transfer out. */
bool record_filtered(const struct model_cpu *cpu, const struct transfer *t);

/* Whether nothing that stays within this level is recorded. */
bool record_silent(const struct model_cpu *cpu, unsigned cpl);

#endif
