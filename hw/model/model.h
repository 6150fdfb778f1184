/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The stand-in processor as its user sees it: enter it, leave it, configure it.
 *
 * A thin hypervisor built on AMD SVM takes the calling kernel as its guest and
 * supplies the recording facility which the processor lacks. This header is the only
 * file of the folder that others include, and it holds no fact about that facility.
 */
#ifndef HW_MODEL_MODEL_H
#define HW_MODEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum model_status {
    MODEL_OK,
    MODEL_NO_SVM,     /* the processor does not enumerate SVM */
    MODEL_SVM_LOCKED, /* firmware disabled SVM (VM_CR.SVMDIS) */
    MODEL_NO_MEMORY,  /* the block is too small or not page-aligned */
    MODEL_BAD_NAME,   /* no such policy, defect or gate */
    MODEL_BAD_VALUE   /* the name is known, the value is not */
};

/*
 * One question that the manual leaves open, with the answers the model can give.
 * values is "first|second|...", the first is the default.
 */
struct model_policy {
    const char *name;
    const char *clause; /* id of the clause that is open */
    const char *values;
    const char *description;
};

/* One way in which the model can break a rule on purpose. */
struct model_defect {
    const char *name;
    const char *clause; /* id of the clause that it breaks */
    const char *description;
};

/*
 * Whether model_enter() can work here. Reads CPUID and, where SVM is enumerated, VM_CR
 * (APM Vol. 2, "Enabling SVM"); writes nothing.
 */
enum model_status model_supported(void);

/*
 * Bytes of page-aligned, identity-mapped memory that one processor needs, when RAM ends
 * at top_of_ram (a physical address, exclusive).
 */
size_t model_memory_bytes(uint64_t top_of_ram);

/* Back to the defaults: policies at their first values, no defect, gates open, format 3. */
void model_reset_config(void);

/*
 * Change the configuration; it holds for all processors and takes effect at once.
 * key "policy": value "NAME:VALUE"; key "defect": value "NAME", or "none" to clear all;
 * key "cpuid": value "no-NAME" to close a gate, "all" to open every one; key "pebs": value
 * "0" to "4", the format of the records of the other recording facility, "default" or "off".
 * MODEL_BAD_NAME for an unknown key or name, MODEL_BAD_VALUE for an unknown value.
 */
enum model_status model_set(const char *key, const char *value);

/* The tables, for listing. A null pointer past the end. */
size_t model_policy_count(void);
const struct model_policy *model_policy(size_t index);
size_t model_defect_count(void);
const struct model_defect *model_defect(size_t index);

/*
 * Make the caller a guest; returns running as one. Call at CPL 0 with interrupts off, the
 * final GDT, IDT, TSS and CR3 loaded, all RAM below top_of_ram identity-mapped. memory
 * belongs to this processor until model_leave().
 */
enum model_status model_enter(void *memory, size_t bytes, uint64_t top_of_ram);

/*
 * Called by the guest at CPL 0: back on the bare processor, with the caller's registers,
 * stack, CR3, GDT and IDT as they are now; EFER.SVME and VM_HSAVE_PA as before
 * model_enter(). Does nothing when this processor is not inside the model.
 */
void model_leave(void);

/*
 * Before the first model_enter(): the model is to stay under an operating system that starts
 * the other processors itself, by INIT and SIPI. Each comes up inside the model, in the memory
 * of its seat. Without this call a processor that receives an INIT leaves the model.
 */
#define MODEL_SEATS_MAX 256
struct model_seat {
    uint32_t apic_id;
    void *memory; /* model_memory_bytes(), below 4 GiB */
};
struct model_range {
    uint64_t start, bytes; /* whole pages */
    bool code;             /* the guest may read it; the rest is hidden from it */
};
struct model_stay {
    uint64_t top_of_ram;
    const struct model_seat *seats; /* of all processors, the caller's too */
    size_t seat_count;
    void *low_page;                 /* below 1 MiB: where processors start */
    void *shared;                   /* page-aligned */
    size_t shared_bytes;            /* model_shared_bytes() */
    const struct model_range *kept; /* what the guest is to be kept from */
    size_t kept_count;
};
size_t model_shared_bytes(uint64_t top_of_ram, size_t kept_count, uint64_t kept_bytes);
enum model_status model_stay(const struct model_stay *stay);

/* Whether this processor runs inside the model now. */
bool model_active(void);

#endif
