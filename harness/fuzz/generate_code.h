/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the generator share: random numbers, nodes, bytes, the table of faults. */
#ifndef HARNESS_FUZZ_GENERATE_CODE_H
#define HARNESS_FUZZ_GENERATE_CODE_H

#include "harness/fuzz/generate.h"

#define DATA_MIDDLE 0x800 /* where rbx, rbp, r12 and r13 point in the first data page */

/* 0 .. sides - 1 */
static inline uint32_t roll(uint64_t *dice, uint32_t sides)
{
    *dice = *dice * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((*dice >> 32) * sides >> 32);
}

/* Each appends a node, or a few, and returns the branch among them. */
struct generate_node *node_add(struct generated *p, enum node_op op, unsigned form,
                               uint32_t value);
void node_fill(struct generated *p, enum fill_sort sort, unsigned most);
/* Flags that can be foreseen; keeps rcx. */
void node_compare_state(struct generated *p);
/* Flags that the branch that follows will test. */
void node_compare(struct generated *p);
struct generate_node *node_jcc(struct generated *p, unsigned condition);
struct generate_node *node_loop(struct generated *p, unsigned condition);
struct generate_node *node_jump(struct generated *p);
struct generate_node *node_call(struct generated *p);
void node_ret(struct generated *p, unsigned pushed);

/* The node appended next is the one that this one leads to. */
void node_land(struct generated *p, struct generate_node *n);
/* A byte that changes nothing, or 0. */
uint8_t node_prefix(struct generated *p);

/* Code being written. Bytes beyond room are counted, not kept. */
struct code {
    uint8_t *bytes;
    size_t at, room;
    uint64_t linear, data; /* addresses of bytes[0] and of the first data page */
};

void code_byte(struct code *c, unsigned byte);
void code_put(struct code *c, uint64_t value, unsigned bytes); /* little-endian */
void code_text(struct code *c, const char *text, size_t bytes);
#define CODE(c, literal) code_text(c, literal, sizeof(literal) - 1)

/* count straight-line instructions; the same for the same seed. */
void code_fill(struct code *c, uint64_t seed, unsigned count, enum fill_sort sort);

/* Events that a handler resumes from at R15. */
struct generate_fault {
    uint8_t vector;
    uint8_t kind;   /* of the branch to the page that is never there, before the fault; or 0 */
    uint8_t before; /* bytes of set-up in front of the instruction that faults */
    uint8_t bytes;
    char text[14];
};
extern const struct generate_fault generate_faults[];
enum { GENERATE_FAULTS = 16, FAULT_DROPS = 15 /* from here on one quadword is left behind */ };

#endif
