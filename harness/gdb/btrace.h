/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The branches that a debugger has asked to be recorded, and the document that it reads them
 * from. Source: the GDB manual, "Branch Trace Format" and qXfer:btrace:read.
 *
 * Block k of the document goes from the target of one branch to the source of the next, the
 * newest block first. Blocks and pairs that come again are entities of the document's own (XML
 * 1.0, "Entity Declarations"), so a loop costs a byte or two a branch on the line instead of
 * forty. The text is made as it is asked for, part by part, so its size takes no memory; it
 * stays the same as long as nothing is added to the log.
 */
#ifndef HARNESS_GDB_BTRACE_H
#define HARNESS_GDB_BTRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct btrace_branch {
    uint64_t from, to;
};

struct btrace_log {
    bool on;
    struct btrace_branch *ring; /* branch n lies in ring[n % capacity] */
    uint32_t *symbols;          /* room for capacity + 1: the blocks of the open document */
    size_t capacity;            /* at least 1 while it is on */
    uint64_t bytes;             /* size of the processor's buffer, as the debugger asked */
    uint64_t total;             /* branches since the beginning, each loss counted as one */
    uint64_t oldest;            /* number of the oldest that is still here */
    uint64_t read;              /* total when a document was last read to its end */
    uint64_t start;             /* where the program stood in the beginning */
    /* The document being read. */
    bool open;
    bool headed; /* has a block before its oldest branch, which begins at head */
    uint64_t first, end, head, pc;
    size_t symbol_count;
    uint64_t piece, piece_at; /* where the last part ended: this piece begins at that byte */
};

/* Begins a log that has this ring; pc is where the program stands. */
void btrace_begin(struct btrace_log *log, struct btrace_branch *ring, uint32_t *symbols,
                  size_t capacity, uint64_t bytes, uint64_t pc);
void btrace_end(struct btrace_log *log);

/* The processor stored one more. */
void btrace_add(struct btrace_log *log, uint64_t from, uint64_t to);
/* Branches were lost, so nothing known so far leads to what comes next. */
void btrace_lose(struct btrace_log *log);

/* Fixes the document for an annex: "all", "new" or "delta". Returns NULL, or the error. */
const char *btrace_open(struct btrace_log *log, const char *annex, uint64_t pc);

/*
 * Copies up to room bytes from offset on. *last tells that the document ends there; its
 * branches then count as read.
 */
size_t btrace_read(struct btrace_log *log, uint64_t offset, char *to, size_t room, bool *last);

/* --- the blocks of an open document as symbols (btrace_symbols.c) */

struct btrace_block {
    uint64_t begin, end;
};

/* Block 0 is the newest, and ends where the program stands. */
struct btrace_block btrace_block(const struct btrace_log *log, uint64_t number);

#define BTRACE_LITERAL 0x80000000u /* in a symbol: the rest is a block's number */

/* Writes the symbols of `blocks` blocks; returns how many symbols they are. */
size_t btrace_symbols(const struct btrace_log *log, uint64_t blocks);
/* How many entities the last btrace_symbols has made. */
unsigned btrace_entities(void);
/* What an entity stands for: two symbols (*right too), or a block. */
bool btrace_pair(unsigned entity, uint32_t *left, uint32_t *right);
struct btrace_block btrace_entity_block(unsigned entity);

#endif
