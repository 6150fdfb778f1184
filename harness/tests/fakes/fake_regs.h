/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A processor for host tests of ds/: the registers behind hw/'s accessors, an engine that
 * stores branches, and a local APIC entry that interrupts. Written from the manual with its own
 * offsets and bits; it includes nothing of ds/, so that a wrong offset there shows here.
 */
#ifndef HARNESS_TESTS_FAKES_FAKE_REGS_H
#define HARNESS_TESTS_FAKES_FAKE_REGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Exceptional pages: any byte outside all of them is mapped, writable, supervisor, dirty. */
struct fake_page {
    uint64_t cr3; /* 0 = under any */
    uint64_t first, bytes;
    unsigned flags;       /* enum page_flags; 0 = not mapped */
    bool dirty_if_backed; /* accessed and dirty once the host's page was written to */
    uint64_t phys;        /* of the first byte; 0 = identity */
};

enum fake_point { FAKE_BEFORE_WRITE, FAKE_AFTER_WRITE, FAKE_READ, FAKE_IRQ, FAKE_APIC };

/* The registers of one processor's counters. */
#define FAKE_COUNTERS                                                                          \
    struct {                                                                                   \
        uint64_t selects[8], counters[64], fixed_control, global_control, status;              \
        uint64_t pebs_enable, pebs_data;                                                       \
    }

struct fake_machine {
    /* Enumeration. */
    bool ds, dtes64, ds_cpl;
    unsigned linear_bits;

    /* Counters and PEBS; version 0: none of their registers exist. */
    unsigned perfmon_version, general, fixed, counter_bits;
    bool pdcm;
    uint64_t capabilities; /* IA32_PERF_CAPABILITIES */

    /* Registers. */
    FAKE_COUNTERS;
    uint64_t debugctl, ds_area, misc_enable, apic_base, cr3;
    uint32_t lvt;
    bool interrupts; /* RFLAGS.IF */
    unsigned cpu;
    uint64_t debugctls[4], ds_areas[4]; /* of the processors that are not at work now */
    uint32_t lvts[4];
    FAKE_COUNTERS counting[4];
    unsigned deaf; /* bit per processor that answers no cross-call */

    /* How it misbehaves. */
    uint64_t debugctl_faults; /* bits whose setting gives #GP, beside the reserved ones */
    uint64_t debugctl_drops;  /* bits silently lost */
    bool no_debugctl, no_misc_enable, no_ds_area, ds_area_drops;
    uint32_t lvt_drops;
    uint64_t global_faults, pebs_faults; /* bits of these two whose setting gives #GP */
    uint64_t status_stuck;               /* bits that cannot be cleared */

    /* How it behaves where the manual is open. */
    bool rests_at_maximum; /* wraps before the next write instead of after the last */
    bool stops_when_full;  /* with BTINT: nothing is written at the maximum */

    /* The interrupt. */
    void (*interrupt)(void); /* handler, for fixed and NMI delivery alike */
    bool pending;            /* latched while IF was 0 */
    unsigned delivered, dropped;

    /* Called at every accessor; may call ds/ again, as an NMI would. */
    void (*hook)(enum fake_point point);

    uint64_t code, code_bytes; /* physical range of the image's code; none at first */

    struct fake_page pages[8];
    unsigned page_count;

    /* Seen. */
    unsigned writes_debugctl, writes_ds_area, reads, walks;
    unsigned crashes;        /* stores were enabled, or made, with DS_AREA 0 */
    unsigned area_moves;     /* DS_AREA changed while TR and BTS were set */
    unsigned lvt_bad_writes; /* with a read-only or reserved bit */
    unsigned records, samples;
    unsigned pebs_skipped;     /* for want of room */
    unsigned sampling_crashes; /* PEBS was enabled, or a record made, with DS_AREA 0 */
    unsigned writes_global, writes_pebs, status_clears;
};
extern struct fake_machine fake;

/* Goes on at another processor; its registers become the present ones. */
void fake_go_to(unsigned cpu);

/* A processor with everything, all registers as after reset, interrupts on. */
void fake_reset(void);

/* The code under test took a branch. cpl is the privilege level after it. */
void fake_branch(uint64_t from, uint64_t to, unsigned cpl);
/* n branches at CPL 0: k-th from first + k, to 1000000H + first + k. */
void fake_branches(uint64_t first, unsigned n);

/* What an instruction leaves in a record. */
struct fake_state {
    uint64_t ip, next_ip, flags, tsc;
    uint64_t gprs[16]; /* in the order of their encodings */
};

/*
 * An instruction retired: instructions count, and branches if it is one, where their events are
 * selected. Counters overflow, PEBS records are stored, the interrupt is asked for.
 */
void fake_retire(const struct fake_state *state, bool branch, unsigned cpl);
/* n instructions at CPL 3 whose IP is first, first + 1, ... */
void fake_retire_some(uint64_t first, unsigned n);

/* The performance-monitoring interrupt is asked for. */
void fake_request(void);

void fake_page(struct fake_page page);

#endif
