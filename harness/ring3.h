/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A small ring-3 program for checks of the machine layer: one page of code (harness/
 * ring3_code.asm), one of data with nothing mapped behind it, one of stack. Tracing is not its
 * business; the traced programs are guest/'s.
 */
#ifndef HARNESS_RING3_H
#define HARNESS_RING3_H

#include "hw/paging.h"
#include "hw/trap.h"

#include <stdbool.h>
#include <stdint.h>

#define RING3_CODE      USER_WINDOW
#define RING3_DATA      (USER_WINDOW + 0x2000)
#define RING3_HOLE      (USER_WINDOW + 0x3000) /* never mapped by ring3_open */
#define RING3_STACK_TOP (USER_WINDOW + 0x6000)

struct ring3 {
    struct address_space space;
    uint64_t previous_cr3;
    uint8_t *code, *data, *stack; /* the pages, at their identity addresses */
    struct trap_slot previous_exit;
};

/* Builds the space and loads its CR3; INT 0x80 now ends a run. False: page pool empty. */
bool ring3_open(struct ring3 *r);
/* Puts CR3 and the INT 0x80 handler back, frees everything. */
void ring3_close(struct ring3 *r);

/* Where a label of harness/ring3_code.asm lies in ring 3. */
uint64_t ring3_address(const uint8_t *label);

/* A frame that starts at the label, RSP at the stack's top, RDI at the data page. */
struct trap_frame ring3_frame(const uint8_t *label, bool interrupts);

/* What a handler saw: how often it ran, and the frame of its last call. */
struct trap_seen {
    unsigned count;
    struct trap_frame frame;
    uint64_t at;        /* address of the frame itself: tells the stack */
    uint64_t cr2, dr6;  /* as the handler found them */
    uint64_t resume_at; /* in: where to go on; 0 = where the trap came from */
};
/* A handler for trap_set with arg = struct trap_seen *. */
bool trap_note(struct trap_frame *frame, void *seen);

/* Labels of harness/ring3_code.asm; each program ends in INT 0x80. */
#define RING3_LABEL(name) extern const uint8_t name[] __attribute__((visibility("hidden")))
RING3_LABEL(ring3_code_start);
RING3_LABEL(ring3_code_end);
RING3_LABEL(ring3_exit); /* nothing but the end */
RING3_LABEL(ring3_ud);   /* UD2 */
RING3_LABEL(ring3_de);   /* DIV of 1 by 0, at ring3_de_at */
RING3_LABEL(ring3_de_at);
RING3_LABEL(ring3_bp);      /* INT3 */
RING3_LABEL(ring3_syscall); /* SYSCALL */
RING3_LABEL(ring3_store);   /* [rdi] = rax, then rbx = [rdi] at ring3_store_next */
RING3_LABEL(ring3_store_next);
RING3_LABEL(ring3_load); /* rax = [rdi] */
RING3_LABEL(ring3_jump); /* JMP rdi */
RING3_LABEL(ring3_cs);   /* eax = cs; the same bytes in 64-bit and 32-bit code */
RING3_LABEL(ring3_spin); /* rcx times PAUSE, ends at ring3_spin_end */
RING3_LABEL(ring3_spin_end);
RING3_LABEL(ring3_walk); /* a short path with every kind of near branch */

/* Where the path of ring3_walk goes, instruction by instruction, offsets from its start. */
extern const uint16_t ring3_walk_path[] __attribute__((visibility("hidden")));
extern const uint64_t ring3_walk_steps __attribute__((visibility("hidden")));

/* Instructions that ring 3 may not execute: offset from ring3_code_start and error code. */
struct ring3_privileged {
    uint32_t offset, error;
};
extern const struct ring3_privileged ring3_privileged[] __attribute__((visibility("hidden")));
extern const uint64_t ring3_privileged_count __attribute__((visibility("hidden")));

#endif
