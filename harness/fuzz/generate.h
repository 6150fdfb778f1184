/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random ring-3 programs from a seed: a list of nodes, its machine code, and the edges it will
 * leave. Pure logic, the same on the host.
 *
 * A node is one thing to do; the list is the program's text, and branches name the node they
 * lead to. Any node can be left out (off): what remains is still code, and a run of it tells
 * whether it still makes sense. The path is known by construction: it depends only on a linear
 * congruential state in R14 and a count in RCX, which generate_walk computes again. One program
 * in four is wild: its branches test flags that ordinary instructions left, and its path is
 * known to the step oracle only.
 *
 * Conventions inside a program, besides those of guest/workload.h
 *   rbx, rbp, r12, r13  the middle of the first data page, for every form of address
 *   r14                 the state; the result in rax
 *   rsi                 an index below 32
 *   rcx                 a count, from the node that sets it to the node that tests it
 *   free                rax, rcx, rdx, rdi, r8 to r11
 */
#ifndef HARNESS_FUZZ_GENERATE_H
#define HARNESS_FUZZ_GENERATE_H

#include "guest/edge.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GENERATE_NODES 224
#define GENERATE_PAGES 4 /* hold the longest program, wherever in the first page it begins */

enum node_op {
    NODE_END,       /* hands over the result and returns; the last node, always there */
    NODE_FILL,      /* count straight-line instructions by seed value, of sort form */
    NODE_STEP,      /* r14d moves on */
    NODE_COMPARE,   /* flags of r14d (form: CMP, TEST, ADD, SUB) with value */
    NODE_COUNT,     /* ecx = value */
    NODE_DRAW,      /* ecx = r14d & value */
    NODE_DECREMENT, /* ecx -= 1, with flags */
    NODE_PUSH,      /* rcx */
    NODE_POP,
    NODE_DROP, /* a quadword off the stack */
    NODE_JCC,
    NODE_LOOP, /* condition as in the opcode: 0 LOOPNE, 1 LOOPE, 2 LOOP, 3 JRCXZ */
    NODE_JMP,  /* form: enum node_via */
    NODE_CALL,
    NODE_RET,   /* takes value more bytes off the stack */
    NODE_FAULT, /* form: a row of generate_faults; the handler resumes at node to */
    NODE_TOUCH, /* a page that a #PF opens; form: how, value: where */
    NODE_SERVICE,
    NODE_STRING, /* REP, form: which one, value: where and how often */
    NODE_OP_COUNT
};

enum node_via {
    VIA_REL8,
    VIA_REL32,
    VIA_REGISTER,
    VIA_MEMORY,
    VIA_INDEX,
    VIA_RIP,
    VIA_STACK,  /* PUSH and RET */
    VIA_SELECT, /* by CMOV: to, or the next node */
    VIA_COUNT
};

enum fill_sort {
    FILL_ANY,
    FILL_DEFINED, /* no instruction that leaves a flag undefined */
    FILL_NEUTRAL  /* flags stay */
};

struct generate_node {
    uint8_t op; /* enum node_op */
    uint8_t form, condition;
    uint8_t prefix; /* a byte before the branch; 0 = none */
    uint8_t count;
    uint8_t group; /* the construct it belongs to; makes no sense without its other nodes */
    bool far_away; /* a rel8 does not reach */
    bool off;
    uint16_t to;     /* a node's number */
    uint16_t start;  /* offset in the generated pages of its first byte, */
    uint16_t branch; /* and of the instruction that branches or faults */
    uint32_t value;
};

struct generated {
    uint64_t dice;        /* state of the random numbers while generating */
    uint64_t base;        /* linear address of the generated pages; offsets count from there */
    uint64_t data;        /* linear address of the first data page */
    uint16_t origin, end; /* offsets of the first byte and of the byte behind the last */
    uint16_t count;       /* nodes */
    uint32_t state;       /* R14 at the start */
    bool wild;
    uint8_t groups; /* of nodes, from 1 */
    /* While generating */
    uint8_t group, depth;
    uint16_t repeat; /* how often what comes next runs, at most */
    uint16_t events; /* exceptions and system calls that may still happen */
    uint32_t edges;  /* branches executed, about */
    struct generate_node nodes[GENERATE_NODES];
};

/* The node list for a seed; base and data are kept as the caller set them. */
void generate(struct generated *p, uint64_t seed);

/*
 * Code for the nodes that are on, into bytes[origin .. end) of room bytes. False when it does
 * not fit.
 */
bool generate_emit(struct generated *p, uint8_t *bytes, size_t room);

/*
 * The program's edges in order, including the entering and the leaving one; as edges_resolve
 * does, it writes at most max and returns how many there are. 0 when the path is not known.
 * After generate_emit. The result in rax goes into *result.
 */
size_t generate_walk(const struct generated *p, const struct guest_place *place,
                     struct expected_edge *out, size_t max, uint64_t *result);

#endif
