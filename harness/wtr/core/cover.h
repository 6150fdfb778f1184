/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How often each instruction of a program ran, worked out from the straight runs of a trace.
 */
#ifndef HARNESS_WTR_CORE_COVER_H
#define HARNESS_WTR_CORE_COVER_H

#include "harness/wtr/core/wtr.h"

/* From this address on, so much more or less often. */
struct change {
    uint64_t address; /* in the file */
    int64_t amount;
};

/* A conditional branch that was taken. */
struct taken {
    uint64_t address, count;
};

struct cover {
    const struct program *program;
    VECTOR(struct change) changes; /* by address */
    VECTOR(struct taken) taken;    /* by address */
};

struct covers {
    VECTOR(struct cover) covers; /* one for each program of the trace */
};

struct covered_instruction {
    uint64_t address; /* in the file */
    uint64_t count, taken;
    const struct line *line; /* or NULL */
    bool conditional;
};

void covers_open(struct covers *covers, struct session *session);
void covers_close(struct covers *covers);

/* Every instruction of every symbol of the program, in the order of the addresses. */
void cover_walk(const struct cover *cover,
                void (*visit)(void *context, const struct symbol *symbol,
                              const struct covered_instruction *instruction),
                void *context);

#endif
