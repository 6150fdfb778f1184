/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sessions inside a check: a pool, two owners with a purse each, and the interrupt in ds/'s
 * hands. When the check ends, however it ends, everything is released, and a page that is then
 * still charged to anybody is a failure.
 */
#ifndef HARNESS_SESSIONS_H
#define HARNESS_SESSIONS_H

#include "ds/session.h"
#include "harness/check.h"
#include "harness/trace.h"

#define SESSIONS_POOL_PAGES 192u

struct sessions {
    struct run *run;
    struct pool pool;
    struct pool_payer purse, other_purse;
    struct ds_owner debugger, profiler;
    struct session_machine machine;
    uint32_t lvt_found;
    struct trap_slot outer_pmi, outer_nmi;
    unsigned foreign; /* interrupts that were no session's */
};

/*
 * The machine as this processor has it, its LVT performance entry given to ds/ as lvt. One of
 * them at a time: the layer has one state.
 */
struct sessions *sessions_open(struct run *run, uint32_t lvt);

/* Everything forgotten, for a machine that lacks something. Nothing may be loaded. */
void sessions_restart(struct sessions *s, bool has_bts, bool interrupts);

/* A circular buffer of this many records from the pool, ring 3 only, owner debugger. */
struct session_request sessions_request(struct sessions *s, size_t records);

/* The id; ends the check as a failure when the request is refused. */
session_id sessions_ask(struct sessions *s, const struct session_request *request);

/* Asserts the error, and that neither register nor account changed. Returns the result. */
struct session_result sessions_expect(struct sessions *s, const struct session_request *request,
                                      enum ds_error error);

/* Asserts that a call gave this error, by name. */
bool sessions_error(struct run *run, enum ds_error got, enum ds_error want, const char *what);

/* A request as one of several processors makes it, and its registers. */
struct sessions_part {
    struct session_request request;
    session_id id;
    enum ds_error error;
    uint64_t debugctl, area; /* after the request, or when they were last read */
};
/* Both to be run on that processor; arg: struct sessions_part. */
uint64_t sessions_part_ask(void *arg);
uint64_t sessions_part_registers(void *arg);

/* Runs a workload in ring 3 to its end; whatever is resumed stores. */
void sessions_branches(struct run *run, const char *workload, uint64_t argument);

/* How many of the records lie in ring 3 with both ends. */
size_t sessions_inside(struct run *run, const struct bts_record *records, size_t count);

/* IA32_DEBUGCTL and IA32_DS_AREA as they are. */
uint64_t sessions_debugctl(void);
uint64_t sessions_ds_area(void);

#endif
