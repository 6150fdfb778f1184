/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the instructions of a program's code start, once for all: a sweep that begins anew at
 * each symbol and source line. Afterwards a straight run between two addresses is counted and
 * judged in constant time, which keeps every use linear in the length of the trace.
 */
#include "harness/wtr/core/program.h"

#include <string.h>

#define LENGTH_MAX 15

bool segment_decode(const struct segment *segment, uint64_t address, struct decoded *out)
{
    uint64_t offset = address - segment->start, left;

    *out = (struct decoded){0};
    if (!(segment->flags & PF_X) || address < segment->start || offset >= segment->file_bytes)
        return false;
    left = segment->file_bytes - offset;
    return decode(segment->bytes + offset, left < LENGTH_MAX ? left : LENGTH_MAX, out);
}

/* Nothing runs on behind these. A system call does, once it is over. */
static bool always_leaves(const struct decoded *d)
{
    switch (d->branch) {
    case BRANCH_JMP:
    case BRANCH_JMP_INDIRECT:
    case BRANCH_CALL:
    case BRANCH_CALL_INDIRECT:
    case BRANCH_RET:
    case BRANCH_FAR_JMP:
    case BRANCH_FAR_CALL:
    case BRANCH_FAR_RET:
    case BRANCH_IRET:
    case BRANCH_SYSRET:
    case BRANCH_SYSEXIT:
        return true;
    default:
        return false;
    }
}

static void set(uint64_t *bits, uint64_t offset)
{
    bits[offset / 64] |= 1ull << (offset % 64);
}

/* The next address behind `after` where an instruction surely starts. */
struct restarts {
    const struct program *program;
    size_t symbol, line;
};

static uint64_t next_restart(struct restarts *r, uint64_t after)
{
    const struct program *p = r->program;
    uint64_t next = UINT64_MAX;

    while (r->symbol < p->symbols.count && p->symbols.items[r->symbol].start <= after)
        r->symbol++;
    while (r->line < p->lines.count && p->lines.items[r->line].address <= after)
        r->line++;
    if (r->symbol < p->symbols.count)
        next = p->symbols.items[r->symbol].start;
    if (r->line < p->lines.count && p->lines.items[r->line].address < next)
        next = p->lines.items[r->line].address;
    return next;
}

static void mark(const struct program *program, struct segment *segment)
{
    struct restarts restarts = {.program = program};
    uint64_t at = segment->start, end = segment->start + segment->file_bytes;
    struct decoded d;

    while (at < end) {
        uint64_t restart = next_restart(&restarts, at), step = 1;

        if (segment_decode(segment, at, &d)) {
            step = d.length;
            set(segment->starts, at - segment->start);
            if (always_leaves(&d))
                set(segment->stops, at - segment->start);
        }
        at = restart > at && restart < at + step ? restart : at + step;
    }
}

static uint32_t *sums(const uint64_t *bits, uint64_t words)
{
    uint32_t *before = allocate(words, sizeof *before), total = 0;

    for (uint64_t i = 0; i < words; i++) {
        before[i] = total;
        total += (uint32_t)__builtin_popcountll(bits[i]);
    }
    return before;
}

void sweep(struct program *program)
{
    for (size_t i = 0; i < program->segments.count; i++) {
        struct segment *segment = &program->segments.items[i];
        uint64_t words = segment->file_bytes / 64 + 1;

        if (!(segment->flags & PF_X))
            continue;
        segment->starts = allocate(words, sizeof *segment->starts);
        segment->stops = allocate(words, sizeof *segment->stops);
        mark(program, segment);
        segment->starts_before = sums(segment->starts, words);
        segment->stops_before = sums(segment->stops, words);
    }
}

static uint64_t count_before(const struct segment *segment, const uint64_t *bits,
                             const uint32_t *before, uint64_t address)
{
    uint64_t offset = address - segment->start;

    if (offset > segment->file_bytes)
        offset = segment->file_bytes;
    return before[offset / 64] +
           (uint64_t)__builtin_popcountll(bits[offset / 64] & ((1ull << (offset % 64)) - 1));
}

bool segment_starts(const struct segment *segment, uint64_t address)
{
    uint64_t offset = address - segment->start;

    return segment->starts && address >= segment->start && offset < segment->file_bytes &&
           (segment->starts[offset / 64] >> (offset % 64) & 1);
}

uint64_t segment_instructions(const struct segment *segment, uint64_t from, uint64_t to)
{
    return count_before(segment, segment->starts, segment->starts_before, to) -
           count_before(segment, segment->starts, segment->starts_before, from);
}

bool segment_flows(const struct segment *segment, uint64_t from, uint64_t to)
{
    return count_before(segment, segment->stops, segment->stops_before, to) ==
           count_before(segment, segment->stops, segment->stops_before, from);
}
