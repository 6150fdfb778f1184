/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Performance counters and the registers that make them sample (PEBS).
 *
 * A counter has one number everywhere: its bit in the global control, the global status and
 * IA32_PEBS_ENABLE. General counter N is N, fixed counter N is PMC_FIXED + N. All accesses go
 * through the fault-returning accessor: 0, or the vector of the fault; a counter that has no
 * register at all counts as a fault, 13. State is per processor, and every call acts on the
 * processor that makes it.
 * Source: SDM Vol. 3, "Architectural Performance Monitoring", "Processor Event Based Sampling
 * (PEBS)"; Vol. 4, IA32_PERF_CAPABILITIES.
 */
#ifndef HW_PMC_H
#define HW_PMC_H

#include "hw/cpuid.h"
#include "hw/msr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PMC_GENERAL_MAX 8u /* that have registers side by side */
#define PMC_FIXED_MAX   16u
#define PMC_FIXED       32u /* number of fixed counter 0 */

/*
 * Architectural events: position in CPUID leaf 0AH, EBX. SDM Vol. 3, "Architectural
 * Performance Monitoring", "Pre-defined Architectural Performance Events".
 */
enum pmc_event {
    PMC_CORE_CYCLES,
    PMC_INSTRUCTIONS, /* retired; an interrupted REP counts once */
    PMC_REFERENCE_CYCLES,
    PMC_CACHE_REFERENCES,
    PMC_CACHE_MISSES,
    PMC_BRANCHES, /* retired, taken or not */
    PMC_BRANCH_MISSES,
    PMC_EVENTS,
    /* Of one family each, and nobody enumerates them. */
    PMC_BRANCHES_NEAR_TAKEN = PMC_EVENTS,
    PMC_BRANCHES_FAR,
    PMC_EVENTS_KNOWN,
};

/* Event and unit mask of an event, in their places in IA32_PERFEVTSELx. */
uint64_t pmc_event_select(enum pmc_event event);

/* What this processor has; fill it once with pmc_identify. */
struct pmc {
    struct cpu_perfmon perfmon;
    bool has_capabilities; /* PDCM: IA32_PERF_CAPABILITIES may be read, and was */
    uint64_t capabilities;
    bool full_width; /* IA32_A_PMCx exist */
    bool has_pebs;   /* DS, perfmon, and IA32_MISC_ENABLE does not say unavailable */
    unsigned pebs_format;
    bool pebs_trap;       /* a record's IP is that of the next instruction */
    bool pebs_registers;  /* it holds all architectural registers */
    bool pebs_one_page;   /* a longer buffer hangs the processor */
    bool pebs_first_only; /* general counter 0 alone can sample */
    bool pebs_baseline;   /* every counter can sample; records are adaptive */
};
void pmc_identify(struct pmc *out);

/* Whether leaf 0AH enumerates the counter. */
bool pmc_exists(const struct pmc *pmc, unsigned counter);
/* All counters as bits of the global control. */
uint64_t pmc_all(const struct pmc *pmc);
/* Values of the counter: 2^width - 1. */
uint64_t pmc_mask(const struct pmc *pmc, unsigned counter);

/* --- one counter */

int pmc_read(unsigned counter, uint64_t *value);
/*
 * In full width where it is possible, else bits 31:0 of value are what is written and the
 * processor extends bit 31. To overflow after n events write -n, n <= 2^31 in that case.
 */
int pmc_write(const struct pmc *pmc, unsigned counter, uint64_t value);
/* Through IA32_PMCx whatever else there is; for a fixed counter the same as pmc_write. */
int pmc_write_legacy(unsigned counter, uint64_t value);
/* Through IA32_A_PMCx: general counters alone. */
int pmc_write_full(unsigned counter, uint64_t value);

/* IA32_PERFEVTSELx as a whole: general counters alone. */
int pmc_select_read(unsigned counter, uint64_t *value);
int pmc_select_write(unsigned counter, uint64_t value);

enum pmc_flags {
    PMC_USR = 1 << 0, /* at CPL > 0 */
    PMC_OS = 1 << 1,  /* at CPL 0 */
    PMC_INT = 1 << 2, /* interrupt on overflow */
    PMC_ADAPTIVE =
        1 << 3, /* its record has the groups of MSR_PEBS_DATA_CFG, not the first alone */
    PMC_RINGS = PMC_USR | PMC_OS,
};
/*
 * Sets the counter up and enables it in its own control; the global control stays as it is. A
 * fixed counter has its event by nature: event is not looked at.
 */
int pmc_program(unsigned counter, enum pmc_event event, unsigned flags);
/* Off in its own control. */
int pmc_stop(unsigned counter);

/* --- all counters */

int pmc_fixed_control_read(uint64_t *value);
int pmc_fixed_control_write(uint64_t value);
int pmc_global_control_read(uint64_t *value);
int pmc_global_control_write(uint64_t value);
int pmc_status_read(uint64_t *value);
/* Clears the status bits that are set in value. */
int pmc_status_clear(uint64_t value);

/* --- PEBS */

int pmc_pebs_enable_read(uint64_t *value);
int pmc_pebs_enable_write(uint64_t value);
int pmc_pebs_data_write(uint64_t value);

/*
 * RDPMC: 0, or the vector of the fault. select is the counter's number, bit 30 set and the
 * number of a fixed counter in its place.
 */
int pmc_rdpmc_try(uint32_t select, uint64_t *value);
#define RDPMC_FIXED (1u << 30)

/* --- around a check */

struct pmc_state {
    const struct pmc *pmc;
    bool exists; /* version 2 or above: the rest is filled */
    uint64_t select[PMC_GENERAL_MAX];
    uint64_t fixed_control, global_control, status, pebs_enable, pebs_data;
};
/* Controls and status; what a counter has counted is no state that anybody relies on. */
void pmc_save(const struct pmc *pmc, struct pmc_state *out);
/* Everything off first, then the controls as saved; status bits that were clear are cleared. */
void pmc_restore(const struct pmc_state *state);
/* Name of the first register that differs from the state, with both values; NULL for none. */
const char *pmc_leak(const struct pmc_state *state, uint64_t *before, uint64_t *now);

#endif
