/* SPDX-License-Identifier: BSD-2-Clause */
/* The log of branches, and the document made of it. */
#include "harness/gdb/btrace.h"

#include "harness/gdb/text.h"
#include "hw/string.h"

static const char document_head[] = "<!DOCTYPE btrace SYSTEM \"btrace.dtd\">\n"
                                    "<btrace version=\"1.0\">\n";
static const char document_tail[] = "</btrace>\n";
static const char block_begin[] = "<block begin=\"0x", block_middle[] = "\" end=\"0x",
                  block_end[] = "\"/>\n";
/* The text of a block without its two numbers. */
#define BLOCK_FRAME (sizeof(block_begin) + sizeof(block_middle) + sizeof(block_end) - 3)
#define BLOCK_BYTES (BLOCK_FRAME + 32)

void btrace_begin(struct btrace_log *log, struct btrace_branch *ring, size_t capacity,
                  uint64_t bytes, uint64_t pc)
{
    *log = (struct btrace_log){
        .on = true, .ring = ring, .capacity = capacity, .bytes = bytes, .start = pc};
}

void btrace_end(struct btrace_log *log)
{
    *log = (struct btrace_log){.on = false};
}

void btrace_add(struct btrace_log *log, uint64_t from, uint64_t to)
{
    log->open = false;
    log->ring[log->total % log->capacity] = (struct btrace_branch){from, to};
    log->total++;
    if (log->total - log->oldest > log->capacity)
        log->oldest = log->total - log->capacity;
}

void btrace_lose(struct btrace_log *log)
{
    log->open = false;
    log->total++;
    log->oldest = log->total;
}

static struct btrace_branch branch(const struct btrace_log *log, uint64_t number)
{
    return log->ring[number % log->capacity];
}

static uint64_t block_count(const struct btrace_log *log)
{
    return log->end - log->first + log->headed;
}

/* Block 0 is the newest, and ends where the program stands. */
static void block_bounds(const struct btrace_log *log, uint64_t number, uint64_t *begin,
                         uint64_t *end)
{
    uint64_t after = log->end - number; /* number of the branch that ended it */

    *end = number == 0 ? log->pc : branch(log, after).from;
    *begin = after > log->first ? branch(log, after - 1).to : log->head;
}

/* All numbers of a document have the same width, so that block k is found by arithmetic. */
static unsigned widest(const struct btrace_log *log)
{
    uint64_t all = log->pc | log->head;
    unsigned digits = 1;

    for (uint64_t n = log->first; n < log->end; n++)
        all |= branch(log, n).from | branch(log, n).to;
    while (digits < 16 && all >> (4 * digits))
        digits++;
    return digits;
}

const char *btrace_open(struct btrace_log *log, const char *annex, uint64_t pc)
{
    bool all = strcmp(annex, "all") == 0, news = strcmp(annex, "new") == 0;

    log->open = false;
    if (!log->on)
        return "E.Btrace not enabled.";
    if (!all && !news && strcmp(annex, "delta") != 0)
        return "E.Bad annex.";
    if (!all && !news && log->oldest > log->read)
        return "E.Overflow.";
    log->pc = pc;
    log->end = log->total;
    log->first = all || news ? log->oldest : log->read;
    /* 0 asks the debugger to go on from where it was; alone it must never stand. */
    log->headed = all || news ? log->oldest == 0 : true;
    log->head = all || news ? log->start : 0;
    if (news && log->read == log->total) {
        log->first = log->end;
        log->headed = false;
    }
    log->digits = widest(log);
    log->open = true;
    return NULL;
}

static void write_block(const struct btrace_log *log, uint64_t number, char *to)
{
    uint64_t begin, end;

    block_bounds(log, number, &begin, &end);
    to = text_put(to, block_begin);
    to = text_hex(to, begin, log->digits);
    to = text_put(to, block_middle);
    to = text_hex(to, end, log->digits);
    text_put(to, block_end);
}

/* Copies what of a piece at this place in the document lies in the range asked for. */
static size_t copy_piece(const char *piece, size_t bytes, uint64_t at, uint64_t offset,
                         char *to, size_t room)
{
    uint64_t skip = offset > at ? offset - at : 0;
    size_t count;

    if (skip >= bytes)
        return 0;
    count = bytes - (size_t)skip;
    if (count > room)
        count = room;
    memcpy(to, piece + skip, count);
    return count;
}

size_t btrace_read(struct btrace_log *log, uint64_t offset, char *to, size_t room, bool *last)
{
    const size_t head_bytes = sizeof(document_head) - 1, tail_bytes = sizeof(document_tail) - 1;
    uint64_t blocks = block_count(log), width = BLOCK_FRAME + 2 * log->digits;
    uint64_t tail_at = head_bytes + blocks * width;
    size_t used = copy_piece(document_head, head_bytes, 0, offset, to, room);
    char text[BLOCK_BYTES + 1];

    for (uint64_t n = offset + used < head_bytes ? blocks
                                                 : (offset + used - head_bytes) / width;
         n < blocks && used < room; n++) {
        write_block(log, n, text);
        used += copy_piece(text, (size_t)width, head_bytes + n * width, offset, to + used,
                           room - used);
    }
    if (offset + used >= tail_at)
        used += copy_piece(document_tail, tail_bytes, tail_at, offset, to + used, room - used);
    *last = offset + used >= tail_at + tail_bytes;
    if (*last)
        log->read = log->end;
    return used;
}
