/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Expected edges: what a workload's author says will be recorded, by labels.
 *
 * guest/edges.inc emits struct edge beside the code; edges_resolve turns it into addresses for
 * the place and ring the workload runs in. An edge carries its clause through its kind; where
 * the clause is open it lists what is admissible, and the comparison reports which one it saw.
 */
#ifndef GUEST_EDGE_H
#define GUEST_EDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum edge_kind {
    EDGE_JCC = 1,
    EDGE_LOOP, /* LOOP, LOOPE, LOOPNE, JRCXZ, JECXZ */
    EDGE_JMP,
    EDGE_JMP_INDIRECT,
    EDGE_CALL,
    EDGE_CALL_INDIRECT,
    EDGE_RET,
    EDGE_FAR_JMP,
    EDGE_FAR_CALL,
    EDGE_FAR_RET,
    EDGE_IRET,
    EDGE_SYSCALL,
    EDGE_SYSRET,
    EDGE_INT, /* INT n */
    EDGE_INT3,
    EDGE_EXCEPTION, /* fault */
    EDGE_TRAP,      /* #DB and other trap-class exceptions */
    EDGE_INTERRUPT, /* external, NMI, PMI */
    EDGE_SYSENTER,
    EDGE_SYSEXIT,
    EDGE_KIND_COUNT
};

/* What a from/to value means. */
enum edge_point {
    POINT_GUEST,    /* offset of a label from the start of the guest region */
    POINT_VECTOR,   /* first instruction of the entry of vector `value` */
    POINT_SYSCALL,  /* what LSTAR holds */
    POINT_IRETQ,    /* the kernel's one IRETQ */
    POINT_SYSRETQ,  /* the kernel's one SYSRETQ */
    POINT_RETURN,   /* where the workload's final RET goes: bracket (ring 0), exit (ring 3) */
    POINT_CALLER,   /* the instruction that entered the workload: bracket CALL, or IRETQ */
    POINT_ANYWHERE, /* any instruction of the workload (an interrupt's arrival) */
    POINT_DATA,     /* offset from the first data page (a call into a page never present) */
    POINT_LOADED,   /* offset from the region's start where the image was loaded (ring 0) */
    POINT_KERNEL    /* offset from the region's start as the kernel sees it */
};

enum edge_flags {
    EDGE_FROM_ALT = 1 << 0, /* from_alt is admissible as well (open clause) */
    EDGE_OPTIONAL = 1 << 1  /* may be absent (open clause) */
};

/* As emitted by guest/edges.inc; 20 bytes, no relocations. */
struct edge {
    int32_t from, to, from_alt;
    uint8_t from_point, to_point; /* enum edge_point */
    uint8_t kind;                 /* enum edge_kind */
    uint8_t cpl;                  /* before in bits 3:0, after in 7:4; 0xF = the run's ring */
    uint16_t repeat;              /* consecutive identical records; 0 = the run's argument */
    uint8_t flags;                /* enum edge_flags */
    uint8_t reserved;
};
_Static_assert(sizeof(struct edge) == 20, "shared with guest/edges.inc");

struct expected_edge {
    uint64_t from, to, from_alt; /* linear; from_alt valid with EDGE_FROM_ALT */
    uint8_t kind, cpl_before, cpl_after, flags;
    bool from_anywhere; /* from may be any address inside [guest_low, guest_high) */
    bool to_anywhere;   /* the same for to: where an interrupt's handler returns to */
};

/* Where and how a workload runs. */
struct guest_place {
    uint64_t base;         /* linear address of the guest region's first byte */
    uint64_t low, high;    /* linear range of code, data and (ring 3) stack together */
    uint64_t data;         /* first data page */
    uint64_t argument;     /* of the run: the count of edges with repeat 0 */
    uint64_t kernel;       /* base of the kernel's view of the region */
    unsigned ring;         /* 0 to 3 */
    uint64_t caller, back; /* POINT_CALLER, POINT_RETURN */
};

struct workload;
/*
 * Fills out[] (at most max) with the workload's edges including the entering and the returning
 * one; returns how many there are, which may exceed max. Ring 3: first the kernel's IRETQ, last
 * the SYSCALL of the exit trampoline. Ring 0: first the bracket's CALL, last the RET to it.
 * 0 for a workload whose edges only the oracle knows (edge_count 0).
 */
size_t edges_resolve(const struct workload *w, const struct guest_place *place,
                     struct expected_edge *out, size_t max);

/* The first of them, for a workload that begins at this address, and in ring 3 the last. */
struct expected_edge edge_entry(const struct guest_place *place, uint64_t entry);
struct expected_edge edge_exit(const struct guest_place *place);
const char *edge_kind_name(enum edge_kind kind);

#endif
