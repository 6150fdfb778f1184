/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The broker: the only writer of IA32_DEBUGCTL, IA32_DS_AREA, IA32_PEBS_ENABLE and the global
 * control of the counters.
 *
 * Each client holds a mask of the DEBUGCTL bits it wishes; the register is the OR of all masks
 * and of the bits that belong to nobody. State is per processor and every call acts on the
 * processor that makes it. Calls are safe with interrupts on or off, in a fault handler and in
 * an NMI that lands in the middle of another call: nobody's bits are lost. What an NMI may not
 * do is move DS_AREA under an interrupted call, or start a trace while DS_AREA is being moved:
 * it gets DS_EBUSY.
 * Source: SDM Vol. 3, "IA32_DEBUGCTL MSR", "BTS and DS Save Area".
 */
#ifndef DS_BROKER_H
#define DS_BROKER_H

#include "ds/bracket.h"
#include "ds/error.h"
#include "ds/layout.h"

#include <stdbool.h>
#include <stdint.h>

enum broker_client {
    BROKER_BTS,        /* TR, BTS, BTINT, BTS_OFF_OS, BTS_OFF_USR */
    BROKER_PEBS,       /* no bit of DEBUGCTL, but counters that sample into DS_AREA */
    BROKER_BLOCK_STEP, /* BTF */
    BROKER_LBR,        /* LBR */
    BROKER_FREEZE,     /* the three FREEZE bits */
    BROKER_COUNTERS,   /* none either: counters that just count */
    BROKER_CLIENTS,
};

/* The DEBUGCTL bits that a client may wish. */
uint64_t broker_client_bits(enum broker_client client);

/*
 * Starts this processor: remembers both registers for broker_hand_back, adopts the bits that no
 * client owns, clears the others and sets DS_AREA to 0 (where it exists). Every client's mask
 * becomes empty. To be called at each take-over, before anything else here.
 */
void broker_init(void);

/* Both registers as broker_init found them. */
void broker_hand_back(void);

/*
 * The client's mask becomes exactly bits (not: gains them). Errors, with nothing changed:
 * DS_EINVAL a bit that is not the client's; DS_EFAULT TR and BTS while DS_AREA is 0; DS_EBUSY
 * see above; DS_EOPNOTSUPP the processor faults on the value.
 */
enum ds_error broker_set(enum broker_client client, uint64_t bits);

/* The client's mask becomes empty. */
enum ds_error broker_clear(enum broker_client client);

/* The mask a client holds now. */
uint64_t broker_bits(enum broker_client client);

/* What DEBUGCTL holds if nothing but the broker wrote it. Reads no MSR. */
uint64_t broker_shadow(void);

/*
 * DS_AREA becomes area, or 0 for NULL. Errors, with nothing changed: DS_EINVAL not canonical
 * or not aligned to 8; DS_EFAULT a byte of the area is not mapped, not writable or a user
 * page; DS_EBUSY a half that uses the present area is on, or another processor has this one;
 * DS_EOPNOTSUPP the write faults.
 */
enum ds_error broker_set_ds_area(struct ds_area *area);

/*
 * The client's counters become exactly these, by their bits of the global control: they count,
 * and those of BROKER_PEBS write records. Enabling PEBS comes before counting, and the other
 * way round at the end. Other clients' bits, and those found set when the first client came,
 * stay. Registers are touched while a client has counters, never before. Errors, with nothing
 * changed: DS_EINVAL another client than BROKER_PEBS and BROKER_COUNTERS; DS_EBUSY a counter of
 * the other client, or DS_AREA is being moved; DS_EFAULT PEBS while DS_AREA is 0; DS_EOPNOTSUPP
 * a write faults.
 */
enum ds_error broker_count(enum broker_client client, uint64_t counters);
/* The counters a client has now. */
uint64_t broker_counters(enum broker_client client);
/*
 * No counter counts and none samples until each hold has its release; counters that are set in
 * between start then. For the interrupt handler.
 */
void broker_hold_counters(void);
/* False: the processor faults on what the last release writes. */
bool broker_release_counters(void);
/* Whether a hold is in force. */
bool broker_counters_held(void);

/* The area last set on this processor, NULL when none. Reads no MSR. */
struct ds_area *broker_ds_area(void);

/*
 * To be called by the #DB handler: the processor clears BTF and LBR when it delivers #DB.
 * Clients on the re-arm list (all of them at first) get their bits back; the others lose them
 * from their mask. Returns the bits that were found cleared; costs no MSR access when no
 * client holds a bit.
 */
uint64_t broker_db_taken(void);
void broker_rearm(enum broker_client client, bool after_db);

/*
 * Runs fn(arg) with the client's mask set to bits for just that time. Between the WRMSR that
 * sets them and the one that takes them away lie, apart from fn's own branches, exactly two:
 * the call at ds_bracket_call to fn, and fn's return to ds_bracket_return. fn's value goes to
 * *value (may be NULL). The caller chooses the interrupt state. Errors as for broker_set, and
 * DS_EBUSY when the client's trace is on already; fn has not run then.
 */
enum ds_error broker_bracket(enum broker_client client, uint64_t bits, uint64_t (*fn)(void *),
                             void *arg, uint64_t *value);

/*
 * The raw probe, for checks whose question is the write itself: 0, or the vector of the fault.
 * The broker's own idea of the registers is left alone: call broker_resync afterwards.
 */
int broker_raw_write_debugctl(uint64_t value);
int broker_raw_write_ds_area(uint64_t value);
int broker_raw_read_debugctl(uint64_t *value);
int broker_raw_read_ds_area(uint64_t *value);

/* Writes both registers as the masks and the area say, TR last. */
void broker_resync(void);

/* Everything the broker knows of this processor, for a snapshot around a check. */
struct broker_state {
    uint64_t bits[BROKER_CLIENTS];
    uint64_t counters[BROKER_CLIENTS];
    uint32_t rearm; /* bit per client */
    struct ds_area *area;
    uint64_t debugctl; /* both registers as read at the time */
    uint64_t ds_area;
};
void broker_save(struct broker_state *out);
/* Puts masks, re-arm list and both registers back, whatever was written in between. */
void broker_restore(const struct broker_state *state);
/* Bits by which the two registers differ from the snapshot: 0, 0 when nothing leaked. */
void broker_leak(const struct broker_state *state, uint64_t *debugctl, uint64_t *ds_area);

#endif
