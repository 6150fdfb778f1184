/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the suite needs from whoever booted the machine. boot/ fills it in; harness/ never
 * includes boot/.
 */
#ifndef HARNESS_CHECK_PLATFORM_H
#define HARNESS_CHECK_PLATFORM_H

#include "hw/core.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One thing that a stand-in processor can be told to do wrong, or otherwise. */
struct stand_in_item {
    const char *name, *description;
    const char *clause; /* the clause it breaks, or that is open */
    const char *values; /* of a policy: "first|second", the first in force by default */
};

/* The switches of a stand-in processor: they are how the suite proves itself. */
struct stand_in {
    bool (*defect)(size_t index, struct stand_in_item *item); /* false past the end */
    bool (*policy)(size_t index, struct stand_in_item *item);
    /* "defect" with a name or "none", "policy" with "name:value"; false when unknown. */
    bool (*set)(const char *key, const char *value);
};

/* A table of the firmware, for the record of a machine. */
struct firmware_table_entry {
    char signature[5], oem[7], oem_table[9];
    uint32_t bytes;
    uint8_t revision;
};

/*
 * How ACPI asks firmware for a change between its two modes: by a system-management interrupt.
 * Writing the byte of the mode that is in force changes nothing.
 */
struct smi_command {
    uint16_t port;    /* of the command; 0 = there is none */
    uint8_t enable;   /* ACPI mode */
    uint8_t disable;  /* legacy mode */
    uint16_t control; /* port of PM1a_CNT, whose bit 0 says which mode is in force */
};

/* What another processor brought along, read before anything of ours wrote it. */
struct other_processor {
    unsigned index;   /* of its struct cpu */
    uint32_t apic_id; /* destination for interrupts */
    struct core core; /* as CPUID says there */
    uint64_t debugctl, ds_area;
    uint32_t lvt_perf;        /* LVT performance entry as firmware left it, */
    uint32_t lvt_perf_inside; /* and as it is in the provider, before its first use */
};

struct platform {
    /*
     * One whole line (no line end inside) to every output. Legal in both modes: while the
     * machine is taken over it reaches the serial port at once, the rest after hand-back.
     */
    void (*line)(const char *text, size_t bytes);

    /* Takes the machine over, enters the provider, runs fn on the kernel stack, hands back. */
    uint64_t (*take_over)(uint64_t (*fn)(void *), void *arg);
    /* The same without any provider; for checks of the take-over itself and benchmarks. */
    uint64_t (*take_over_bare)(uint64_t (*fn)(void *), void *arg);

    /*
     * Beside take_over: the other processors have taken themselves over too and wait, each in
     * its own provider; from the first call on they stay. One of them is on guard. NULL when
     * there is but one processor.
     */
    uint64_t (*take_over_all)(uint64_t (*fn)(void *), void *arg);
    /* The index-th other processor, from 1 on; NULL when it is not there, or busy. */
    const struct other_processor *(*other)(unsigned index);
    /* Has it call fn(arg) beside us; false when it cannot. Lines are the caller's alone. */
    bool (*other_run)(unsigned index, uint64_t (*fn)(void *), void *arg);
    /*
     * Has it leave its stand-in processor and enter it anew; other() then says what it found.
     */
    bool (*other_renew)(unsigned index);
    /* Waits (bounded) for fn's value; false when it never came back or fn ended in a trap. */
    bool (*other_wait)(unsigned index, uint64_t *value);

    /*
     * Firmware mode only: true when a firmware timer event set for ms really fires (bounded).
     */
    bool (*firmware_timer_works)(unsigned ms);

    /* Ends the line discipline on purpose, for selftest=corrupt: bytes to the serial port. */
    void (*raw_serial)(const char *bytes, size_t count);
    /* Sends the machine through a reset (triple fault), for selftest=triple. */
    void (*triple_fault)(void);

    /* Firmware mode: appends to the journal, durable on return; NULL while there is none. */
    bool (*journal)(const char *text, size_t bytes);
    /* The same in the place where the first such call wrote: always of one length. */
    bool (*journal_over)(const char *text, size_t bytes);
    const char *journal_text; /* what an unfinished earlier boot left; NULL when nothing */
    size_t journal_text_bytes;

    /* Any mode: ends the machine's run for good (exit device if told so, else halts). */
    void (*stop)(void) __attribute__((noreturn));

    const struct stand_in *stand_in; /* NULL: what records is the machine itself */

    /* How long a ring-0 check may say nothing when another processor is on guard; 0 = none. */
    unsigned guard_seconds;

    uint64_t tsc_khz; /* ticks of the time-stamp counter a millisecond; 0 = not known */
    void *arena;      /* identity-mapped, page-aligned memory for the suite's own use */
    size_t arena_bytes;
    uint64_t image_base, image_bytes;        /* where the loaded image lies */
    unsigned processors;                     /* enabled processors that firmware reports */
    const char *firmware;                    /* "vendor revision" */
    const struct firmware_table_entry *acpi; /* the tables of ACPI's root table */
    size_t acpi_count;
    struct smi_command smi;
    unsigned cpus_can_come, cpus_disabled; /* by ACPI, beside the enabled ones */
    uint32_t cpus_highest_apic_id;         /* of the enabled ones, by ACPI; 0 = not told */
    const char *secure_boot;               /* "on", "off" or "unknown" */
    const char *options_from;              /* "waymark.cfg, load options" or "none" */
    const char *outputs;                   /* where lines go: "serial 0x3f8, screen 1024x768" */
    const char *provider;                  /* "native", "model" or "none" */
    const char *gate_shut;       /* why the machine must not be asked for BTS, or NULL */
    const char *provider_reason; /* why not native; "" when native */
};

/* Once, before anything else of the suite; NULL until then. */
void platform_use(const struct platform *platform);
const struct platform *platform_current(void);

#endif
